"""The vocabulary of syncd: object keys, manifests, revisions, plans and outcomes.

Everything here is an immutable value without I/O. Kubernetes objects themselves stay what they are on the wire: plain
JSON values. They are shared between these values and never changed in place; who needs a different one makes a copy.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import Any, ClassVar, Final, NamedTuple

JSONValue = Any
"""None, bool, int, float, str, or a list or dict of these (keys are strings)."""

JSONObject = dict[str, Any]
"""A JSON object, most often a whole Kubernetes object."""


class Absent(Enum):
    """The type of :data:`ABSENT`, so that "no value" and the value ``None`` stay two things."""

    ABSENT = "absent"

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = Absent.ABSENT
"""Stands for a field that is not there; ``None`` stands for a field that is there and null."""


SERVER_METADATA: Final = frozenset(
    {
        "creationTimestamp",
        "deletionGracePeriodSeconds",
        "deletionTimestamp",
        "generation",
        "managedFields",
        "resourceVersion",
        "selfLink",
        "uid",
    }
)
"""The fields of ``metadata`` that the server alone writes. In a manifest they are leftovers of an export."""


# --- errors --------------------------------------------------------------------------------------------------------


class SyncdError(Exception):
    """An expected failure with one clear message.

    ``reason`` is a short CamelCase word for status conditions and metric labels; the message is for people, and never
    holds secret data.
    """

    reason: ClassVar[str] = "Failed"


class InvalidInputError(SyncdError):
    """Something that somebody wrote is wrong; repeating the same attempt cannot help.

    Attributes:
        origin: Where the mistake stands, if it is known.
        problem: What is wrong there and what to do, without the place.
    """

    reason: ClassVar[str] = "InvalidManifest"

    def __init__(self, problem: str, origin: Origin | None = None) -> None:
        self.origin = origin
        self.problem = problem
        super().__init__(f"{origin}: {problem}" if origin else problem)


# --- what Git says -------------------------------------------------------------------------------------------------


class Origin(NamedTuple):
    """Where a manifest was written."""

    source: str = ""
    """The repository's URL, free of credentials, or a folder."""
    path: str = ""
    """The file, relative to the root of the source."""
    document: int = 0
    """Which YAML document in the file, from 1; 0 when unknown, as in the output of a renderer."""
    line: int = 0
    """The document's (or the mistake's) first line in the file, from 1; 0 when unknown."""

    def __str__(self) -> str:
        place = " ".join(part for part in (self.source, self.path) if part)
        if self.document:
            place += f", document {self.document}"
        if self.line:
            place += f", line {self.line}"
        return place


class Revision(NamedTuple):
    """A commit, and the tree that it has at the Sync's path.

    Two revisions with the same tree say the same thing, whatever their commits are.
    """

    ref: str
    """What was asked for, as a person would write it: a branch, tag, version range or commit."""
    commit: str
    tree: str
    news: str = ""
    """What is worth telling about how the ref came to this commit, such as a history that was rewritten."""
    committed: float = 0.0
    """When the commit was made, in seconds since 1970, by the clock of whoever made it; 0 if that is not known."""

    def __str__(self) -> str:
        return f"{self.ref}@{self.commit[:12]}"


class GroupKind(NamedTuple):
    """A kind in its API group; the version does not matter."""

    group: str
    kind: str

    def __str__(self) -> str:
        return f"{self.kind}.{self.group}" if self.group else self.kind


class ObjectKey(NamedTuple):
    """What identifies an object in a cluster, whatever version it is read in.

    The field order is that of the text form, ``namespace:group:kind:name``, and so is the sort order. Namespace and
    group may be empty. A name may hold colons (those of RBAC objects do); the other parts may not.
    """

    namespace: str
    group: str
    kind: str
    name: str

    @property
    def group_kind(self) -> GroupKind:
        """The kind in its group."""
        return GroupKind(self.group, self.kind)

    def __str__(self) -> str:
        return f"{self.namespace}:{self.group}:{self.kind}:{self.name}"

    @classmethod
    def parse(cls, text: str) -> ObjectKey:
        """Read the text form.

        Raises:
            ValueError: There are not four parts, or kind or name is empty.
        """
        parts = text.split(":", 3)
        if len(parts) != 4 or not parts[2] or not parts[3]:
            raise ValueError(f"not an object key (namespace:group:kind:name): {text!r}")
        namespace, group, kind, name = parts
        return cls(sys.intern(namespace), sys.intern(group), sys.intern(kind), name)  # thousands have the same

    def display(self) -> str:
        """The form for people: ``Deployment.apps shop/web``."""
        name = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.group_kind} {name}"


@dataclass(frozen=True, slots=True)
class Manifest:
    """One desired object.

    Attributes:
        key: Its key. Straight from a renderer the namespace is what the manifest says; after the engine has asked
            discovery for the kind's scope it is the namespace that the object will have.
        api_version: ``group/version`` as written.
        body: The whole object. Never changed in place.
        origin: Where it was written.
        hidden: Texts that came out of Secrets and are, or may have been, in the object: nobody may show them.
    """

    key: ObjectKey
    api_version: str
    body: JSONObject = field(repr=False)
    origin: Origin
    hidden: frozenset[str] = field(default=frozenset(), repr=False)


