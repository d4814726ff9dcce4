"""The Sync document: what a user writes, its defaults and its validation.

The same models read ``kind: Sync`` documents from files and from the cluster. Unknown fields are errors, every error is
reported with the path of its field, and every model is frozen.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, field_validator, model_validator
from pydantic.alias_generators import to_camel

from syncd.model import SyncdError

API_VERSION: Final = "syncd.dev/v1alpha1"
KIND: Final = "Sync"

_DURATION_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
_NOT_IN_REFS = re.compile(r"[\s\x00-\x1f\x7f~^:?*\[\\]|\.lock(/|$)|@\{|//|^/|/$|\.$|(^|/)\.")
_DNS_SUBDOMAIN = r"^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$"
_DNS_LABEL = r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"
_URL_SCHEMES = ("https://", "http://", "ssh://", "file://", "git://")
# No user or host starts with "-": ssh would take it for an option.
_NETWORK_URL = re.compile(r"^[a-z]+://(\w[\w.+-]*@)?(\w[\w.-]*|\[[0-9A-Fa-f:.]+\])(:\d+)?/[^/]", re.ASCII)
_SCP_LIKE = re.compile(r"^\w[\w.+-]*@\w[\w.-]*:(?!//|-)\S+$", re.ASCII)


def parse_duration(value: object) -> object:
    """Read a Go duration (``90s``, ``1m30s``, ``1h``) as seconds; other types pass through to be judged by pydantic.

    Raises:
        ValueError: The text is not such a duration.
    """
    if not isinstance(value, str):
        return value
    parts = _DURATION.findall(value)
    if not parts or "".join(number + unit for number, unit in parts) != value:
        raise ValueError("not a duration; write it like 30s, 5m or 1h30m")
    return sum(float(number) * _DURATION_UNITS[unit] for number, unit in parts)


Seconds = Annotated[float, BeforeValidator(parse_duration)]


class Model(BaseModel):
    """The base of all parts of a Sync: frozen, camelCase outside, no unknown fields, no silent conversions.

    The text below a field is its description for users, in the reference page and the schema.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        populate_by_name=True,
        strict=True,
        use_attribute_docstrings=True,
    )


class GitRef(Model):
    """Which revision to follow; at most one of the fields. Without any, the repository's default branch."""

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


class GitSource(Model):
    """A Git repository."""

    url: str = Field(min_length=1)
    """Where it is: an https, http, ssh, git or file URL, `user@host:path`, or a path. Never with credentials in it."""
    ref: GitRef = GitRef()
    """Which revision to follow."""
    secret_file: str | None = Field(default=None, min_length=1)
    """Credentials: a folder with a file for each key, as Kubernetes mounts a Secret, or a YAML file with a Secret.
    For https the keys are `username` and `password`, or `bearerToken`, and `ca.crt`, `tls.crt` and `tls.key`; for ssh
    `identity`, `known_hosts`, and `password` for the key's passphrase. Read anew for each question to the server."""

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


class PlainRender(Model):
    """Read every YAML and JSON file below the path."""


class KustomizeRender(Model):
    """Build the kustomization at the path with the real kustomize."""


