"""Where the inventory lives: in syncd's own ConfigMap, or in the apply-config object that Git brings along.

When Git brings one along, renames it, or drops it, the list moves. Nothing is lost if syncd is killed between any two
requests: the new place is listed in the old one before it is made, it holds the whole list before anybody is told that
the list is there, and the own ConfigMap, which never goes, says which of the two counts.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from syncd.engine.apply import Applier
from syncd.engine.executor import execute
from syncd.engine.observe import probe
from syncd.engine.owned import claim
from syncd.inventory import ApplyConfig
from syncd.model import ActionType, Outcome, OutcomeStatus
from syncd.plan.guards.contents import CRD, NAMESPACE, defined_kind
from syncd.plan.objects import plan_object
from syncd.plan.order import build_graph
from syncd.plan.settings import Observation

if TYPE_CHECKING:
    from collections.abc import Iterable

    from syncd.engine.inventory import InventoryStore
    from syncd.engine.result import Reconciliation
    from syncd.engine.work import Work
    from syncd.inventory import Owner
    from syncd.model import Action, ObjectKey
    from syncd.plan.desired import DesiredSet
    from syncd.plan.settings import Desired, Policy

_NOTHING: frozenset[ObjectKey] = frozenset()
PARALLEL = 1
"""The few objects of a move stand on one another."""


class Settlement(NamedTuple):
    """The list where it belongs."""

    inventory: ApplyConfig
    created: tuple[Action, ...] = ()
    """What was made for it; the rest of the reconcile only finds that it has a former owner's marks."""

    def retell(self, result: Reconciliation) -> Reconciliation:
        """The result in which that counts as created."""
        first = {action.key: action for action in self.created}
        outcomes = tuple(
            replace(outcome, action=first[outcome.action.key]) if outcome.action.key in first else outcome
            for outcome in result.outcomes
        )
        return replace(result, outcomes=outcomes) if first else result


def settle(
    work: Work, store: InventoryStore, inventory: ApplyConfig, desired: DesiredSet, policy: Policy
) -> Settlement:
    """Bring the list to where Git wants it, if it can already be there; else it stays where it is for this time.

    Raises:
        SyncdError: The place belongs to another Sync, or a request failed.
    """
    settled = Settlement(inventory)
    if desired.home == store.own or (desired.home is None and desired.homeless):
        if inventory.brought:
            settled = Settlement(store.move(inventory, store.home(), work.deadline))
    elif desired.home not in (None, inventory.key):
        settled = _bring(work, store, inventory, desired, policy)
    store.clear(settled.inventory, work.deadline)
    return settled


def foresee(work: Work, store: InventoryStore, inventory: ApplyConfig, desired: DesiredSet) -> ApplyConfig:
    """What :func:`settle` would give, without doing anything.

    Raises:
        SyncdError: The place belongs to another Sync, or a request failed.
    """
    if desired.home is None:
        if not (inventory.brought and desired.homeless):
            return inventory
        return store.home().taking_over(inventory)
    if desired.home == inventory.key or not inventory.uid:
        return inventory
    there = store.candidate(desired.home, work.deadline)
    return (there or ApplyConfig(desired.home.namespace, desired.home.name, brought=True)).taking_over(inventory)


def finish(work: Work, owner: Owner, outcomes: Iterable[Outcome]) -> bool:
    """Whether no object names an apply-config object any more that held the list before.

    What is wanted carries the present one's marks after a reconcile that succeeded; what is kept gets them here.
    """
    outcomes = tuple(outcomes)
    if any(outcome.status is not OutcomeStatus.DONE for outcome in outcomes):
        return False
    for outcome in outcomes:
        if outcome.action.type is ActionType.KEEP and not outcome.action.release:
            claim(work.cluster, outcome.action.key, owner, work.deadline, known=True)
    return True


def _bring(
    work: Work, store: InventoryStore, inventory: ApplyConfig, desired: DesiredSet, policy: Policy
) -> Settlement:
    """Make the new place, as an object like any other, with what it stands on; then let the list move there."""
    home = desired.home
    assert home is not None  # noqa: S101 - the caller has looked
    store.candidate(home, work.deadline)
    wanted = {item.key: item for item in desired.objects if item.key == home or _is_ground(item, home)}
    observed = Observation(inventory, probe(work, wanted))
    actions = [plan_object(item, observed, policy) for item in wanted.values()]
    writes = tuple(action for action in actions if action.type in (ActionType.CREATE, ActionType.UPDATE))
    created: tuple[Action, ...] = ()
    if writes:
        inventory = store.write(inventory, inventory.keys | wanted.keys(), _NOTHING, work.deadline)
        applier = Applier(work, wanted, observed, policy)
        graph = build_graph(writes, wanted.keys())
        outcomes = execute(writes, graph, applier.carry_out, pool=work.pool, width=PARALLEL, deadline=work.deadline)
        if any(outcome.status is not OutcomeStatus.DONE for outcome in outcomes):
            # It is tried again with all the others, in their order, and told there if it fails.
            return Settlement(inventory)
        created = tuple(outcome.action for outcome in outcomes if outcome.action.type is ActionType.CREATE)
    there = store.candidate(home, work.deadline)
    blocked = any(action.key == home and action.type is ActionType.SKIP for action in actions)
    if there is None or blocked:
        return Settlement(inventory)
    return Settlement(store.move(inventory, there, work.deadline), created)


def _is_ground(item: Desired, home: ObjectKey) -> bool:
    """Whether the place cannot be without this object."""
    if item.key.group_kind == NAMESPACE:
        return item.key.name == home.namespace
    return item.key.group_kind == CRD and defined_kind(item.manifest.body) == home.group_kind
