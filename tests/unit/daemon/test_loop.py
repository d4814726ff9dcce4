from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

import pytest
import structlog
from structlog.testing import capture_logs

from syncd.cluster.errors import TooManyRequestsError
from syncd.daemon.agenda import Cause
from syncd.daemon.board import StatusBoard
from syncd.daemon.loop import SyncLoop
from syncd.daemon.status import SyncState, SyncStatus
from syncd.engine.result import Reconciliation
from syncd.model import (
    Action,
    ActionType,
    Drift,
    DriftReason,
    ObjectKey,
    Outcome,
    OutcomeStatus,
    Plan,
    Revision,
    SyncdError,
)
from syncd.spec import parse_sync

if TYPE_CHECKING:
    from collections.abc import Callable

    from syncd.engine.deadline import Deadline
    from syncd.engine.reconcile import Reconciler
    from syncd.plan.settings import Restraint
    from syncd.spec import Sync


def make_sync(name: str, **spec: object) -> Sync:
    source = {"git": {"url": "https://git.example.com/a.git"}}
    return parse_sync({"metadata": {"name": name}, "spec": {"source": source, "interval": "1h", **spec}})


SYNC = make_sync("shop")
REVISION = Revision("main", "c" * 40, "t" * 40)


class FakeReconciler:
    """Counts what it is asked, and does as a test says in the middle of it."""

    def __init__(self, meanwhile: Callable[[], None] = lambda: None) -> None:
        self.meanwhile = meanwhile
        self.resolved = 0
        self.max_age = -1.0
        self.reconciled = 0
        self.revision = REVISION
        self.result = Reconciliation(REVISION, Plan())
        self.deadlines: list[Deadline] = []
        self.restraints: list[Restraint] = []

    def resolve(self, _sync: object, _deadline: object, max_age: float = 0.0) -> Revision:
        self.resolved += 1
        self.max_age = max_age
        return self.revision

    def reconcile(
        self, _sync: object, revision: Revision, _memory: object, deadline: Deadline, restraint: Restraint
    ) -> Reconciliation:
        self.reconciled += 1
        self.deadlines.append(deadline)
        self.restraints.append(restraint)
        self.meanwhile()
        return replace(self.result, revision=revision, interrupted=deadline.over)


class FakeLive:
    """Knows of no object."""

    def get(self, *_: object) -> None:
        return None

    def moment(self, *_: object) -> None:
        return None


class Harness:
    def __init__(
        self,
        meanwhile: Callable[[], None] = lambda: None,
        sync: Sync = SYNC,
        board: StatusBoard | None = None,
    ) -> None:
        self.woken: list[datetime] = []
        self.asked: list[str] = []
        self.reconciler = FakeReconciler(meanwhile)
        self.board = board or StatusBoard()
        self.loop = SyncLoop(
            sync,
            cast("Reconciler", self.reconciler),
            cast("Any", FakeLive()),
            self.board,
            wake=lambda _, moment: self.woken.append(moment),
            ask=self.asked.append,
        )


def status_of(harness: Harness) -> SyncStatus:
    status = harness.board.status("syncd/shop")
    assert status is not None
    return status


def seconds_until(moment: datetime) -> float:
    return (moment - datetime.now(UTC)).total_seconds()


def test_after_a_success_it_wakes_when_the_interval_is_over() -> None:
    harness = Harness()
    harness.loop.run()
    assert seconds_until(harness.woken[-1]) > 3000
    status = status_of(harness)
    assert status.next_attempt == harness.woken[-1]


def test_an_event_reconciles_what_is_known_without_asking_git() -> None:
    harness = Harness()
    harness.loop.run()
    harness.loop.trigger(Cause.EVENT)
    assert seconds_until(harness.woken[-1]) <= 0
    harness.loop.run()
    assert (harness.reconciler.resolved, harness.reconciler.reconciled) == (1, 2)


def test_every_reconcile_is_one_line_and_all_its_lines_say_what_it_is_about() -> None:
    bound: list[dict[str, Any]] = []
    harness = Harness(lambda: bound.append(structlog.contextvars.get_contextvars()))
    with capture_logs() as logs:
        harness.loop.run()
        harness.loop.trigger(Cause.EVENT)
        harness.loop.run()
    assert [(about["sync"], about["revision"]) for about in bound] == [("syncd/shop", "main@cccccccccccc")] * 2
    assert len({about["reconcile"] for about in bound}) == 2
    assert [(line["event"], line["causes"], "total" in line["seconds"]) for line in logs] == [
        ("reconciled", ["poll"], True),
        ("reconciled", ["event"], True),
    ]


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
    assert seconds_until(harness.woken[-1]) <= 0
    harness.loop.run()
    assert harness.reconciler.reconciled == 2


