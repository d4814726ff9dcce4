"""What lets syncd read a private repository: from a Secret to files that only one Git command sees.

Nothing of it is ever in a URL, in a process's arguments or environment, or in an error.
"""

from __future__ import annotations

import shlex
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, urlsplit

from syncd.source.errors import InvalidCredentialsError
from syncd.source.github import App
from syncd.source.urls import transport

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from syncd.source.proxy import ProxyAddress

_ASKPASS: Final = '#!/bin/sh\nexec cat "$SYNCD_PASSPHRASE"\n'


@dataclass(frozen=True, slots=True)
class Credentials:
    """The contents of a Secret, as Flux and Kubernetes name its keys. Never shown by ``repr``."""

    username: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    """For https the password or token; for ssh the passphrase of the key."""
    bearer_token: str = field(default="", repr=False)
    ca: str = field(default="", repr=False)
    certificate: str = field(default="", repr=False)
    certificate_key: str = field(default="", repr=False)
    identity: str = field(default="", repr=False)
    """The private key for ssh."""
    known_hosts: str = field(default="", repr=False)
    app: App | None = None
    """A GitHub App, whose tokens are the passwords."""

    @classmethod
    def of(cls, secret: Mapping[str, bytes]) -> Credentials:
        """Take what there is out of a Secret's data.

        Raises:
            InvalidCredentialsError: A value is not text.
        """

        def text(*names: str) -> str:
            for name in names:
                if name in secret:
                    try:
                        return secret[name].decode("utf-8")
                    except UnicodeDecodeError:
                        raise InvalidCredentialsError(f"the key {name} does not hold text") from None
            return ""

        app_id, ca = text("githubAppID").strip(), text("ca.crt", "caFile")
        app = None
        if app_id:
            installation, key = text("githubAppInstallationID").strip(), text("githubAppPrivateKey")
            api = text("githubAppBaseURL").strip()
            app = App(app_id, installation, key, ca=ca, **({"api": api} if api else {}))
        return cls(
            app=app,
            username=text("username").strip(),
            password=text("password").strip("\r\n"),
            bearer_token=text("bearerToken").strip(),
            ca=ca,
            certificate=text("tls.crt", "certFile"),
            certificate_key=text("tls.key", "keyFile"),
            identity=text("identity", "ssh-privatekey"),
            known_hosts=text("known_hosts"),
        )


@contextmanager
def in_use(
    credentials: Credentials, url: str, *, home: Path, ssh: str, proxy: ProxyAddress | None = None
) -> Iterator[dict[str, str]]:
    """The environment in which one Git command has the credentials; afterwards every trace of them is gone.

    Args:
        credentials: What the repository needs.
        url: The repository.
        home: Where the private folder is made; its ``gitconfig`` goes on to hold.
        ssh: The ssh command without credentials.
        proxy: The way to an http or https URL, if not the straight one.

    Raises:
        InvalidCredentialsError: They are not enough for the URL.
    """
    with tempfile.TemporaryDirectory(prefix="credentials-", dir=home) as name:  # only its owner may enter
        folder = Path(name)
        how = transport(url)
        if how == "ssh":
            yield _for_ssh(credentials, folder, ssh)
        elif how in ("http", "https"):
            yield _for_http(credentials, url, folder, home / "gitconfig", proxy)
        else:
            raise InvalidCredentialsError(f"credentials are of no use for a {how} URL")


def _for_http(
    credentials: Credentials, url: str, folder: Path, config: Path, proxy: ProxyAddress | None
) -> dict[str, str]:
    settings, environment = {"include.path": str(config)}, {}
    if proxy is not None:
        settings["http.proxy"] = proxy.url
        if proxy.login:
            settings["http.proxyAuthMethod"] = "basic"  # at once: some proxies hang up after asking for it
    if credentials.ca:
        environment["GIT_SSL_CAINFO"] = _write(folder / "ca", credentials.ca)  # comes before all configuration
    if credentials.certificate:
        settings["http.sslCert"] = _write(folder / "certificate", credentials.certificate)
        settings["http.sslKey"] = _write(folder / "key", credentials.certificate_key)
    if credentials.bearer_token:
        settings["http.extraHeader"] = f"Authorization: Bearer {credentials.bearer_token}"
        settings["http.followRedirects"] = "false"  # the header would be sent wherever the server sends Git
    elif credentials.password:
        place = urlsplit(url)
        user = quote(credentials.username or "git", safe="")
        line = f"{place.scheme}://{user}:{quote(credentials.password, safe='')}@{place.netloc}\n"
        stored = shlex.quote(_write(folder / "stored", line))
        settings["credential.helper"] = f"store --file={stored}"  # given to that host only, and only when asked
    lines = [f"[{name.partition('.')[0]}]\n\t{name.partition('.')[2]} = {_quoted(settings[name])}" for name in settings]
    environment["GIT_CONFIG_GLOBAL"] = _write(folder / "gitconfig", "\n".join(lines) + "\n")
    return environment


def _for_ssh(credentials: Credentials, folder: Path, ssh: str) -> dict[str, str]:
    if not credentials.identity or not credentials.known_hosts:
        raise InvalidCredentialsError("ssh needs the keys identity and known_hosts")
    identity = _write(folder / "identity", credentials.identity.strip() + "\n")
    known_hosts = _write(folder / "known_hosts", credentials.known_hosts.strip() + "\n")
    options = (
        f" -F /dev/null -i {shlex.quote(identity)} -o IdentitiesOnly=yes -o IdentityAgent=none"
        f" -o UserKnownHostsFile={shlex.quote(known_hosts)} -o GlobalKnownHostsFile=/dev/null"
        " -o PasswordAuthentication=no -o KbdInteractiveAuthentication=no"
    )
    environment = {"GIT_SSH_COMMAND": ssh + options}
    if credentials.password:
        askpass = folder / "askpass"
        _write(askpass, _ASKPASS)
        askpass.chmod(0o700)
        environment |= {
            # BatchMode, which comes first and so would win, forbids asking for the passphrase too.
            "GIT_SSH_COMMAND": ssh.replace(" -o BatchMode=yes", " -o NumberOfPasswordPrompts=1") + options,
            "SSH_ASKPASS": str(askpass),
            "SSH_ASKPASS_REQUIRE": "force",
            "SYNCD_PASSPHRASE": _write(folder / "passphrase", credentials.password + "\n"),
        }
    return environment


def _write(path: Path, text: str) -> str:
    path.touch(mode=0o600)
    path.write_text(text, encoding="utf-8")
    return str(path)


def _quoted(value: str) -> str:
    """A value of Git's configuration format.

    Raises:
        InvalidCredentialsError: It holds what no header may hold.
    """
    if any(character in value for character in "\r\n\0"):
        raise InvalidCredentialsError("a token must be one line")
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
