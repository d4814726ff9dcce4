"""What came of one reconcile."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from syncd.engine.executor import WAITS
from syncd.model import OutcomeStatus, Plan

if TYPE_CHECKING:
    from collections.abc import Mapping

    from syncd.model import Action, Outcome, Revision


@dataclass(frozen=True, slots=True)
class Reconciliation:
    """What came of one reconcile.

    Attributes:
        revision: What it worked from.
        plan: What it meant to do.
        outcomes: What came of each action, sorted by object key; empty if the plan was only made, not carried out.
        durations: Seconds by stage.
        owner: The uid of the apply-config object; "" if there is none.
        inventory_size: How many objects the apply-config object lists at the end.
        held: Why nothing was carried out; "" if everything that was meant to be was.
        interrupted: Whether it was stopped before its end.
    """

    revision: Revision
    plan: Plan
    outcomes: tuple[Outcome, ...] = ()
    durations: Mapping[str, float] = field(default_factory=dict)
    owner: str = ""
    inventory_size: int = 0
    interrupted: bool = False
    held: str = ""

    @property
    def waiting(self) -> tuple[Action, ...]:
        """What is not done yet because what it depends on is not healthy."""
        return tuple(outcome.action for outcome in self.outcomes if outcome.action.reason == WAITS)

    @property
    def failures(self) -> tuple[Outcome, ...]:
        """What went wrong, object by object; what only waited for a failed one comes after what failed itself."""
        failed = [outcome for outcome in self.outcomes if outcome.status is OutcomeStatus.FAILED]
        abandoned = [outcome for outcome in self.outcomes if outcome.status is OutcomeStatus.ABANDONED]
        return (*failed, *abandoned)