# --- what is to be done --------------------------------------------------------------------------------------------


class FieldChange(NamedTuple):
    """One field that differs.

    ``path`` is written like ``spec.template.spec.containers[name=web].image``. A side that does not have the field is
    :data:`ABSENT`.
    """

    path: str
    before: JSONValue
    after: JSONValue


class WriteMethod(StrEnum):
    """How an object is written."""

    CREATE = "create"
    STRATEGIC_MERGE_PATCH = "strategic-merge-patch"
    JSON_MERGE_PATCH = "json-merge-patch"
    SERVER_SIDE_APPLY = "server-side-apply"
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class Write:
    """One request that changes one object: what to send, and on what condition.

    Attributes:
        method: The kind of request.
        body: The object or patch; None for a deletion. Not shown by ``repr``: it may hold secret data.
        uid: A deletion's precondition.
        resource_version: A deletion's precondition. (A JSON merge patch carries its own in the body.)
    """

    method: WriteMethod
    body: JSONObject | None = field(default=None, repr=False)
    uid: str = ""
    resource_version: str = ""


class ActionType(StrEnum):
    """What happens to one object in one reconcile."""

    CREATE = "create"
    UPDATE = "update"
    UNCHANGED = "unchanged"
    PRUNE = "prune"
    KEEP = "keep"
    """It would be pruned, and is not."""
    SKIP = "skip"
    """It is in Git and is not applied."""

    @property
    def changes_cluster(self) -> bool:
        """Whether carrying the action out writes to the object."""
        return self in _CHANGES_CLUSTER


_CHANGES_CLUSTER = frozenset({ActionType.CREATE, ActionType.UPDATE, ActionType.PRUNE})


class DriftReason(StrEnum):
    """How live differs from what was applied although desired did not change."""

    CHANGED = "changed"
    MISSING = "missing"
    EXTRA_FIELD = "extra"
    OWNER_LOST = "owner-lost"


@dataclass(frozen=True, slots=True)
class Drift:
    """What somebody else did to an object.

    Attributes:
        reason: The kind of difference.
        changes: The fields, ``before`` being what live has and ``after`` what is desired.
        manager: The field manager that wrote the first of these fields last, or "" when the object does not say.
        operation: ``Apply`` or ``Update``, as the field manager did it, or "".
    """

    reason: DriftReason
    changes: tuple[FieldChange, ...] = ()
    manager: str = ""
    operation: str = ""


@dataclass(frozen=True, slots=True)
class Action:
    """What is to happen to one object, and why.

    Attributes:
        type: What happens.
        key: The object.
        reason: A CamelCase word, for metrics and status.
        message: The reason in a sentence, for people.
        changes: The fields that differ, secrets masked; ``before`` is live and ``after`` is what it will be.
        write: The request that carries it out; None for unchanged, keep and skip.
        manifest: What Git says; None for an object that left Git.
        drift: Set when live differs although desired did not change.
        live: The object as the plan saw it; None when it is not there.
        blocking: For keep and skip: whether this is a failure, which keeps the Sync from being Synced.
        release: For keep: the object is given up, and its key leaves the inventory.
        released: The fields of the object that are given up, as JSON pointers: those that leave last applied with this
            write, and those that Git has and that are not written.
    """

    type: ActionType
    key: ObjectKey
    reason: str
    message: str = ""
    changes: tuple[FieldChange, ...] = ()
    write: Write | None = None
    manifest: Manifest | None = None
    drift: Drift | None = None
    live: JSONObject | None = field(default=None, repr=False)
    blocking: bool = False
    release: bool = False
    released: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """Every action of one reconcile, before any of it is done.

    Attributes:
        actions: Sorted by object key, one for each object.
        prune_held: Why nothing at all is pruned in this reconcile; "" if pruning goes its way.
        candidates: Objects that left Git and that no other Sync wants, sorted: what an approval is about.
    """

    actions: tuple[Action, ...] = ()
    prune_held: str = ""
    candidates: tuple[ObjectKey, ...] = ()

    def of(self, *types: ActionType) -> tuple[Action, ...]:
        """The actions of these types, in order."""
        return tuple(action for action in self.actions if action.type in types)

    @property
    def changes_cluster(self) -> bool:
        """Whether carrying the plan out writes to any object."""
        return any(action.type.changes_cluster for action in self.actions)


class OutcomeStatus(StrEnum):
    """What came of one action."""

    DONE = "done"
    FAILED = "failed"
    ABANDONED = "abandoned"
    """Not attempted: something it depends on failed, or the reconcile was stopped."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one action.

    Attributes:
        action: The action as it was carried out; differs from the planned one when the object turned out to be
            different, such as a create that met an existing object and became an update.
        status: How it went.
        message: For failed and abandoned: why, in one sentence.
        reason: For failed and abandoned: a CamelCase word.
    """

    action: Action
    status: OutcomeStatus
    message: str = ""
    reason: str = ""
