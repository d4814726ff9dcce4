"""What a plan is made from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, Protocol

from syncd.plan.windows import WINDOW_CLOSED
from syncd.spec import Adopt, MergePolicy

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from syncd.inventory import ApplyConfig, Owner
    from syncd.merge.schema import PatchSchema
    from syncd.model import GroupKind, JSONObject, Manifest, ObjectKey
    from syncd.plan.usage import User
    from syncd.spec import DriftPolicy, FieldRule, Prune


class Live(Protocol):
    """One object as the cluster has it, parsed only when somebody needs to look inside."""

    @property
    def uid(self) -> str:
        """Its uid."""

    @property
    def resource_version(self) -> str:
        """Its resourceVersion."""

    def parse(self) -> JSONObject:
        """The whole object."""


class Desired(NamedTuple):
    """A manifest whose key is final, with the hash of its body."""

    manifest: Manifest
    digest: bytes

    @property
    def key(self) -> ObjectKey:
        """The object's key."""
        return self.manifest.key


class Settled(NamedTuple):
    """Proof that an object needs nothing: what was desired when live was found, or answered, to be equal."""

    desired: bytes
    """The digest of the manifest."""
    resource_version: str
    live: bytes = b""
    """The digest of an answer of the server, without what changes by itself (status and bookkeeping): what it means to
    be equal only the server knew. Not kept of what a plan found to be equal, for it would find the same again."""


DRIFT_REPORTED: Final = "DriftReported"
TUG_OF_WAR: Final = "TugOfWar"


class Toleration(NamedTuple):
    """Why drift is left as it is: a word, and a sentence."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Restraint:
    """What the present moment forbids one reconcile.

    Attributes:
        changes: Why nothing at all is changed now; "" if changes may be made.
        correction: Why drift is not repaired now; "" if it is.
        resting: Objects whose drift is not repaired now, since somebody undoes every repair.
    """

    changes: str = ""
    correction: str = ""
    resting: frozenset[ObjectKey] = frozenset()


FREE: Final = Restraint()
"""The moment forbids nothing."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What one Sync asks of its plan.

    Attributes:
        owner: Whose marks the objects carry.
        drift: What to do about drift, and which fields are not syncd's business.
        prune: Whether and how much to prune.
        adopt: What that exists already may be made the Sync's own.
        commit: What Git is at, for a prune that is approved for one commit only.
        restraint: What the moment forbids.
        replace: Whether objects are made anew when a field that cannot change has changed in Git.
        schema_for: How the lists of a kind merge, by apiVersion and kind; None when nothing is known of it.
        merge: Which lists merge otherwise.
        release: Which fields are given up.
    """

    owner: Owner
    drift: DriftPolicy
    prune: Prune
    schema_for: Callable[[str, str], PatchSchema | None]
    adopt: Adopt = field(default_factory=Adopt)
    commit: str = ""
    restraint: Restraint = FREE
    merge: MergePolicy = field(default_factory=MergePolicy)
    release: tuple[FieldRule, ...] = ()
    replace: Literal["Never", "WhenImmutable"] = "Never"

    def toleration(self, key: ObjectKey) -> Toleration | None:
        """Why drift of an object is only reported; None if it is to be put right."""
        if self.drift.action == "Report":
            return Toleration(DRIFT_REPORTED, "it differs from Git, and the Sync's drift.action is Report")
        if self.restraint.correction:
            return Toleration(WINDOW_CLOSED, self.restraint.correction)
        if key in self.restraint.resting:
            return Toleration(TUG_OF_WAR, "somebody undoes every repair of it; the next one waits a while")
        return None


@dataclass(frozen=True, slots=True)
class Observation:
    """The cluster, as far as one plan looks at it.

    Attributes:
        live: Every object that is known to be there and to carry our owner's label, or that was read singly.
        unreadable: Objects that could not be read, with the reason: of these nothing is known.
        gone: Kinds that the cluster certainly does not serve.
        inventory: The apply-config object.
        settled: Objects that were found to need nothing.
        contents: For Namespaces and CustomResourceDefinitions that left Git: what they hold that is not this Sync's.
        users: For the namespaces of ConfigMaps and Secrets that left Git: which are used there, and by what.
        controllers: Who controls whom there, by uid.
        claimed: What other Syncs want, and which.
        claims_doubt: Why that may not be all; "" if it is.
    """

    inventory: ApplyConfig
    live: Mapping[ObjectKey, Live]
    unreadable: Mapping[ObjectKey, str] = field(default_factory=dict)
    gone: frozenset[GroupKind] = frozenset()
    settled: Mapping[ObjectKey, Settled] = field(default_factory=dict)
    contents: Mapping[ObjectKey, str] = field(default_factory=dict)
    users: Mapping[str, Mapping[ObjectKey, tuple[User, ...]]] = field(default_factory=dict)
    controllers: Mapping[str, str] = field(default_factory=dict)
    claimed: Mapping[ObjectKey, str] = field(default_factory=dict)
    claims_doubt: str = ""
