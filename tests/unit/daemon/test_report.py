from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from syncd.daemon.ledger import DriftLedger
from syncd.daemon.report import after_error, after_look, after_reconcile
from syncd.daemon.status import SyncState, SyncStatus
from syncd.engine.result import Reconciliation
from syncd.health import Health, HealthStatus
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
from syncd.plan.prune import PRUNE_OFF
from syncd.spec import parse_sync

SYNC = parse_sync({"metadata": {"name": "shop"}, "spec": {"source": {"git": {"url": "https://git.example.com/a.git"}}}})
REVISION = Revision("main", "c" * 40, "t" * 40)
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def outcome(
    type_: ActionType,
    name: str = "a",
    *,
    reason: str = "",
    error: str = "",
    drift: Drift | None = None,
) -> Outcome:
    action = Action(type_, ObjectKey("shop", "", "ConfigMap", name), reason, drift=drift)
    return Outcome(action, OutcomeStatus.FAILED if error else OutcomeStatus.DONE, error)


def after(
    *outcomes: Outcome, held: str = "", interrupted: bool = False, before: SyncStatus | None = None
) -> SyncStatus:
    plan = Plan(tuple(item.action for item in outcomes), prune_held=held)
    result = Reconciliation(REVISION, plan, outcomes, {"total": 1.0}, interrupted=interrupted)
    return after_reconcile(before or SyncStatus(SYNC), result, lambda _: HealthStatus(Health.HEALTHY), NOW)


@pytest.mark.parametrize(
    ("status", "state", "reason"),
    [
        (after(outcome(ActionType.CREATE)), SyncState.SYNCED, "Succeeded"),
        (after(outcome(ActionType.UNCHANGED)), SyncState.SYNCED, "Succeeded"),
        (after(outcome(ActionType.KEEP, reason="PruneDisabled")), SyncState.SYNCED, "Succeeded"),
        (after(outcome(ActionType.KEEP, reason=PRUNE_OFF), held="off"), SyncState.SYNCED, "Succeeded"),
        (after(outcome(ActionType.KEEP, reason="BudgetExceeded"), held="too many"), SyncState.OUT_OF_SYNC, "PruneHeld"),
        (after(outcome(ActionType.KEEP, reason="Terminating")), SyncState.OUT_OF_SYNC, "Pruning"),
        (after(outcome(ActionType.SKIP, reason="DriftReported")), SyncState.OUT_OF_SYNC, "DriftReported"),
        (
            after(outcome(ActionType.SKIP, reason="DriftReported"), outcome(ActionType.KEEP), held="too many"),
            SyncState.OUT_OF_SYNC,
            "PruneHeld",
        ),
        (after(outcome(ActionType.SKIP, reason="WindowClosed")), SyncState.OUT_OF_SYNC, "WindowClosed"),
        (after(outcome(ActionType.CREATE, error="no")), SyncState.OUT_OF_SYNC, "ApplyFailed"),
        (after(outcome(ActionType.CREATE), interrupted=True), SyncState.OUT_OF_SYNC, "Stopped"),
    ],
)
def test_the_state_says_how_the_cluster_compares_with_git(status: SyncStatus, state: SyncState, reason: str) -> None:
    assert (status.state, status.reason) == (state, reason)


def test_every_failure_is_reported_and_the_first_few_are_shown() -> None:
    status = after(*(outcome(ActionType.CREATE, str(number), error=f"error {number}") for number in range(5)))
    assert status.problems == tuple(f"error {number}" for number in range(5))
    assert status.error == "error 0; error 1; error 2; and 2 more"
    assert status.counts.failed == 5


def test_the_applied_revision_moves_only_with_success() -> None:
    assert after(outcome(ActionType.CREATE)).applied == REVISION
    failed = after(outcome(ActionType.CREATE, error="no"))
    assert (failed.applied, failed.attempted) == (None, REVISION)


def test_an_error_before_any_plan_leaves_the_state_unknown_and_the_objects_as_they_were() -> None:
    good = after(outcome(ActionType.CREATE))
    status = after_error(good, SyncdError("the repository is gone"), None, {}, NOW)
    assert status.state is SyncState.UNKNOWN
    assert status.error == "the repository is gone"
    assert status.objects == good.objects
    assert status.applied == REVISION


