"""What happens to the objects that left Git."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from syncd.inventory.ownership import release_patch
from syncd.model import Action, ActionType, JSONObject, ObjectKey, Write, WriteMethod
from syncd.plan.guards import Keep, PruneContext, objection
from syncd.plan.guards.in_use import STILL_USED

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from syncd.plan.settings import Observation, Policy
    from syncd.spec import PruneBudget

_PERCENT_COUNTS_ABOVE = 10
"""Objects in the inventory from which on the budget's percentage means anything."""


class Hold(NamedTuple):
    """Why nothing at all is pruned in one reconcile."""

    reason: str
    """A CamelCase word; :data:`PRUNE_OFF` is the user's own wish, all others want a look."""
    message: str


PRUNE_OFF: Final = "PruneOff"
PENDING: Final = frozenset({"Terminating", STILL_USED})
"""Reasons to keep what is to go soon."""


def plan_prunes(
    candidates: Iterable[ObjectKey], observed: Observation, context: PruneContext, *, held: Hold | None
) -> tuple[Action, ...]:
    """One action for each object that is in the inventory and not in Git.

    Args:
        candidates: Their keys.
        observed: The cluster.
        context: What the guards need to know.
        held: Why nothing may be pruned at all, if so.
    """
    return tuple(_plan_one(key, observed, context, held) for key in sorted(candidates))


def _plan_one(key: ObjectKey, observed: Observation, context: PruneContext, held: Hold | None) -> Action:
    kind = key.group_kind
    if kind in observed.gone:
        return Action(ActionType.KEEP, key, "KindGone", "its kind is no longer served, so it is gone", release=True)
    if key in observed.unreadable:
        return Action(ActionType.KEEP, key, "Unreadable", observed.unreadable[key], blocking=True)
    live = observed.live.get(key)
    if live is not None:
        return judge(key, live.parse(), context, held=held)
    if held:
        return Action(ActionType.KEEP, key, held.reason, held.message)
    return Action(ActionType.PRUNE, key, "LeftGit", "it left Git; it may be gone already")


def judge(key: ObjectKey, live: JSONObject, context: PruneContext, *, held: Hold | None) -> Action:
    """Decide on one object that left Git, as a read shows it."""
    if live["metadata"].get("deletionTimestamp"):
        return terminating(key, live)
    keep = objection(key, live, context)
    if keep is not None:
        return _keep(key, live, keep)
    if held:
        return Action(ActionType.KEEP, key, held.reason, held.message, live=live)
    return Action(ActionType.PRUNE, key, "LeftGit", "it left Git", write=_deletion(live), live=live)


def terminating(key: ObjectKey, live: JSONObject) -> Action:
    """The action for an object whose deletion has begun: it stays listed until it is seen to be gone."""
    return Action(ActionType.KEEP, key, "Terminating", "it is being deleted", live=live)


def hold(
    candidates: Collection[ObjectKey], inventory_size: int, *, rendered: int, policy: Policy, observed: Observation
) -> Hold | None:
    """Why nothing at all may be pruned in this reconcile; None if there is nothing against it.

    Args:
        candidates: The objects that left Git.
        inventory_size: How many objects the inventory lists.
        rendered: How many objects Git has.
        policy: The Sync's rules.
        observed: The cluster.
    """
    if not candidates:
        return None
    if not policy.prune.enabled:
        return Hold(PRUNE_OFF, "the Sync's prune.enabled is false")
    if doubt := _doubt(observed):
        return doubt
    if observed.inventory.approves(policy.commit, candidates):
        return None
    if not rendered:
        return Hold("EmptyRender", "Git renders to nothing at all, which is more likely a mistake than a wish")
    return _over_budget(len(candidates), inventory_size, policy.prune.budget)


def _doubt(observed: Observation) -> Hold | None:
    """What has to be cleared up, and cannot be approved."""
    if observed.inventory.damage:
        return Hold("InventoryInDoubt", f"the apply-config object is in doubt: {observed.inventory.damage}")
    return Hold("HandOverUnclear", observed.claims_doubt) if observed.claims_doubt else None


def allowance(budget: PruneBudget, inventory_size: int) -> int:
    """How many objects the budget lets one reconcile prune from an inventory of this size."""
    if inventory_size > _PERCENT_COUNTS_ABOVE:
        return min(budget.objects, budget.percent * inventory_size // 100)
    return budget.objects


def _over_budget(count: int, inventory_size: int, budget: PruneBudget) -> Hold | None:
    if count > budget.objects:
        limit = f"{budget.objects} (prune.budget.objects)"
    elif inventory_size > _PERCENT_COUNTS_ABOVE and count * 100 > budget.percent * inventory_size:
        limit = f"{budget.percent} percent of the inventory (prune.budget.percent)"
    else:
        return None
    message = f"{count} of {inventory_size} objects would be pruned, more than the budget of {limit}; see syncd approve"
    return Hold("BudgetExceeded", message)


def _deletion(live: JSONObject) -> Write:
    metadata = live["metadata"]
    return Write(WriteMethod.DELETE, uid=metadata["uid"], resource_version=metadata["resourceVersion"])


def _keep(key: ObjectKey, live: JSONObject, keep: Keep) -> Action:
    write = Write(WriteMethod.JSON_MERGE_PATCH, release_patch(live)) if keep.unmark else None
    return Action(ActionType.KEEP, key, keep.reason, keep.message, write=write, live=live, release=keep.release)
