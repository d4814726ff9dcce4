from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from structlog.testing import capture_logs

from syncd.daemon.board import StatusBoard
from syncd.daemon.ending import TERMINATING, Ending
from syncd.daemon.removal import Removal
from syncd.daemon.status import ObjectStatus
from syncd.engine.inventory import InventoryForbiddenError
from syncd.model import Action, ActionType, ObjectKey, Outcome, OutcomeStatus, SyncdError
from syncd.spec import parse_sync

if TYPE_CHECKING:
    from datetime import datetime

    from syncd.engine.reconcile import Reconciler
    from syncd.spec import Sync

SYNC = parse_sync({"metadata": {"name": "shop"}, "spec": {"source": {"git": {"url": "https://git.example.com/a.git"}}}})
KEPT = Outcome(
    Action(ActionType.KEEP, ObjectKey("shop", "", "PersistentVolumeClaim", "data"), "Protected", "it holds data"),
    OutcomeStatus.DONE,
)
FORBIDDEN = InventoryForbiddenError("configmaps is forbidden")
STRAY = ObjectKey("elsewhere", "", "ConfigMap", "stray")


class Harness:
    """An ending whose tries give what a test says, one after the other."""

    def __init__(self, *results: tuple[Outcome, ...] | Exception, removal: Removal | None = None) -> None:
        self.results = list(results)
        self.policies: list[str] = []
        self.live = {STRAY: object()}
        self.woken: list[datetime] = []
        self.told: list[str] = []
        self.board = StatusBoard()
        self.ending = Ending(
            SYNC,
            cast("Reconciler", self),
            self.board,
            wake=lambda _, moment: self.woken.append(moment),
            ended=self.note,
            removal=lambda: removal or Removal(),
        )

    def destroy(self, sync: Sync, _: object) -> tuple[Outcome, ...]:
        self.policies.append(sync.spec.deletion_policy)
        result = self.results.pop(0)
        if isinstance(result, Exception):
            raise result
        return result

    def cluster_of(self, _: Sync) -> Any:
        return self

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


def test_removing_syncd_deletes_nothing() -> None:
    harness = Harness((), removal=Removal(definition=True))
    harness.ending.run()
    assert harness.policies == ["Orphan"]
    assert harness.told == ["ended"]


def test_while_it_is_not_known_what_is_being_removed_nothing_is_done() -> None:
    harness = Harness()

    def fail() -> Removal:
        raise FORBIDDEN

    harness.ending._removal = fail
    harness.ending.run()
    assert harness.policies == []
    assert harness.status.error == str(FORBIDDEN)


def test_a_right_that_is_missing_for_no_good_reason_is_told() -> None:
    harness = Harness(FORBIDDEN)
    harness.ending.run()
    assert harness.status.error == str(FORBIDDEN)
    assert not harness.told


def test_where_syncd_was_never_invited_a_sync_that_got_nowhere_goes() -> None:
    harness = Harness(FORBIDDEN, removal=Removal(untouched=True))
    harness.ending.run()
    assert harness.told == ["ended"]


def test_a_namespace_takes_the_sync_with_it_and_strays_are_named() -> None:
    harness = Harness(FORBIDDEN, removal=Removal(namespace=True))
    gone = ObjectKey("elsewhere", "", "ConfigMap", "gone")
    objects = tuple(
        ObjectStatus(key, ActionType.UNCHANGED, "", "", OutcomeStatus.DONE) for key in (STRAY, gone, KEPT.action.key)
    )
    harness.board.put(replace(harness.status, objects=objects, owner="uid"))
    with capture_logs() as logs:
        harness.ending.run()
    assert harness.told == ["ended"]
    (warning,) = [line for line in logs if line["log_level"] == "warning"]
    assert (warning["objects"], warning["apply_id"]) == ([str(STRAY)], "uid")


def test_what_stays_elsewhere_keeps_a_namespace_that_is_being_deleted() -> None:
    inside = replace(KEPT, action=replace(KEPT.action, key=KEPT.action.key._replace(namespace="syncd")))
    harness = Harness((inside, KEPT), (inside,), removal=Removal(namespace=True))
    harness.ending.run()
    assert harness.status.problems == ("PersistentVolumeClaim shop/data stays: it holds data",)
    harness.ending.run()
    assert harness.told == ["ended"]
