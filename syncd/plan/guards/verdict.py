"""What a guard is told, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from syncd.inventory import Owner
    from syncd.model import GroupKind, ObjectKey
    from syncd.plan.usage import User


class Keep(NamedTuple):
    """An objection: the object stays."""

    reason: str
    """A CamelCase word for metrics and status."""
    message: str
    """Why, in a sentence."""
    release: bool = False
    """Whether the object is given up for good, so that its key leaves the inventory."""
    unmark: bool = False
    """Whether the owner's marks are taken off it as well."""


@dataclass(frozen=True, slots=True)
class PruneContext:
    """What guards need to know besides the object.

    Attributes:
        owner: Whose inventory the object is in.
        homes: The namespaces that hold the apply-config object, and the ConfigMap that says where it is.
        desired_uids: The uids of live objects that Git wants, under whatever key.
        occupied: Namespaces that some object lives in which Git wants, or which was kept.
        used_kinds: Kinds of which there is such an object.
        contents: For a Namespace or CustomResourceDefinition that left Git: what it holds that is not this Sync's, in
            words; "" if it holds nothing of that sort. One that is not named here was not looked into.
        users: By namespace, the ConfigMaps and Secrets that something there uses, and what does. A namespace that is
            not named here was not looked into.
        going: The uids of objects that are deleted in the same reconcile, and what they control with them.
        claimed: Objects that another Sync wants, and which.
        declared: What Git still lists in the apply-config object that it brings along.
        claims_may_go: Whether PersistentVolumeClaims may be deleted.
    """

    owner: Owner
    homes: frozenset[str]
    desired_uids: frozenset[str] = frozenset()
    occupied: frozenset[str] = frozenset()
    used_kinds: frozenset[GroupKind] = frozenset()
    contents: Mapping[ObjectKey, str] = field(default_factory=dict)
    users: Mapping[str, Mapping[ObjectKey, tuple[User, ...]]] = field(default_factory=dict)
    going: Collection[str] = frozenset()
    claimed: Mapping[ObjectKey, str] = field(default_factory=dict)
    declared: frozenset[ObjectKey] = frozenset()
    claims_may_go: bool = False
