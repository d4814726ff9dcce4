from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from syncd.daemon import objectstatus
from syncd.daemon.ending import TERMINATING
from syncd.daemon.objectstatus import Subject
from syncd.daemon.status import Counts, DriftRecord, HistoryEntry, SyncState, SyncStatus
from syncd.health import Health
from syncd.model import DriftReason, ObjectKey, Revision
from syncd.spec import parse_sync
from syncd.spec.status import ERRORS_SHOWN, HISTORY_SHOWN, NAMES_SHOWN, SyncObjectStatus

SYNC = parse_sync({"metadata": {"name": "shop"}, "spec": {"source": {"git": {"url": "https://git.example.com/a.git"}}}})
REVISION = Revision("main", "c" * 40, "t" * 40)
NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
LATER = NOW + timedelta(minutes=5)
DONE = SyncStatus(
    SYNC,
    state=SyncState.SYNCED,
    health=Health.HEALTHY,
    attempted=REVISION,
    applied=REVISION,
    reason="Succeeded",
    last_attempt=NOW,
    inventory_size=3,
    history=(HistoryEntry(NOW, REVISION, Counts(created=3), 1.0),),
)
FAILED = replace(DONE, state=SyncState.OUT_OF_SYNC, reason="ApplyFailed", error="no", problems=("no",))
NEW = SyncObjectStatus()


def key(number: int = 0) -> ObjectKey:
    return ObjectKey("shop", "apps", "Deployment", f"web{number}")


def after(
    status: SyncStatus, before: SyncObjectStatus = NEW, *, now: datetime = NOW, generation: int = 1
) -> SyncObjectStatus:
    return objectstatus.reconciled(Subject(generation, before), status, now)


def conditions(status: SyncObjectStatus) -> dict[str, tuple[str, str]]:
    return {condition.type: (condition.status, condition.reason) for condition in status.conditions}


@pytest.mark.parametrize(
    ("status", "ready", "reconciling"),
    [
        (DONE, "True", "False"),
        (replace(DONE, state=SyncState.OUT_OF_SYNC, reason="DriftReported"), "True", "False"),
        (FAILED, "False", "True"),
        (replace(DONE, reason="Progressing", message="waiting for Deployment shop/web"), "Unknown", "True"),
        (replace(DONE, reason="Pruning", state=SyncState.OUT_OF_SYNC), "Unknown", "True"),
        (replace(DONE, reason="PruneHeld", prune_held="51 objects", state=SyncState.OUT_OF_SYNC), "False", "False"),
        (replace(DONE, reason=TERMINATING), "False", "True"),
    ],
)
def test_conditions_say_what_kstatus_understands(status: SyncStatus, ready: str, reconciling: str) -> None:
    found = conditions(after(status))
    assert found["Ready"] == (ready, status.reason)
    assert found["Reconciling"][0] == reconciling
    assert found["Stalled"][0] == "False"
    assert found["Drifted"] == ("False", "NoDrift")


def test_an_uneventful_reconcile_changes_nothing() -> None:
    first = after(replace(DONE, counts=Counts(created=3)))
    later = replace(DONE, counts=Counts(unchanged=3), last_attempt=LATER, last_success=LATER, next_attempt=LATER)
    again = replace(later, durations={"total": 2.0})
    assert after(again, first, now=LATER) == first


def test_a_condition_keeps_since_when_it_is_so() -> None:
    first = after(DONE)
    second = after(replace(DONE, applied=REVISION._replace(commit="d" * 40)), first, now=LATER, generation=2)
    failed = after(FAILED, second, now=LATER)
    times = {item.type: item.last_transition_time for item in second.conditions}
    assert set(times.values()) == {"2026-01-01T12:00:00Z"}
    assert (
        next(item for item in failed.conditions if item.type == "Ready").last_transition_time == "2026-01-01T12:05:00Z"
    )
    assert second.observed_generation == 2


def test_an_object_that_does_not_hold_is_stalled() -> None:
    found = objectstatus.invalid(Subject(4, after(DONE)), ("spec.path: is bad",), NOW)
    assert conditions(found)["Stalled"] == ("True", "InvalidSync")
    assert conditions(found)["Ready"] == ("False", "InvalidSync")
    assert found.observed_generation == 4
    assert found.applied is not None


def test_what_is_suspended_keeps_what_was_said_of_it() -> None:
    found = objectstatus.pending(Subject(2, after(DONE)), LATER, suspended=True)
    assert conditions(found)["Ready"] == ("True", "Succeeded")
    assert conditions(found)["Reconciling"] == ("False", "Suspended")
    assert found.observed_generation == 2
    fresh = objectstatus.pending(Subject(1, NEW), NOW, suspended=True)
    assert conditions(fresh)["Ready"] == ("Unknown", "Suspended")


