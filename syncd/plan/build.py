"""The whole plan on one screen."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from syncd.model import ActionType, ObjectKey, Plan
from syncd.plan.guards import PruneContext
from syncd.plan.guards.contents import CONTAINERS
from syncd.plan.guards.in_use import USABLE
from syncd.plan.objects import plan_object
from syncd.plan.prune import hold, plan_prunes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from syncd.model import Action
    from syncd.plan.desired import DesiredSet
    from syncd.plan.settings import Observation, Policy


def build(desired: DesiredSet, observed: Observation, policy: Policy, *, unlimited: bool = False) -> Plan:
    """Decide what happens to every object, desired or formerly applied.

    Args:
        desired: What Git wants.
        observed: The cluster.
        policy: The Sync's rules.
        unlimited: Everything is meant to go, so that the number of prunes is no reason to hold them.
    """
    wanted = desired.by_key.keys()
    candidates = observed.inventory.keys - wanted - _meant_by(desired.unknown, observed.inventory.keys)
    unclaimed = candidates - observed.claimed.keys()
    held = (
        None
        if unlimited
        else hold(
            unclaimed,
            len(observed.inventory.keys),
            rendered=len(desired.objects) + len(desired.unknown) - (desired.home is not None),
            policy=policy,
            observed=observed,
        )
    )
    context = prune_context(wanted, observed, policy, desired.declared)
    prunes: list[Action] = []
    for stage in _stages(candidates):
        found = plan_prunes(stage, observed, context, held=held)
        context = occupy(context, (action.key for action in found if action.type is ActionType.KEEP))
        going = (action.live["metadata"]["uid"] for action in found if action.type is ActionType.PRUNE and action.live)
        context = replace(context, going=frozenset((*context.going, *going)))
        prunes.extend(found)
    actions = (
        *(plan_object(item, observed, policy) for item in desired.objects),
        *desired.unknown,
        *prunes,
    )
    return Plan(
        tuple(sorted(actions, key=lambda action: action.key)),
        prune_held=held.message if held else "",
        candidates=tuple(sorted(unclaimed)),
    )


def _stages(candidates: Iterable[ObjectKey]) -> tuple[list[ObjectKey], ...]:
    """What left Git, in the order of deciding: what may use others, what is used, what holds the rest."""
    stages: tuple[list[ObjectKey], ...] = ([], [], [])
    for key in candidates:
        stages[2 if key.group_kind in CONTAINERS else key.group_kind in USABLE].append(key)
    return stages


def prune_context(
    wanted: Iterable[ObjectKey], observed: Observation, policy: Policy, declared: frozenset[ObjectKey]
) -> PruneContext:
    """What the guards need to know, given what Git wants, and what the list says that it brings along."""
    wanted = tuple(wanted)
    context = PruneContext(
        owner=policy.owner,
        homes=frozenset({observed.inventory.namespace, policy.owner.sync.partition("/")[0]}),
        desired_uids=frozenset(observed.live[key].uid for key in wanted if key in observed.live),
        contents=observed.contents,
        users=observed.users,
        claimed=observed.claimed,
        declared=declared,
        claims_may_go=policy.prune.persistent_volume_claims == "Delete",
    )
    return occupy(context, wanted)


def occupy(context: PruneContext, keys: Iterable[ObjectKey]) -> PruneContext:
    """The context with more objects that stay, and so need their namespaces and their kinds."""
    keys = tuple(keys)
    return replace(
        context,
        occupied=context.occupied | {key.namespace for key in keys if key.namespace},
        used_kinds=context.used_kinds | {key.group_kind for key in keys},
    )


def _meant_by(skips: Iterable[Action], inventory: Iterable[ObjectKey]) -> set[ObjectKey]:
    """Listed objects that a manifest of an unknown kind may mean: without a scope its namespace is not known."""
    names = {(skip.key.group, skip.key.kind, skip.key.name) for skip in skips}
    return {key for key in inventory if (key.group, key.kind, key.name) in names}
