from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

import pytest

from syncd.daemon.board import StatusBoard
from syncd.daemon.loop import Cause, SyncLoop
from syncd.engine.result import Reconciliation
from syncd.model import Plan, Revision, SyncdError
from syncd.spec import parse_sync

if TYPE_CHECKING:
    from collections.abc import Callable

    from syncd.engine.reconcile import Reconciler

SYNC = parse_sync(
    {
        "metadata": {"name": "shop"},
        "spec": {"source": {"git": {"url": "https://git.example.com/a.git"}}, "interval": "1h"},
    }
)
REVISION = Revision("main", "c" * 40, "t" * 40)


class FakeReconciler:
    """Counts what it is asked, and does as a test says in the middle of it."""

    def __init__(self, meanwhile: Callable[[], None] = lambda: None) -> None:
        self.meanwhile = meanwhile
        self.resolved = 0
        self.reconciled = 0

    def resolve(self, *_: object) -> Revision:
        self.resolved += 1
        return REVISION

    def reconcile(self, *_: object) -> Reconciliation:
        self.reconciled += 1
        self.meanwhile()
        return Reconciliation(REVISION, Plan())


class Harness:
    def __init__(self, meanwhile: Callable[[], None] = lambda: None) -> None:
        self.woken: list[datetime] = []
        self.reconciler = FakeReconciler(meanwhile)
        self.board = StatusBoard()
        self.loop = SyncLoop(
            SYNC,
            cast("Reconciler", self.reconciler),
            cast("Any", None),
            self.board,
            wake=lambda _, moment: self.woken.append(moment),
        )


def seconds_until(moment: datetime) -> float:
    return (moment - datetime.now(UTC)).total_seconds()


def test_after_a_success_it_wakes_when_the_interval_is_over() -> None:
    harness = Harness()
    harness.loop.run()
    assert seconds_until(harness.woken[-1]) > 3000
    status = harness.board.status("syncd/shop")
    assert status is not None
    assert status.next_attempt == harness.woken[-1]


def test_an_event_reconciles_what_is_known_without_asking_git() -> None:
    harness = Harness()
    harness.loop.run()
    harness.loop.trigger(Cause.EVENT)
    assert seconds_until(harness.woken[-1]) <= 0
    harness.loop.run()
    assert (harness.reconciler.resolved, harness.reconciler.reconciled) == (1, 2)


def test_a_request_asks_git() -> None:
    harness = Harness()
    harness.loop.run()
    harness.loop.trigger(Cause.REQUEST)
    harness.loop.run()
    assert harness.reconciler.resolved == 2


def test_a_cause_that_comes_while_it_runs_wakes_it_again_at_once() -> None:
    harness = Harness()
    harness.reconciler.meanwhile = lambda: harness.loop.trigger(Cause.EVENT)
    harness.loop.run()
    assert len(harness.woken) == 1
    assert seconds_until(harness.woken[-1]) <= 0


def test_two_never_run_at_once_and_no_wake_up_is_lost() -> None:
    harness = Harness()
    harness.reconciler.meanwhile = harness.loop.run
    harness.loop.run()
    assert harness.reconciler.reconciled == 1
    assert len(harness.woken) == 1


def test_a_failure_is_retried_soon_and_told() -> None:
    def fail() -> None:
        raise SyncdError("the API server is away")

    harness = Harness(fail)
    harness.loop.run()
    assert seconds_until(harness.woken[-1]) <= 1
    status = harness.board.status("syncd/shop")
    assert status is not None
    assert status.error == "the API server is away"


@pytest.mark.parametrize("place", ["reconcile", "listener"])
def test_even_a_defect_does_not_end_a_sync(place: str) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("a defect")

    harness = Harness(fail if place == "reconcile" else lambda: None)
    if place == "listener":
        setattr(harness.board, "drifted", fail)  # noqa: B010 - stands for any listener that fails
    harness.loop.run()
    assert harness.woken
    harness.loop.run()
    assert harness.reconciler.reconciled == 2


def test_after_the_stop_it_asks_for_no_more() -> None:
    harness = Harness()
    harness.loop.stop()
    harness.loop.run()
    assert not harness.woken
