from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from syncd.daemon.board import StatusBoard
from syncd.daemon.ending import TERMINATING, Ending
from syncd.model import Action, ActionType, ObjectKey, Outcome, OutcomeStatus, SyncdError
from syncd.spec import parse_sync

if TYPE_CHECKING:
    from datetime import datetime

    from syncd.engine.reconcile import Reconciler

SYNC = parse_sync({"metadata": {"name": "shop"}, "spec": {"source": {"git": {"url": "https://git.example.com/a.git"}}}})
KEPT = Outcome(
    Action(ActionType.KEEP, ObjectKey("shop", "", "PersistentVolumeClaim", "data"), "Protected", "it holds data"),
    OutcomeStatus.DONE,
)


class Harness:
    """An ending whose tries give what a test says, one after the other."""

    def __init__(self, *results: tuple[Outcome, ...] | Exception) -> None:
        self.results = list(results)
        self.woken: list[datetime] = []
        self.told: list[str] = []
        self.board = StatusBoard()
        self.ending = Ending(
            SYNC,
            cast("Reconciler", self),
            self.board,
            wake=lambda _, moment: self.woken.append(moment),
            ended=self.note,
        )

    def destroy(self, *_: object) -> tuple[Outcome, ...]:
        result = self.results.pop(0)
        if isinstance(result, Exception):
            raise result
        return result

    def note(self) -> None:
        self.told.append("ended")

    @property
    def status(self) -> Any:
        return self.board.status("syncd/shop")


def test_when_nothing_is_left_it_is_told_once() -> None:
    harness = Harness(())
    harness.ending.run()
    harness.ending.run()
    assert harness.told == ["ended"]
    assert not harness.woken


def test_what_stays_is_told_and_tried_again() -> None:
    harness = Harness((KEPT,), ())
    harness.ending.run()
    assert harness.status.reason == TERMINATING
    assert harness.status.error == "PersistentVolumeClaim shop/data stays: it holds data"
    assert harness.status.next_attempt == harness.woken[-1]
    assert not harness.told
    harness.ending.run()
    assert harness.told == ["ended"]


def test_a_failure_or_a_defect_is_told_and_tried_again() -> None:
    harness = Harness(SyncdError("the API server is away"), RuntimeError("a defect"), ())
    harness.ending.run()
    assert harness.status.error == "the API server is away"
    since = harness.status.failing_since
    harness.ending.run()
    assert "a defect" in harness.status.error
    assert (harness.status.failures, harness.status.failing_since) == (2, since)
    harness.ending.run()
    assert harness.told == ["ended"]


def test_who_is_told_may_fail_and_is_told_again() -> None:
    harness = Harness((), ())
    told = []

    def fail_once() -> None:
        told.append(1)
        if len(told) == 1:
            raise SyncdError("the finalizer could not be taken away")

    harness.ending._ended = fail_once
    harness.ending.run()
    assert harness.status.error == "the finalizer could not be taken away"
    harness.ending.run()
    assert len(told) == 2
