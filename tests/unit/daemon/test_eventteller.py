from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, cast

from syncd.daemon.ending import TERMINATING
from syncd.daemon.eventteller import EventTeller
from syncd.daemon.status import DriftRecord, ObjectStatus, SyncState, SyncStatus
from syncd.model import ActionType, DriftReason, FieldChange, ObjectKey, OutcomeStatus, Revision
from syncd.spec import parse_sync

if TYPE_CHECKING:
    from syncd.cluster.events import Note, Recorder

SYNC = parse_sync({"metadata": {"name": "shop"}, "spec": {"source": {"git": {"url": "https://git.example.com/a.git"}}}})
REVISION = Revision("main", "c" * 40, "t" * 40)
SECRET = FieldChange("data.password", "hunter2", "hunter3")


def key(name: str = "web") -> ObjectKey:
    return ObjectKey("shop", "apps", "Deployment", name)


def item(
    action: ActionType, name: str = "web", *, outcome: OutcomeStatus = OutcomeStatus.DONE, error: str = ""
) -> ObjectStatus:
    changes = (SECRET,) if action is ActionType.UPDATE else ()
    return ObjectStatus(key(name), action, "Changed", "Git says so", outcome, error, changes=changes)


def status(*items: ObjectStatus, error: str = "", reason: str = "Succeeded") -> SyncStatus:
    return SyncStatus(
        SYNC, state=SyncState.SYNCED, attempted=REVISION, reason=reason, error=error, objects=items, owner="owner-uid"
    )


class Told:
    """Notes what is told; stands for a recorder."""

    def __init__(self, uid: str = "sync-uid") -> None:
        self.notes: list[Note] = []
        self.teller = EventTeller(cast("Recorder", self), lambda _: None, lambda _: uid)

    def record(self, note: Note) -> None:
        self.notes.append(note)

    def forget(self, source: str) -> None:
        """Nothing to do."""

    def after(self, *statuses: SyncStatus) -> list[tuple[str, str, str]]:
        """The kinds, types and reasons of what the last of these statuses made be told."""
        for each in statuses:
            self.notes.clear()
            self.teller.status_changed(each)
            self.teller.reconciled(each)
        return [(note.regarding.kind, note.type, note.reason) for note in self.notes]


def test_an_uneventful_reconcile_tells_nothing() -> None:
    assert Told().after(status(item(ActionType.UNCHANGED)), status(item(ActionType.UNCHANGED))) == []


def test_what_changed_is_told_of_the_object_and_of_the_sync_without_values() -> None:
    told = Told()
    found = told.after(status(item(ActionType.CREATE, "a"), item(ActionType.UPDATE), item(ActionType.UNCHANGED, "b")))
    assert found == [
        ("Deployment", "Normal", "Created"),
        ("Deployment", "Normal", "Updated"),
        ("Sync", "Normal", "Applied"),
    ]
    assert "data.password" in told.notes[1].text
    assert told.notes[2].text == (
        "main@cccccccccccc: 1 created, 1 updated: Deployment.apps shop/a, Deployment.apps shop/web"
    )
    assert "hunter" not in "".join(note.text for note in told.notes)


def test_failures_come_first_and_the_number_is_bounded() -> None:
    many = [item(ActionType.CREATE, f"web{number}") for number in range(100)]
    failed = item(ActionType.UPDATE, "bad", outcome=OutcomeStatus.FAILED, error="no")
    given_up = item(ActionType.UPDATE, "late", outcome=OutcomeStatus.ABANDONED, error="a newer commit came")
    told = Told()
    found = told.after(status(*many, failed, given_up, error="no", reason="ApplyFailed"))
    assert found[0] == ("Deployment", "Warning", "Changed")
    assert found[-2:] == [("Sync", "Warning", "ApplyFailed"), ("Sync", "Normal", "Applied")]
    assert len(found) == 12


def test_a_recovery_is_told_once() -> None:
    bad, good = status(error="Git is away", reason="SourceUnreachable"), status()
    told = Told()
    assert told.after(bad) == [("Sync", "Warning", "SourceUnreachable")]
    assert told.after(good) == [("Sync", "Normal", "Recovered")]
    assert told.after(good) == []


def test_held_prunes_are_told_when_that_is_new() -> None:
    held = replace(status(), prune_held="51 objects are too many")
    told = Told()
    assert told.after(held) == [("Sync", "Warning", "PruneHeld")]
    assert told.after(held) == []


def test_a_failure_before_the_plan_does_not_tell_again_what_came_before() -> None:
    made = item(ActionType.CREATE)
    unknown = replace(status(made, error="away", reason="SourceUnreachable"), state=SyncState.UNKNOWN)
    ending = status(made, error="it holds data", reason=TERMINATING)
    assert Told().after(unknown) == [("Sync", "Warning", "SourceUnreachable")]
    assert Told().after(ending) == [("Sync", "Warning", TERMINATING)]


def test_drift_says_who_did_what_and_no_value() -> None:
    told = Told()
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    told.teller.drift_found(SYNC, DriftRecord(key(), DriftReason.CHANGED, moment, (SECRET,), "kubectl-edit"))
    assert [note.regarding.kind for note in told.notes] == ["Deployment", "Sync"]
    assert told.notes[1].text == "Deployment.apps shop/web: changed by kubectl-edit: data.password"


def test_a_sync_from_a_file_has_its_events_on_its_apply_config_object() -> None:
    told = Told(uid="")
    assert told.after(status(item(ActionType.CREATE)))[-1] == ("ConfigMap", "Normal", "Applied")
    assert told.notes[-1].regarding.uid == "owner-uid"
