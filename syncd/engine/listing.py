"""What the inventory is to list before, during and after a reconcile."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.engine.executor import WAITS
from syncd.model import ActionType, OutcomeStatus

if TYPE_CHECKING:
    from collections.abc import Iterable

    from syncd.inventory import ApplyConfig
    from syncd.model import Action, ObjectKey, Outcome


def union(inventory: ApplyConfig, actions: Iterable[Action]) -> frozenset[ObjectKey]:
    """What has to be listed before anything is applied: all that was, and all that will be; not the list itself."""
    return inventory.keys | {action.key for action in actions if _is_applied(action)} - {inventory.key}


def foreseen(keys: frozenset[ObjectKey], actions: Iterable[Action]) -> frozenset[ObjectKey]:
    """What the list comes to if everything goes as planned."""
    return keys - {action.key for action in actions if _leaves(action) or action.type is ActionType.PRUNE}


def remaining(keys: frozenset[ObjectKey], outcomes: Iterable[Outcome]) -> frozenset[ObjectKey]:
    """What stays listed: all but what is confirmed to be gone, or was given up."""
    return keys - {
        outcome.action.key for outcome in outcomes if outcome.status is OutcomeStatus.DONE and _is_out(outcome.action)
    }


def _is_out(action: Action) -> bool:
    """Whether an object is surely not there for this Sync to keep; one that waits and is not there was never made."""
    never_made = action.reason == WAITS and action.live is None
    return action.release or never_made or action.reason == "OwnedByOther"


def unfinished(outcomes: Iterable[Outcome]) -> frozenset[ObjectKey]:
    """What is listed and may not be there: deletions that are not confirmed, and creations that came to nothing."""
    return frozenset(outcome.action.key for outcome in outcomes if _leaves(outcome.action) or _is_undone(outcome))


def _is_undone(outcome: Outcome) -> bool:
    if outcome.action.type not in (ActionType.CREATE, ActionType.PRUNE):
        return False
    return outcome.status is not OutcomeStatus.DONE


def _leaves(action: Action) -> bool:
    return action.type is ActionType.KEEP and (action.release or action.reason == "Terminating")


def _is_applied(action: Action) -> bool:
    if action.type is ActionType.SKIP:
        return not action.blocking
    return action.type in (ActionType.CREATE, ActionType.UPDATE, ActionType.UNCHANGED)