class HelmRender(Model):
    """Render the chart at the path with the real Helm, as `helm template` does. Dependencies must be vendored."""

    release_name: str | None = Field(default=None, pattern=r"^[a-z0-9]([-a-z0-9]{0,51}[a-z0-9])?$")
    """The release's name; without it the chart's own."""
    values_files: Annotated[tuple[str, ...], Field(strict=False)] = ()
    """Values files below the path, relative to it; a later one wins over an earlier one."""
    values: dict[str, Any] = Field(default_factory=dict)
    """Values that win over those of all files."""
    include_crds: bool = True
    """Whether the chart's `crds` folder is rendered too."""
    hooks: Literal["Refuse", "Apply", "Omit"] = "Refuse"
    """What becomes of Helm hooks, which syncd does not run: an error, objects like all others, or nothing."""
    kube_version: str = ""
    """The version of Kubernetes that templates see; without it the one that Helm was built for."""
    api_versions: Annotated[tuple[str, ...], Field(strict=False)] = ()
    """API versions, such as `monitoring.coreos.com/v1`, that templates see besides the built-in ones."""

    @field_validator("values_files")
    @classmethod
    def _relative_paths(cls, paths: tuple[str, ...]) -> tuple[str, ...]:
        for path in paths:
            if not path or path.startswith("/") or ".." in path.split("/") or "\x00" in path:
                raise ValueError(f"{path!r} must be a path below the Sync's path, without '..'")
        return paths

    @field_validator("kube_version", "api_versions")
    @classmethod
    def _versions(cls, value: str | tuple[str, ...]) -> str | tuple[str, ...]:
        for text in (value,) if isinstance(value, str) else value:
            if not re.fullmatch(r"[\w./+-]*", text):
                raise ValueError(f"{text!r} is not a version")
        return value


class Render(Model):
    """How files become manifests.

    Without any of these, every topmost folder with a kustomization file is built with Kustomize, every one with a
    `Chart.yaml` rendered with Helm, and all other manifests are read as they are.
    """

    plain: PlainRender | None = None
    """Every YAML and JSON file below the path, as it is."""
    kustomize: KustomizeRender | None = None
    """What the kustomization at the path builds."""
    helm: HelmRender | None = None
    """What the chart at the path renders."""

    @model_validator(mode="after")
    def _at_most_one(self) -> Render:
        given = [name for name in ("plain", "kustomize", "helm") if getattr(self, name) is not None]
        if len(given) > 1:
            raise ValueError(f"give one of plain, kustomize and helm, not {' and '.join(given)}")
        return self


class Target(Model):
    """Where objects go that name no namespace."""

    namespace: str = Field(default="", pattern=rf"{_DNS_LABEL}|^$")
    """The namespace of objects that name none."""
    create_namespace: bool = False
    """Create that namespace when it is missing."""

    @model_validator(mode="after")
    def _namespace_to_create(self) -> Target:
        if self.create_namespace and not self.namespace:
            raise ValueError("createNamespace needs a namespace")
        return self


class PruneBudget(Model):
    """How much one reconcile may prune; more than that holds all of its prunes.

    ``percent`` of the inventory counts only when that is more than ten objects.
    """

    objects: int = Field(default=50, ge=0)
    """The largest number of objects."""
    percent: int = Field(default=30, ge=0, le=100)
    """The largest share of the inventory."""


class Prune(Model):
    """Whether and how objects that left Git are deleted."""

    enabled: bool = True
    """Delete objects that left Git. When false they stay, and stay in the inventory."""
    budget: PruneBudget = PruneBudget()
    """How much one reconcile may delete."""
    persistent_volume_claims: Literal["Keep", "Delete"] = "Keep"
    """Whether PersistentVolumeClaims that left Git are deleted, and their data with them. An annotation
    `syncd.dev/prune: enabled` on one of them allows it for that one."""
    propagation_policy: Literal["Background", "Foreground", "Orphan"] = "Background"
    """What becomes of the objects that a deleted object owns, as in `kubectl delete --cascade`."""


class Adopt(Model):
    """Which objects that exist already the Sync may make its own."""

    unowned: bool = True
    """Those that have no owner."""
    from_: Annotated[tuple[str, ...], Field(strict=False)] = Field(default=(), alias="from")
    """Those of these owners: Syncs as `namespace/name`, or uids of other tools' apply-config objects. They are taken
    over as they are, never deleted; their former owner must have dropped them, or it reports the conflict."""


class IgnoreRule(Model):
    """Fields that are not syncd's business on matching objects; a selector that is absent matches everything."""

    group: str | None = None
    """The API group, "" for the core group."""
    kind: str | None = None
    """The kind, such as Deployment."""
    namespace: str | None = None
    """The object's namespace."""
    name: str | None = None
    """The object's name."""
    paths: tuple[str, ...] = Field(min_length=1)
    """The fields, as JSON pointers (RFC 6901) such as `/spec/replicas`."""

    @field_validator("paths", mode="before")
    @classmethod
    def _pointers(cls, paths: object) -> object:
        if not isinstance(paths, list | tuple):
            return paths
        for path in paths:
            if not isinstance(path, str) or not path.startswith("/"):
                raise ValueError(f"{path!r} is not a JSON pointer; write it like /spec/replicas")
        return tuple(paths)