def test_a_new_generation_is_in_progress_and_not_observed_yet() -> None:
    found = objectstatus.pending(Subject(2, after(DONE)), LATER, suspended=False)
    assert conditions(found)["Reconciling"] == ("True", "Pending")
    assert found.observed_generation == 1


def drift(number: int = 0, *, since: datetime = NOW, corrected: datetime | None = None) -> DriftRecord:
    return DriftRecord(key(number), DriftReason.CHANGED, since, (), "kubectl-edit", "Update", corrected)


def test_drift_says_who_and_since_when() -> None:
    found = after(replace(DONE, drift=(drift(), drift(1, since=LATER), drift(2, corrected=LATER))))
    assert (found.drift.count, found.drift.since) == (2, "2026-01-01T12:00:00Z")
    condition = next(item for item in found.conditions if item.type == "Drifted")
    assert condition.status == "True"
    assert condition.message == (
        "Deployment.apps shop/web0 changed by kubectl-edit at 2026-01-01T12:00:00Z; and 1 more"
    )


def test_a_restart_forgets_neither_since_when_nor_history_nor_what_was_applied() -> None:
    before = after(replace(DONE, drift=(drift(), drift(1, corrected=NOW)), failing_since=NOW))
    restarted = SyncStatus(SYNC, reason="Failed", error="no", failing_since=LATER, drift=(drift(since=LATER),))
    found = after(restarted, before, now=LATER)
    assert found.drift.since == "2026-01-01T12:00:00Z"
    assert [item.object for item in found.drift.objects] == [str(key()), str(key(1))]
    assert found.history == before.history
    assert found.applied == before.applied
    assert found.failing_since == "2026-01-01T12:00:00Z"


def test_failures_that_repeat_are_one_entry_of_history() -> None:
    def failures(*minutes: int) -> SyncStatus:
        entries = (HistoryEntry(NOW + timedelta(minutes=at), REVISION, Counts(), 1.0, "no") for at in minutes)
        return replace(FAILED, history=tuple(entries))

    first = after(failures(2, 1), after(DONE))
    assert [entry.time for entry in first.history] == ["2026-01-01T12:01:00Z", "2026-01-01T12:00:00Z"]
    forgotten = after(failures(9, 8, 7), first)
    assert forgotten.history == first.history


def test_held_prunes_name_what_an_approval_has_to_say() -> None:
    status = replace(
        DONE, reason="PruneHeld", prune_held="too many", prune_candidates=tuple(key(number) for number in range(60))
    )
    held = after(status).held_prunes
    assert held is not None
    assert held.count == 60
    assert len(held.objects) == NAMES_SHOWN
    assert held.approval.startswith("c" * 40 + "/")


def test_everything_is_bounded() -> None:
    errors = tuple(f"{number} {'x' * 5000}" for number in range(1000))
    status = replace(
        FAILED,
        error=errors[0],
        problems=errors,
        prune_held="y" * 5000,
        prune_candidates=tuple(key(number) for number in range(1000)),
        drift=tuple(drift(number) for number in range(1000)),
        history=tuple(HistoryEntry(NOW, REVISION, Counts(), 1.0, error) for error in errors),
    )
    found = after(status)
    assert len(found.errors) == ERRORS_SHOWN
    assert len(found.history) == HISTORY_SHOWN
    assert found.drift.count == 1000
    document: Any = found.model_dump_json()
    assert len(document) < 40_000


def test_what_a_newer_syncd_wrote_can_be_read() -> None:
    document = after(DONE).model_dump(mode="json", by_alias=True, exclude_none=True)
    document["news"] = {"a": 1}
    document["drift"]["more"] = True
    assert SyncObjectStatus.model_validate(document) == after(DONE)


def test_another_process_knows_since_when() -> None:
    drift = (
        DriftRecord(key(1), DriftReason.CHANGED, NOW, manager="kubectl-edit"),
        DriftRecord(key(2), DriftReason.MISSING, NOW, corrected_at=LATER),
    )
    written = after(replace(FAILED, drift=drift, failing_since=NOW))
    recalled = objectstatus.recall(SYNC, written)
    assert recalled == SyncStatus(SYNC, drift=drift[:1], failing_since=NOW)
    assert objectstatus.recall(SYNC, NEW) == SyncStatus(SYNC)