def test_two_never_run_at_once_and_no_wake_up_is_lost() -> None:
    harness = Harness()
    harness.reconciler.meanwhile = harness.loop.run
    harness.loop.run()
    assert harness.reconciler.reconciled == 1
    assert seconds_until(harness.woken[-1]) > 3000
    status = status_of(harness)
    assert status.reason == "Succeeded"


def test_a_newer_commit_ends_the_reconcile_under_way_and_is_taken_up_at_once() -> None:
    harness = Harness()

    def commit() -> None:
        harness.reconciler.revision = Revision("main", "d" * 40, "e" * 40)
        harness.loop.trigger(Cause.REQUEST)
        assert seconds_until(harness.woken[-1]) <= 0
        harness.loop.run()  # as the scheduler does with its second instance
        assert harness.reconciler.deadlines[-1].over

    harness.reconciler.meanwhile = commit
    harness.loop.run()
    status = status_of(harness)
    assert (status.reason, status.error, status.failures, status.applied) == ("Superseded", "", 0, None)
    assert seconds_until(harness.woken[-1]) <= 0
    harness.reconciler.meanwhile = lambda: None
    harness.loop.run()
    status = status_of(harness)
    assert (status.reason, status.applied) == ("Succeeded", harness.reconciler.revision)


def test_a_change_of_health_asks_neither_git_nor_the_plan() -> None:
    harness = Harness()
    harness.loop.run()
    harness.loop.trigger(Cause.HEALTH)
    harness.loop.run()
    assert (harness.reconciler.resolved, harness.reconciler.reconciled) == (1, 1)
    assert seconds_until(harness.woken[-1]) > 3000


def test_events_do_not_put_the_next_poll_off() -> None:
    harness = Harness()
    harness.loop.run()
    poll = harness.woken[-1]
    harness.loop.trigger(Cause.EVENT)
    harness.loop.run()
    assert harness.woken[-1] == poll


def test_a_server_that_asks_to_be_left_alone_is() -> None:
    def fail() -> None:
        raise TooManyRequestsError("later", retry_after=120)

    harness = Harness(fail)
    harness.loop.run()
    assert 120 <= seconds_until(harness.woken[-1]) + 1 <= 123


def repaired(manager: str) -> Reconciliation:
    action = Action(
        ActionType.UPDATE,
        ObjectKey("shop", "apps", "Deployment", "web"),
        "Drift",
        drift=Drift(DriftReason.CHANGED, (), manager),
    )
    return Reconciliation(REVISION, Plan((action,)), (Outcome(action, OutcomeStatus.DONE),))


def test_a_rival_is_named_and_repairs_of_its_object_alone_are_slowed_down() -> None:
    harness = Harness()
    harness.reconciler.result = repaired("horizontal-autoscaler")
    for _ in range(6):
        harness.loop.trigger(Cause.REQUEST)
        harness.loop.run()
    status = status_of(harness)
    assert status.reason == "TugOfWar"
    assert "horizontal-autoscaler and syncd change Deployment.apps shop/web in turns" in status.message
    assert [(fight.manager, fight.repairs) for fight in status.fights] == [("horizontal-autoscaler", 6)]
    assert {key.name for key in harness.reconciler.restraints[-1].resting} == {"web"}
    harness.loop.trigger(Cause.EVENT, ObjectKey("shop", "", "ConfigMap", "other"))
    assert seconds_until(harness.woken[-1]) <= 0


def test_a_failure_is_retried_soon_and_told() -> None:
    def fail() -> None:
        raise SyncdError("the API server is away")

    harness = Harness(fail)
    harness.loop.run()
    assert seconds_until(harness.woken[-1]) <= 1
    status = status_of(harness)
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
    harness.loop.trigger(Cause.REQUEST)
    harness.loop.run()
    assert harness.reconciler.reconciled == 2


def test_after_the_stop_it_asks_for_no_more() -> None:
    harness = Harness()
    harness.loop.stop()
    harness.loop.run()
    assert not harness.woken