def test_failures_are_counted_since_the_first_until_the_next_success() -> None:
    one = after_error(SyncStatus(SYNC), SyncdError("no"), None, {}, NOW)
    two = after_error(one, SyncdError("no"), None, {}, NOW + timedelta(minutes=1))
    assert (two.failures, two.failing_since) == (2, NOW)
    well = after(outcome(ActionType.UNCHANGED), before=two)
    assert (well.failures, well.failing_since, well.error) == (0, None, "")


def test_an_uneventful_reconcile_leaves_no_history() -> None:
    assert not after(outcome(ActionType.UNCHANGED)).history
    assert len(after(outcome(ActionType.CREATE)).history) == 1


def test_the_worst_health_counts() -> None:
    plan = Plan()
    outcomes = (outcome(ActionType.UNCHANGED, "a"), outcome(ActionType.UNCHANGED, "b"))
    healths = {"a": Health.HEALTHY, "b": Health.DEGRADED}
    result = Reconciliation(REVISION, plan, outcomes)
    status = after_reconcile(SyncStatus(SYNC), result, lambda key: HealthStatus(healths[key.name]), NOW)
    assert status.health is Health.DEGRADED


def test_health_is_asked_again_only_of_what_may_have_changed_and_of_what_nobody_tells_about() -> None:
    outcomes = [outcome(ActionType.UNCHANGED, name) for name in "abc"] + [outcome(ActionType.SKIP, "foreign")]
    before = after(*outcomes)
    asked: list[str] = []

    def health(key: ObjectKey) -> HealthStatus:
        asked.append(key.name)
        return HealthStatus(Health.DEGRADED if key.name == "b" else Health.HEALTHY)

    looked = after_look(before, health, {before.objects[1].key})
    assert asked == ["b", "foreign"]
    assert [item.health for item in looked.objects] == [Health.HEALTHY, Health.DEGRADED, Health.HEALTHY, Health.HEALTHY]
    assert looked.health is Health.DEGRADED
    assert after_look(looked, health, set()).objects is looked.objects
    assert len(after_look(looked, health, None).objects) == len(asked) - 3


def test_what_is_worth_telling_about_a_revision_is_the_message_where_there_is_no_other() -> None:
    result = Reconciliation(REVISION._replace(news="the history of main was rewritten"), Plan(), ())
    status = after_reconcile(SyncStatus(SYNC), result, lambda _: HealthStatus(Health.HEALTHY), NOW)
    assert (status.state, status.message) == (SyncState.SYNCED, "the history of main was rewritten")


CHANGED = Drift(DriftReason.CHANGED, manager="kubectl-edit")


def test_drift_that_is_repaired_at_once_is_recorded_as_repaired() -> None:
    ledger = DriftLedger()
    (new,) = ledger.update([outcome(ActionType.UPDATE, drift=CHANGED)], NOW)
    assert (new.reason, new.manager, new.since) == (DriftReason.CHANGED, "kubectl-edit", NOW)
    (record,) = ledger.records()
    assert record.corrected_at == NOW


def test_reported_drift_stays_open_since_it_was_first_seen() -> None:
    ledger = DriftLedger()
    reported = outcome(ActionType.SKIP, reason="DriftReported", drift=CHANGED)
    ledger.update([reported], NOW)
    assert ledger.update([reported], NOW + timedelta(hours=1)) == ()
    (record,) = ledger.records()
    assert (record.since, record.corrected_at) == (NOW, None)
    again = DriftLedger(ledger.records())
    assert again.update([reported], NOW + timedelta(hours=2)) == ()
    assert again.records() == (record,)


def test_a_repair_that_failed_leaves_the_drift_open() -> None:
    ledger = DriftLedger()
    ledger.update([outcome(ActionType.UPDATE, drift=CHANGED, error="forbidden")], NOW)
    assert ledger.records()[0].corrected_at is None


def test_drift_that_went_away_by_itself_is_closed() -> None:
    ledger = DriftLedger()
    ledger.update([outcome(ActionType.SKIP, reason="DriftReported", drift=CHANGED)], NOW)
    ledger.update([outcome(ActionType.UNCHANGED)], NOW + timedelta(minutes=1))
    assert ledger.records()[0].corrected_at == NOW + timedelta(minutes=1)
