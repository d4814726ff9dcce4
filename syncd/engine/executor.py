"""Carrying out the actions of one direction along their graph, in parallel wherever no edge forbids."""

from __future__ import annotations

import heapq
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import replace
from graphlib import TopologicalSorter
from typing import TYPE_CHECKING, Final

from syncd.model import Action, ActionType, ObjectKey, Outcome, OutcomeStatus
from syncd.plan.ranks import rank

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from concurrent.futures import Executor

    from syncd.engine.deadline import Deadline
    from syncd.plan.order import Graph


WAITS: Final = "DependencyNotReady"
"""The reason of what is not done yet because what it depends on is not healthy."""


def execute(
    actions: Iterable[Action],
    graph: Graph,
    carry_out: Callable[[Action], Outcome],
    *,
    pool: Executor,
    width: int,
    deadline: Deadline,
    missing: Callable[[ObjectKey], str] = lambda _: "",
) -> tuple[Outcome, ...]:
    """Carry out each action once all that it waits for has ended.

    Args:
        actions: At most one for each object.
        graph: Who waits for whom; edges to objects without an action count as done.
        carry_out: Does one action; must not raise.
        pool: Where actions run.
        width: How many run at once.
        missing: What is missing until an object is healthy, "" if nothing is; asked of what ``depends-on`` names.
        deadline: Once over, nothing new is begun, and the rest is abandoned.

    Returns:
        One outcome for each action, in no particular order.
    """
    return _Run({action.key: action for action in actions}, graph, carry_out, deadline, missing).run(pool, width)


def waiting(action: Action, why: str) -> Action:
    """What becomes of an action that has to wait until something is healthy: nothing, for this time."""
    return replace(action, type=ActionType.SKIP, reason=WAITS, message=why, write=None)


class _Run:
    def __init__(
        self,
        actions: dict[ObjectKey, Action],
        graph: Graph,
        carry_out: Callable[[Action], Outcome],
        deadline: Deadline,
        missing: Callable[[ObjectKey], str],
    ) -> None:
        self._actions = actions
        self._graph = graph
        self._carry_out = carry_out
        self._deadline = deadline
        self._missing = missing
        self._outcomes: dict[ObjectKey, Outcome] = {}
        self._running: dict[Future[Outcome], ObjectKey] = {}
        self._ready: list[tuple[int, ObjectKey]] = []
        empty: frozenset[ObjectKey] = frozenset()
        self._sorter = TopologicalSorter(
            {
                key: (graph.hard.get(key, empty) | graph.soft.get(key, empty)) & actions.keys()
                for key in actions
                if key not in graph.broken
            }
        )

    def run(self, pool: Executor, width: int) -> tuple[Outcome, ...]:
        self._sorter.prepare()
        for key, problem in self._graph.broken.items():
            if key in self._actions:
                self._record(key, Outcome(self._actions[key], OutcomeStatus.FAILED, problem, "InvalidDependency"))
        while self._sorter.is_active():
            for key in self._sorter.get_ready():
                heapq.heappush(self._ready, (rank(key), key))
            while self._ready and len(self._running) < width:
                self._begin(heapq.heappop(self._ready)[1], pool)
            if self._running:
                for future in wait(self._running, return_when=FIRST_COMPLETED).done:
                    self._end(self._running.pop(future), future.result())
        return tuple(self._outcomes.values())

    def _begin(self, key: ObjectKey, pool: Executor) -> None:
        """Start one action, or abandon it if there is no use in trying."""
        action = self._actions.get(key)
        if action is None or key in self._outcomes:
            self._sorter.done(key)  # a broken object that others wait for: it has its outcome already
            return
        obstacle = self._obstacle(key)
        if obstacle:
            self._end(key, Outcome(action, OutcomeStatus.ABANDONED, obstacle, "DependencyFailed"))
        elif self._deadline.over:
            why = "the reconcile was stopped before its turn"
            self._end(key, Outcome(action, OutcomeStatus.ABANDONED, why, "Stopped"))
        elif waits := self._wait(key):
            self._end(key, Outcome(waiting(action, waits), OutcomeStatus.DONE))
        else:
            self._running[pool.submit(self._carry_out, action)] = key

    def _obstacle(self, key: ObjectKey) -> str:
        """What failed without which this object cannot be, if anything."""
        for needed in sorted(self._graph.hard.get(key, ())):
            outcome = self._outcomes.get(needed)
            if outcome is not None and outcome.status is not OutcomeStatus.DONE:
                return f"it needs {needed.display()}, which failed"
        return ""

    def _wait(self, key: ObjectKey) -> str:
        """What is not healthy yet, or waits itself, and has to come before this object, if anything."""
        for needed in sorted(self._graph.healthy.get(key, ())):
            if missing := self._missing(needed):
                return f"waits for {needed.display()}, which {missing}"
        for needed in sorted(self._graph.hard.get(key, ())):
            outcome = self._outcomes.get(needed)
            if outcome is not None and outcome.action.reason == WAITS:
                return f"waits for {needed.display()}, which waits too"
        return ""

    def _end(self, key: ObjectKey, outcome: Outcome) -> None:
        self._record(key, outcome)
        self._sorter.done(key)

    def _record(self, key: ObjectKey, outcome: Outcome) -> None:
        self._outcomes[key] = outcome
