"""Where the manifests come from."""

from __future__ import annotations

import re
from typing import Literal

from pydantic import ConfigDict, Field, field_validator, model_validator

from syncd.spec.base import Model, SecretRef, at_most_one, rules

_NOT_IN_REFS = re.compile(r"[\s\x00-\x1f\x7f~^:?*\[\\]|\.lock(/|$)|@\{|//|^/|/$|\.$|(^|/)\.")
_URL_SCHEMES = ("https://", "http://", "ssh://", "file://", "git://")
# No user or host starts with "-": ssh would take it for an option.
_NETWORK_URL = re.compile(r"^[a-z]+://(\w[\w.+-]*@)?(\w[\w.-]*|\[[0-9A-Fa-f:.]+\])(:\d+)?/[^/]", re.ASCII)
_SCP_LIKE = re.compile(r"^\w[\w.+-]*@\w[\w.-]*:(?!//|-)\S+$", re.ASCII)

PROXY_ADDRESS = re.compile(r"^https?://(\w[\w.-]*|\[[0-9A-Fa-f:.]+\])(:\d+)?/?$", re.ASCII)
"""Where a proxy may be, in a Sync and in a Secret."""
_PROXY_FORM = "must be like http://proxy.example.com:3128; a login belongs into the Secret"


class GitRef(Model):
    """Which revision to follow; at most one of the fields. Without any, the repository's default branch."""

    model_config = ConfigDict(json_schema_extra=rules(at_most_one("branch", "tag", "semver", "commit")))

    branch: str | None = Field(default=None, min_length=1)
    """The newest commit of this branch."""
    tag: str | None = Field(default=None, min_length=1)
    """The commit of this tag."""
    semver: str | None = Field(default=None, min_length=1)
    """The commit of the highest tag in this range of semantic versions, such as `>=1.2 <2`."""
    commit: str | None = Field(default=None, pattern=r"^[0-9a-f]{40}([0-9a-f]{24})?$")
    """Exactly this commit, in full."""

    @model_validator(mode="after")
    def _at_most_one(self) -> GitRef:
        given = [name for name in ("branch", "tag", "semver", "commit") if getattr(self, name) is not None]
        if len(given) > 1:
            raise ValueError(f"give one of branch, tag, semver and commit, not {' and '.join(given)}")
        for name in ("branch", "tag"):
            value = getattr(self, name)
            if value is not None and (value.startswith("-") or ".." in value or _NOT_IN_REFS.search(value)):
                raise ValueError(f"{name} {value!r} is not a name that Git allows")
        return self

    def __str__(self) -> str:
        return self.branch or self.tag or self.semver or self.commit or "HEAD"


class GitProxy(Model):
    """The way to a repository that is not reached straight: a proxy for http and https.

    Give `address`, a Secret with the key `address`, or both. The daemon's own environment variables `https_proxy` and
    `no_proxy` hold for every Sync without a proxy of its own.
    """

    model_config = ConfigDict(
        json_schema_extra=rules(("has(self.address) || has(self.secretRef)", "give address, or a Secret that has it"))
    )

    address: str | None = Field(
        default=None,
        max_length=2048,
        json_schema_extra=rules(("self.matches('^https?://[^@/?# ]+/?$')", _PROXY_FORM), secret=True),
    )
    """Where it is, like `http://proxy.example.com:3128`."""
    secret_file: str | None = Field(default=None, min_length=1)
    """A folder or a YAML file with the keys `username` and `password`, where the proxy wants them, and `address`."""
    secret_ref: SecretRef | None = None
    """A Secret in the Sync's own namespace of the cluster, with the same keys."""

    @field_validator("address")
    @classmethod
    def _without_a_login(cls, address: str | None) -> str | None:
        if address is not None and not PROXY_ADDRESS.match(address):
            raise ValueError(_PROXY_FORM)
        return address

    @model_validator(mode="after")
    def _somewhere(self) -> GitProxy:
        if self.secret_file is not None and self.secret_ref is not None:
            raise ValueError("give secretFile or secretRef, not both")
        if self.address is None and self.secret_file is None and self.secret_ref is None:
            raise ValueError("give address, or a Secret that has it")
        return self


