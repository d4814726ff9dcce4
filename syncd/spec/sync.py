"""The Sync document as a whole, and its validation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from syncd.model import SyncdError
from syncd.spec.base import DNS_LABEL, DNS_SUBDOMAIN, Model, Seconds, rules
from syncd.spec.decryption import Decryption
from syncd.spec.dependency import Dependency
from syncd.spec.drift import DriftPolicy
from syncd.spec.fields import FieldRule
from syncd.spec.health import HealthCheck
from syncd.spec.merge import MergePolicy
from syncd.spec.overrides import Overrides
from syncd.spec.prune import Adopt, Prune
from syncd.spec.render import Render
from syncd.spec.source import Source
from syncd.spec.substitute import Substitute
from syncd.spec.target import Target
from syncd.spec.windows import Window

if TYPE_CHECKING:
    from collections.abc import Mapping

API_VERSION: Final = "syncd.dev/v1alpha1"
KIND: Final = "Sync"


class SyncSpec(Model):
    """What one Sync asks for. Durations are written like `30s`, `5m` or `1h30m`."""

    source: Source
    """Where the manifests come from."""
    path: str = Field(
        default=".",
        max_length=1024,
        json_schema_extra=rules(
            (
                "!self.startsWith('/') && !self.split('/').exists(part, part == '..')",
                "must be a path inside the repository, without '..'",
            )
        ),
    )
    """The folder in it."""
    interval: Seconds = Field(default=60.0, ge=0.1)
    """How often to look for a new revision and for drift."""
    timeout: Seconds = Field(default=300.0, ge=1)
    """The longest that one reconcile may take, and the longest that `wait` waits after it."""
    render: Render = Render()
    """How files become manifests."""
    decryption: Decryption | None = None
    """Keys for files that are encrypted with SOPS."""
    overrides: Overrides | None = None
    """Changes to everything that was rendered."""
    substitute: Substitute | None = None
    """Variables in everything that was rendered; replaced after the overrides. Without this field, nothing is."""
    target: Target = Target()
    """Where objects go."""
    service_account_name: str = Field(default="", pattern=rf"{DNS_SUBDOMAIN}|^$")
    """The ServiceAccount, in the Sync's namespace, in whose name everything is read, applied and pruned; what it may do
    is all that the Sync can do. Without it, the daemon's `--default-service-account`, or else the daemon itself."""
    prune: Prune = Prune()
    """Whether and how objects that left Git are deleted."""
    adopt: Adopt = Adopt()
    """Which objects that exist already the Sync may make its own."""
    drift: DriftPolicy = DriftPolicy()
    """What to do about changes that did not come from Git."""
    depends_on: Annotated[tuple[Dependency, ...], Field(strict=False, max_length=100)] = ()
    """Other Syncs that must be applied and healthy before anything of this one is applied or pruned. One that follows
    the same branch of the same repository must have applied the same commit."""
    wait: bool = False
    """Whether the Sync has only succeeded once all of its objects are healthy. Until then its reason is Progressing;
    after the timeout, or when nothing is left that could still become healthy by itself, it is HealthCheckFailed, and
    the error says which object is not, and why. It goes on being looked at, and recovers by itself."""
    merge: MergePolicy = MergePolicy()
    """How lists merge that no schema describes well."""
    release: Annotated[tuple[FieldRule, ...], Field(strict=False)] = ()
    """Fields that are given up: they leave last applied and keep the value they have, and Git's value is no longer
    written. Once Git says them no more, they can leave this list too."""
    health_checks: Annotated[tuple[HealthCheck, ...], Field(strict=False, max_length=64)] = ()
    """How to tell the health of objects of kinds that syncd does not know."""
    replace: Literal["Never", "WhenImmutable"] = "Never"
    """Whether an object is deleted and made anew when a field that cannot change has changed in Git. An annotation
    `syncd.dev/replace: enabled` or `disabled` on an object overrides it; for Namespaces, CustomResourceDefinitions,
    PersistentVolumes and PersistentVolumeClaims, which hold data or other objects, only that annotation counts."""
    deletion_policy: Literal["Prune", "Orphan"] = "Prune"
    """What becomes of the objects at the end of the Sync, by `syncd destroy` or by the deletion of a Sync object: they
    are deleted, or released and left where they are."""
    windows: Annotated[tuple[Window, ...], Field(strict=False, max_length=32)] = ()
    """When changes may be made. Without any, always."""
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

    name: str = Field(pattern=DNS_SUBDOMAIN)
    """The name of the Sync."""
    namespace: str = Field(default="syncd", pattern=DNS_LABEL)
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

    def user(self, default_account: str = "") -> str:
        """In whose name the Sync is carried out, as RBAC has it; "" for the daemon's own.

        Args:
            default_account: The ServiceAccount of Syncs that name none; "" for none.
        """
        account = self.spec.service_account_name or default_account
        return f"system:serviceaccount:{self.metadata.namespace}:{account}" if account else ""


_PATTERNS: Final = {
    DNS_LABEL: "is not a name: lower-case letters, digits and '-', at most 63",
    DNS_SUBDOMAIN: "is not a name: lower-case letters, digits, '-' and '.', at most 253",
}
"""What texts that match no pattern lack, in words."""


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
    """Validate one ``kind: Sync`` document. The status of one that comes out of a cluster is passed over.

    Raises:
        SpecError: It does not hold; names every field that is wrong.
    """
    if isinstance(document, dict):
        document = {name: value for name, value in document.items() if name != "status"}
    try:
        return Sync.model_validate(document)
    except ValidationError as error:
        problems = tuple(FieldProblem(path=item["loc"], message=_message(item)) for item in error.errors())
        raise SpecError(problems) from None


def _message(error: Mapping[str, Any]) -> str:
    kind: str = error["type"]
    text: str = error["msg"]
    if kind == "extra_forbidden":
        return "unknown field"
    if kind == "missing":
        return "is required"
    if kind == "string_pattern_mismatch":
        pattern: str = error["ctx"]["pattern"]
        known = next((words for start, words in _PATTERNS.items() if pattern.startswith(start)), "")
        return known or f"does not match the pattern {pattern}"
    return text.removeprefix("Value error, ").replace("Input should ", "must ")
