"""What one reconcile leaves to the next, so that only what has changed is looked at again.

A plan is a pure function of what is desired, of what is live and of the Sync's rules, and what it says of one object
depends on no other object's live state as long as nothing has left Git. So when what is desired and the rules are what
they were, only those objects need a look that have changed since, or were not as they should be: none, most of the
time. An unchanged reconcile costs the same for one object as for ten thousand, and so does the repair of one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from syncd.model import ActionType

if TYPE_CHECKING:
    from syncd.cluster import LiveCache, Moment
    from syncd.engine.result import Reconciliation
    from syncd.inventory import ApplyConfig
    from syncd.model import ObjectKey, Outcome
    from syncd.plan.desired import DesiredSet
    from syncd.plan.settings import Observation, Policy

MOST_OPEN: Final = 100
"""Objects that may be left open by a reconcile that the next one builds on: what is kept of each is large."""
_LEFT_GIT: Final = frozenset({ActionType.PRUNE, ActionType.KEEP})


@dataclass(frozen=True, slots=True)
class Inputs:
    """All that the plan of a reconcile depends on, in a form that is cheap to compare.

    Attributes:
        desired: What Git wants; compared by identity.
        inventory: The apply-config object without its keys, which its resourceVersion stands for.
        policy: The Sync's rules.
        live: What was known of the owner's objects, as :meth:`~syncd.cluster.LiveCache.moment` marks it.
    """

    desired: DesiredSet
    inventory: ApplyConfig
    policy: Policy
    live: Moment | None

    @classmethod
    def now(cls, desired: DesiredSet, inventory: ApplyConfig, policy: Policy, live: LiveCache) -> Inputs:
        """The inputs as they are."""
        owner = policy.owner
        # An approval says which commit; without one the commit makes no difference.
        policy = policy if inventory.approval else replace(policy, commit="")
        return cls(desired, replace(inventory, keys=frozenset()), policy, live.moment(owner.sync, owner.uid))


@dataclass(frozen=True, slots=True)
class Basis:
    """A reconcile that the next one may build on.

    Attributes:
        inputs: What it was made from.
        result: What came of it.
        open: The objects that were not simply found to be as they should be.
    """

    inputs: Inputs
    result: Reconciliation
    open: frozenset[ObjectKey]

    @classmethod
    def of(
        cls, inputs: Inputs, observed: Observation, result: Reconciliation, before: Basis | None = None
    ) -> Basis | None:
        """A basis for the next reconcile; None if that has to look at everything again.

        What it keeps of an object is without the parsed live object that the plan was made from.

        Args:
            inputs: What the reconcile was made from.
            observed: What it saw of the cluster.
            result: What came of it.
            before: What it built on itself.
        """
        if before is not None and result.outcomes is before.result.outcomes:
            return replace(before, inputs=inputs)
        unfinished = observed.unreadable or result.interrupted or result.plan.prune_held
        if unfinished or inputs.live is None or any(_has_left(outcome) for outcome in result.outcomes):
            return None
        still_open = frozenset(outcome.action.key for outcome in result.outcomes if not _is_settled(outcome))
        if len(still_open) > MOST_OPEN:
            return None
        actions = tuple(outcome.action for outcome in result.outcomes)
        return cls(inputs, replace(result, plan=replace(result.plan, actions=actions)), still_open)

    def focus(self, now: Inputs, live: LiveCache) -> frozenset[ObjectKey] | None:
        """The objects to look at in a reconcile with these inputs; None for all.

        In doubt about what is live it is all, for then no absence proves anything.
        """
        then = self.inputs
        rules = (then.inventory, then.policy) == (now.inventory, now.policy) and then.desired is now.desired
        if not rules or then.live is None or now.live is None:
            return None
        changed = live.changed_since(then.live, now.live, now.policy.owner.uid)
        return None if changed is None else self.open | changed

    def extended(self, part: Reconciliation) -> Reconciliation:
        """The result of a reconcile that looked at a part of the objects, with what is known of the others."""
        if not part.outcomes:
            return replace(part, plan=self.result.plan, outcomes=self.result.outcomes)
        new = {outcome.action.key: outcome for outcome in part.outcomes}
        outcomes = tuple(new.get(outcome.action.key, outcome) for outcome in self.result.outcomes)
        plan = replace(part.plan, actions=tuple(outcome.action for outcome in outcomes))
        return replace(part, plan=plan, outcomes=outcomes)


def _is_settled(outcome: Outcome) -> bool:
    return outcome.action.type is ActionType.UNCHANGED and outcome.action.drift is None


def _has_left(outcome: Outcome) -> bool:
    return outcome.action.type in _LEFT_GIT
