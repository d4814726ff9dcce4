"""The reconcile that finds nothing to do, and the one after it, which need not look again.

A plan is a pure function of what is desired, of what is live and of the Sync's rules. When all of these are what they
were when nothing was to be done, nothing is to be done now: an unchanged reconcile costs the same for one object as for
ten thousand.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from syncd.model import ActionType

if TYPE_CHECKING:
    from syncd.cluster import LiveCache
    from syncd.cluster.scopes import Scope
    from syncd.engine.result import Reconciliation
    from syncd.inventory import ApplyConfig
    from syncd.plan.desired import DesiredSet
    from syncd.plan.settings import Observation, Policy

Moment = frozenset[tuple["Scope", int]]


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

    def same_as(self, other: Inputs) -> bool:
        """Whether nothing has changed, for sure."""
        return (
            self.live is not None
            and self.desired is other.desired
            and (self.inventory, self.policy, self.live) == (other.inventory, other.policy, other.live)
        )


@dataclass(frozen=True, slots=True)
class Quiet:
    """A reconcile that found nothing to do, and what it was made from."""

    inputs: Inputs
    result: Reconciliation

    @classmethod
    def of(cls, inputs: Inputs, result: Reconciliation) -> Quiet:
        """Keep a result that :func:`is_quiet`, without the parsed live objects that its plan was made from."""
        actions = tuple(outcome.action for outcome in result.outcomes)
        return cls(inputs, replace(result, plan=replace(result.plan, actions=actions)))


def is_quiet(observed: Observation, result: Reconciliation) -> bool:
    """Whether a reconcile found everything as it should be, and looked at nothing but its inputs."""
    return (
        not observed.unreadable
        and not result.interrupted
        and not result.plan.prune_held
        and not result.plan.changes_cluster  # though the server may find nothing to do: it would be told each time
        and all(
            outcome.action.type is ActionType.UNCHANGED and outcome.action.drift is None for outcome in result.outcomes
        )
    )
