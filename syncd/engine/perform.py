"""Carrying a plan out: write ahead, apply, prune, trim.

Killed between any two requests, the next reconcile ends in the same state: an object's key is in the apply-config
object on the server before the object is made, and leaves it only when its deletion is confirmed or it was given up.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from syncd.engine import home, listing
from syncd.engine.apply import Applier
from syncd.engine.executor import execute
from syncd.engine.inventory import ensure_namespace
from syncd.engine.prune import Pruner
from syncd.engine.readiness import Readiness
from syncd.engine.result import Reconciliation
from syncd.model import Action, ActionType, Outcome, OutcomeStatus, Plan
from syncd.plan.build import occupy, prune_context
from syncd.plan.order import build_graph
from syncd.plan.settings import Settled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from syncd.engine.inventory import InventoryStore
    from syncd.engine.memory import Memory
    from syncd.engine.work import Work
    from syncd.inventory import ApplyConfig
    from syncd.model import ObjectKey
    from syncd.plan.desired import DesiredSet
    from syncd.plan.order import Graph
    from syncd.plan.settings import Observation, Policy

PARALLEL_WRITES = 8
"""Requests that one reconcile has under way at once: enough to hide a round trip, few enough to be a polite client."""


@dataclass(slots=True)
class Stopwatch:
    """Seconds by stage."""

    durations: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time what happens inside."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.durations[name] = self.durations.get(name, 0.0) + time.perf_counter() - begin


@dataclass(frozen=True, slots=True)
class Prepared:
    """A plan and all that was needed to make it.

    ``observed`` and ``plan`` may be about a part of what is desired, if the rest is known to need nothing.
    """

    desired: DesiredSet
    inventory: ApplyConfig
    observed: Observation
    policy: Policy
    plan: Plan


def carry_out(work: Work, store: InventoryStore, prepared: Prepared, watch: Stopwatch) -> Reconciliation:
    """Write ahead, apply, prune, trim."""
    plan, deadline = prepared.plan, work.deadline
    keys = listing.union(prepared.inventory, plan.actions)
    with watch.stage("apply"):
        inventory = store.write(prepared.inventory, keys, listing.foreseen(keys, plan.actions), deadline)
        _ensure_target(work, plan)
        applied = _apply(work, prepared)
    with watch.stage("prune"):
        pruned = prune(work, prepared)
    outcomes = tuple(sorted((*applied, *pruned), key=lambda outcome: outcome.action.key))
    if not deadline.over:  # else the list stays too long, which is safe, and the next reconcile trims it
        with watch.stage("apply"):
            inventory = _trim(work, store, inventory, outcomes)
    return Reconciliation(
        work.revision, plan, outcomes, watch.durations, inventory.uid, len(inventory.keys), interrupted=deadline.over
    )


def _trim(work: Work, store: InventoryStore, inventory: ApplyConfig, outcomes: tuple[Outcome, ...]) -> ApplyConfig:
    """Take from the list what is confirmed to be gone."""
    if any(outcome.action.key == inventory.key and outcome.action.write for outcome in outcomes):
        inventory = store.read_again(inventory, work.deadline)  # its own contents were applied meanwhile
    left = listing.remaining(inventory.keys, outcomes)
    final = left - listing.unfinished(outcomes)
    forget = bool(inventory.moved_from) and home.finish(work, inventory.owner(work.sync.id), outcomes)
    return store.write(inventory, left, final, work.deadline, forget=forget)


def _ensure_target(work: Work, plan: Plan) -> None:
    """Make the target namespace if the Sync asks for that and something is about to go into it."""
    target, seen = work.sync.spec.target, work.memory.namespaces
    if target.create_namespace and target.namespace not in seen and plan.of(ActionType.CREATE):
        ensure_namespace(work.cluster, target.namespace, work.deadline)
        seen.add(target.namespace)


def _apply(work: Work, prepared: Prepared) -> tuple[Outcome, ...]:
    """Carry out creates and updates; the rest of what Git wants needs no request."""
    remember_settled(prepared, work.memory)
    writes = prepared.plan.of(ActionType.CREATE, ActionType.UPDATE)
    rest = map(foregone, prepared.plan.of(ActionType.UNCHANGED, ActionType.SKIP))
    if not writes:
        return tuple(rest)
    desired = prepared.desired.by_key
    applier = Applier(work, desired, prepared.observed, prepared.policy)
    graph = build_graph(writes, desired.keys())
    return (*_execute(work, writes, graph, applier.carry_out, Readiness(work).missing), *rest)


def prune(work: Work, prepared: Prepared) -> tuple[Outcome, ...]:
    """Carry out prunes, and take the marks off what is given up; the rest of what is kept needs no request."""
    kept = prepared.plan.of(ActionType.KEEP)
    actions = (*prepared.plan.of(ActionType.PRUNE), *(action for action in kept if action.write is not None))
    rest = map(foregone, (action for action in kept if action.write is None))
    if not actions:
        return tuple(rest)
    wanted = prepared.desired.by_key.keys()
    declared = prepared.desired.declared
    context = prune_context(wanted, prepared.observed, prepared.policy, declared)
    context = occupy(context, (action.key for action in kept))
    graph = build_graph(actions, prepared.inventory.keys).reversed()
    pruner = Pruner(work, context, prepared.observed.controllers)
    return (*_execute(work, actions, graph, pruner.carry_out), *rest)


def _execute(
    work: Work,
    actions: tuple[Action, ...],
    graph: Graph,
    carry_out: Callable[[Action], Outcome],
    missing: Callable[[ObjectKey], str] = lambda _: "",
) -> tuple[Outcome, ...]:
    pool, deadline = work.pool, work.deadline
    return execute(actions, graph, carry_out, pool=pool, width=PARALLEL_WRITES, deadline=deadline, missing=missing)


def remember_settled(prepared: Prepared, memory: Memory) -> None:
    """Remember which objects were found to need nothing, so that the next plan need not compare them."""
    desired = prepared.desired.by_key
    for action in prepared.plan.of(ActionType.UNCHANGED):
        key, version = action.key, prepared.observed.live[action.key].resource_version
        known, digest = memory.settled.get(key), desired[key].digest
        if known is None or known.desired != digest:
            memory.settled[key] = Settled(digest, version)
        elif known.resource_version != version:
            memory.settled[key] = known._replace(resource_version=version)


def foregone(action: Action) -> Outcome:
    """The outcome of an action that asks for no request; the object itself is let go, as most are of this sort."""
    if action.blocking:
        return Outcome(action, OutcomeStatus.FAILED, action.message, action.reason)
    return Outcome(replace(action, live=None) if action.live else action, OutcomeStatus.DONE)