def test_while_git_cannot_be_followed_the_last_good_revision_is_kept_to_and_the_status_says_so() -> None:
    harness = Harness()
    harness.loop.run()

    def gone(_sync: object, _deadline: object, max_age: float = 0.0) -> Revision:  # noqa: ARG001 - as it is called
        raise SyncdError("the repository is gone")

    harness.reconciler.resolve = gone  # type: ignore[method-assign]  # stands for a repository that goes away
    for cause in (Cause.POLL, Cause.EVENT):  # an event does not ask Git, and does not hide that it failed
        harness.loop.trigger(cause)
        harness.loop.run()
        status = harness.board.status("syncd/shop")
        assert status is not None
        assert (status.state, status.error) == (SyncState.UNKNOWN, "the repository is gone")
        assert status.applied == REVISION
    assert harness.reconciler.reconciled == 3
    del harness.reconciler.resolve
    harness.loop.trigger(Cause.REQUEST)
    harness.loop.run()
    status = harness.board.status("syncd/shop")
    assert status is not None
    assert (status.state, status.error, status.failures) == (SyncState.SYNCED, "", 0)


def test_it_waits_for_another_sync_and_is_woken_by_its_success_alone() -> None:
    base = SyncStatus(make_sync("base", source={"git": {"url": "https://git.example.com/b.git"}}))
    harness = Harness(sync=make_sync("shop", dependsOn=[{"name": "base"}]))
    harness.loop.run()
    assert status_of(harness).reason == "DependencyNotFound"
    harness.board.put(base)
    harness.loop.trigger(Cause.REQUEST)
    harness.loop.run()
    assert (status_of(harness).reason, status_of(harness).error) == ("DependencyNotReady", "")
    assert status_of(harness).message == "waits for syncd/base, which has not been applied yet"
    assert harness.reconciler.reconciled == 0
    woken = len(harness.woken)
    harness.board.put(replace(base, reconciling=True))
    assert len(harness.woken) == woken, "nothing that matters has changed"
    harness.board.put(replace(base, applied=REVISION, attempted=REVISION))
    assert seconds_until(harness.woken[-1]) <= 0
    harness.loop.run()
    assert (status_of(harness).reason, harness.reconciler.reconciled) == ("Succeeded", 1)
    woken = len(harness.woken)
    harness.board.put(base)
    assert len(harness.woken) == woken, "it waits no more"


def test_a_dependency_that_has_not_seen_the_commit_is_asked_to_look_once() -> None:
    harness = Harness(sync=make_sync("shop", dependsOn=[{"name": "base"}]))
    older = Revision("main", "b" * 40, "b" * 40)
    harness.board.put(SyncStatus(make_sync("base"), applied=older, attempted=older))
    for _ in range(2):
        harness.loop.trigger(Cause.REQUEST)
        harness.loop.run()
    assert harness.asked == ["syncd/base"]


def test_a_poll_may_share_an_answer_and_a_request_only_one_to_a_later_question() -> None:
    harness = Harness()
    harness.loop.run()
    assert harness.reconciler.max_age == SYNC.spec.interval / 4
    begin = time.monotonic()
    harness.loop.trigger(Cause.REQUEST)
    harness.loop.run()
    assert harness.reconciler.max_age <= time.monotonic() - begin
    harness.reconciler.meanwhile = fail
    for _ in range(2):
        harness.loop.trigger(Cause.POLL)
        harness.loop.run()
    assert harness.reconciler.max_age == 0


def fail() -> None:
    raise SyncdError("the API server is away")


def test_a_closed_window_is_handed_to_the_reconcile_and_its_end_wakes_the_sync() -> None:
    always = {"kind": "Deny", "schedule": "* * * * *", "duration": "1h"}
    harness = Harness(sync=make_sync("shop", windows=[always, {**always, "scope": "Correction"}]))
    harness.loop.run()
    restraint = harness.reconciler.restraints[-1]
    assert "the Deny window '* * * * *' (UTC) is open" in restraint.changes
    assert restraint.correction
    assert seconds_until(harness.woken[-1]) <= 60


def test_a_sync_that_no_longer_depends_on_another_is_not_woken_by_it() -> None:
    base = SyncStatus(make_sync("base", source={"git": {"url": "https://git.example.com/b.git"}}))
    before = Harness(sync=make_sync("shop", dependsOn=[{"name": "base"}]))
    before.board.put(base)
    before.loop.run()
    before.loop.stop()
    after = Harness(board=before.board)
    after.loop.run()
    woken = len(before.woken)
    before.board.put(replace(base, applied=REVISION, attempted=REVISION))
    assert len(before.woken) == woken
