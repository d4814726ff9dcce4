"""What becomes of objects that left Git, and of those that were there before."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from syncd.spec.base import Model


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