class GitVerify(Model):
    """Whose signatures count. What nobody of them has signed is never rendered: the last good revision stays."""

    model_config = ConfigDict(
        json_schema_extra=rules(("has(self.secretRef)", "give secretRef: whose signatures count"))
    )

    mode: Literal["HEAD", "Tag", "TagAndHEAD"] = "HEAD"
    """What must be signed: the commit, the tag that points to it (with `ref.tag` or `ref.semver`), or both."""
    secret_file: str | None = Field(default=None, min_length=1)
    """The public keys: a folder with a file for each, or a YAML file with a Secret. OpenPGP keys are named like
    `alice.asc`, ssh keys like `alice.sshpub`, and a file of ssh's allowed signers `allowed_signers`."""
    secret_ref: SecretRef | None = None
    """The public keys: a Secret in the Sync's own namespace of the cluster, with the same names."""

    @model_validator(mode="after")
    def _one_secret(self) -> GitVerify:
        if (self.secret_file is None) == (self.secret_ref is None):
            raise ValueError("give secretFile or secretRef, and not both")
        return self


class GitSource(Model):
    """A Git repository."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            ("!has(self.proxy) || self.url.matches('^https?://')", "proxy is for http and https URLs"),
            (
                (
                    "!has(self.verify) || !has(self.verify.mode) || self.verify.mode == 'HEAD'"
                    " || has(self.ref) && (has(self.ref.tag) || has(self.ref.semver))"
                ),
                "verify.mode Tag and TagAndHEAD need ref.tag or ref.semver: nothing else has a tag",
            ),
        )
    )

    url: str = Field(
        min_length=1,
        max_length=2048,
        json_schema_extra=rules(
            (
                r"self.matches('^(https?|ssh|git)://') || self.matches('^[A-Za-z0-9_][A-Za-z0-9_.+-]*@[A-Za-z0-9_]')",
                "must be an https, http, ssh or git URL, or user@host:path; paths and file URLs are for Syncs in files",
            ),
            (
                r"!self.matches('^(https?|git)://[^/]*@|^ssh://[^/@]*:[^/]*@|[?#\\s]')",
                "must not hold credentials, '?', '#' or white space",
            ),
            secret=True,
        ),
    )
    """Where it is: an https, http, ssh, git or file URL, `user@host:path`, or a path. Never with credentials in it."""
    ref: GitRef = GitRef()
    """Which revision to follow."""
    secret_file: str | None = Field(default=None, min_length=1)
    """Credentials: a folder with a file for each key, as Kubernetes mounts a Secret, or a YAML file with a Secret.
    For https the keys are `username` and `password`, or `bearerToken`, and `ca.crt`, `tls.crt` and `tls.key`, or those
    of a GitHub App: `githubAppID`, `githubAppInstallationID`, `githubAppPrivateKey` and `githubAppBaseURL`; for ssh
    `identity`, `known_hosts`, and `password` for the key's passphrase. Read anew for each question to the server."""
    secret_ref: SecretRef | None = None
    """Credentials: a Secret in the Sync's own namespace of the cluster, with the same keys. Read anew for each question
    to the server, so that rotated credentials are used at once."""

    proxy: GitProxy | None = None
    """The way to an http or https URL, if not the straight one."""
    verify: GitVerify | None = None
    """Follow only what was signed. Without it, whoever can push decides what is applied."""

    @model_validator(mode="after")
    def _consistent(self) -> GitSource:
        if self.secret_file is not None and self.secret_ref is not None:
            raise ValueError("give secretFile or secretRef, not both")
        if self.proxy is not None and not self.url.startswith(("https://", "http://")):
            raise ValueError("proxy is for http and https URLs")
        if self.verify and self.verify.mode != "HEAD" and self.ref.tag is None and self.ref.semver is None:
            raise ValueError(f"verify.mode {self.verify.mode} needs ref.tag or ref.semver: nothing else has a tag")
        return self

    @field_validator("url")
    @classmethod
    def _safe_url(cls, url: str) -> str:
        """Refuse what Git would take for an option or a remote helper (``ext::``), and credentials in the URL."""
        if re.search(r"[\s\x00-\x1f\x7f]", url):
            raise ValueError("must not hold white space")
        if url.startswith(("/", "./", "../")) or _SCP_LIKE.match(url):
            return url
        if not url.startswith(_URL_SCHEMES):
            raise ValueError("must be an https, http, ssh, git or file URL, user@host:path, or a path")
        if re.match(r"^(?!ssh:)[a-z]+://[^/]*@|^ssh://[^/@]*:[^/]*@", url) or "?" in url or "#" in url:
            raise ValueError("must not hold credentials, '?' or '#': they would end up in logs")
        if not url.startswith("file://") and not _NETWORK_URL.match(url):
            raise ValueError("must name a host, and a repository on it")
        return url


class Source(Model):
    """Where the manifests come from."""

    git: GitSource
    """A Git repository."""