class DriftPolicy(Model):
    """What to do when live differs from desired although Git did not change."""

    action: Literal["Correct", "Report"] = "Correct"
    """Put it right, or only tell."""
    ignore: Annotated[tuple[IgnoreRule, ...], Field(strict=False)] = ()
    """Fields that are not syncd's business."""


class SyncSpec(Model):
    """What one Sync asks for. Durations are seconds."""

    source: Source
    """Where the manifests come from."""
    path: str = "."
    """The folder in it."""
    interval: Seconds = Field(default=60.0, ge=0.1)
    """How often to look for a new revision and for drift."""
    timeout: Seconds = Field(default=300.0, ge=1)
    """The longest that one reconcile may take."""
    render: Render = Render()
    """How files become manifests."""
    target: Target = Target()
    """Where objects go."""
    prune: Prune = Prune()
    """Whether and how objects that left Git are deleted."""
    adopt: Adopt = Adopt()
    """Which objects that exist already the Sync may make its own."""
    drift: DriftPolicy = DriftPolicy()
    """What to do about changes that did not come from Git."""
    deletion_policy: Literal["Prune", "Orphan"] = "Prune"
    """What `syncd destroy` does with the objects: delete them, or release them and leave them where they are."""
    suspend: bool = False
    """Do nothing at all until this is false again."""

    @field_validator("path")
    @classmethod
    def _relative_path(cls, path: str) -> str:
        if path.startswith("/") or ".." in path.split("/") or "\x00" in path:
            raise ValueError("must be a path inside the repository, without '..'")
        return "/".join(part for part in path.split("/") if part not in ("", ".")) or "."


class SyncMetadata(Model):
    """The name of a Sync, and of its apply-config object."""

    model_config = ConfigDict(extra="ignore")

    name: str = Field(pattern=_DNS_SUBDOMAIN)
    """The name of the Sync."""
    namespace: str = Field(default="syncd", pattern=_DNS_LABEL)
    """The namespace that its apply-config object is in."""


class Sync(Model):
    """One unit of reconciliation."""

    api_version: Literal["syncd.dev/v1alpha1"] = API_VERSION
    kind: Literal["Sync"] = KIND
    metadata: SyncMetadata
    spec: SyncSpec

    @property
    def id(self) -> str:
        """``namespace/name``: what logs, metrics and pages call the Sync."""
        return f"{self.metadata.namespace}/{self.metadata.name}"


class FieldProblem(BaseModel):
    """One thing that is wrong with a document."""

    path: tuple[str | int, ...]
    message: str


class SpecError(SyncdError):
    """A Sync document that does not hold; lists every problem, not only the first."""

    reason = "InvalidSync"

    def __init__(self, problems: tuple[FieldProblem, ...]) -> None:
        self.problems = problems
        super().__init__("; ".join(f"{_dotted(problem.path)}: {problem.message}" for problem in problems))


def _dotted(path: tuple[str | int, ...]) -> str:
    return ".".join(str(part) for part in path) or "document"


def parse_sync(document: Any) -> Sync:
    """Validate one ``kind: Sync`` document.

    Raises:
        SpecError: It does not hold; names every field that is wrong.
    """
    try:
        return Sync.model_validate(document)
    except ValidationError as error:
        problems = tuple(
            FieldProblem(path=item["loc"], message=_message(item["type"], item["msg"])) for item in error.errors()
        )
        raise SpecError(problems) from None


def _message(kind: str, message: str) -> str:
    if kind == "extra_forbidden":
        return "unknown field"
    if kind == "missing":
        return "is required"
    return message.removeprefix("Value error, ")
