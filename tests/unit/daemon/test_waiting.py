from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from syncd.daemon.status import ObjectStatus, SyncState, SyncStatus
from syncd.daemon.waiting import await_health, ends_waiting
from syncd.health import Health
from syncd.model import ActionType, ObjectKey, OutcomeStatus, Revision
from syncd.spec import parse_sync

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

NOW = datetime(2026, 1, 1, tzinfo=UTC)
WEB = ObjectKey("shop", "apps", "Deployment", "web")
OTHER = ObjectKey("shop", "apps", "Deployment", "other")


def status(
    *healths: Health, wait: bool = True, tree: str = "a", action: ActionType = ActionType.UNCHANGED
) -> SyncStatus:
    source = {"git": {"url": "https://git.example.com/a.git"}}
    sync = parse_sync({"metadata": {"name": "shop"}, "spec": {"source": source, "wait": wait, "timeout": "5m"}})
    objects = tuple(
        ObjectStatus(key, action, "UpToDate", "", OutcomeStatus.DONE, health=health, health_message="0/1 ready")
        for key, health in zip((WEB, OTHER), healths, strict=False)
    )
    revision = Revision("main", "c" * 40, tree)
    return SyncStatus(sync, SyncState.SYNCED, applied=revision, reason="Succeeded", objects=objects)


class Explainer:
    def __init__(self) -> None:
        self.asked: list[ObjectKey] = []

    def __call__(self, keys: Sequence[ObjectKey]) -> Mapping[ObjectKey, Sequence[str]]:
        self.asked += keys
        return dict.fromkeys(keys, ("Warning event on Pod web-1: Failed: no such image",))


def test_a_sync_that_waits_has_not_succeeded_before_its_objects_are_healthy() -> None:
    explain = Explainer()
    waiting = await_health(status(), status(Health.PROGRESSING), explain, NOW)
    assert (waiting.reason, waiting.error) == ("Progressing", "")
    assert waiting.message == "waiting for Deployment.apps shop/web is Progressing: 0/1 ready"
    assert ends_waiting(waiting) == NOW + timedelta(minutes=5)
    done = await_health(waiting, replace(waiting, objects=status(Health.HEALTHY).objects), explain, NOW)
    assert (done.reason, done.message, done.last_success, ends_waiting(done)) == ("Succeeded", "", NOW, None)
    assert explain.asked == []


def test_one_that_does_not_wait_has_succeeded_all_the_same() -> None:
    assert await_health(status(), status(Health.DEGRADED, wait=False), Explainer(), NOW).reason == "Succeeded"


def test_when_patience_ends_the_report_names_the_object_and_its_events_once() -> None:
    explain = Explainer()
    waiting = await_health(status(), status(Health.PROGRESSING), explain, NOW)
    late = NOW + timedelta(minutes=5)
    failed = await_health(waiting, waiting, explain, late)
    assert failed.reason == "HealthCheckFailed"
    assert failed.error == (
        "not healthy after 300 s: Deployment.apps shop/web is Progressing: 0/1 ready; "
        "Warning event on Pod web-1: Failed: no such image"
    )
    assert (failed.failing_since, failed.failures, len(failed.history)) == (late, 0, 1)
    again = await_health(failed, status(Health.PROGRESSING), explain, late + timedelta(minutes=1))
    assert (again.error, again.failing_since) == (failed.error, late)
    assert explain.asked == [WEB], "it was read once, at the moment of reporting"


def test_what_cannot_become_healthy_by_itself_is_reported_at_once() -> None:
    failed = await_health(status(), status(Health.DEGRADED), Explainer(), NOW)
    assert failed.reason == "HealthCheckFailed"
    both = await_health(status(), status(Health.DEGRADED, Health.PROGRESSING), Explainer(), NOW)
    assert both.reason == "Progressing", "the second one may still get there"


def test_it_recovers_by_itself_and_a_new_tree_is_waited_for_anew() -> None:
    failed = await_health(status(), status(Health.DEGRADED), Explainer(), NOW)
    later = NOW + timedelta(hours=1)
    well = await_health(failed, replace(failed, objects=status(Health.HEALTHY).objects), Explainer(), later)
    assert (well.reason, well.error, well.failing_since) == ("Succeeded", "", None)
    anew = await_health(failed, status(Health.PROGRESSING, tree="b"), Explainer(), later)
    assert (anew.reason, anew.waiting_since) == ("Progressing", later)


def test_what_left_git_and_what_is_suspended_is_not_waited_for() -> None:
    kept = status(Health.DEGRADED, action=ActionType.KEEP)
    assert await_health(status(), kept, Explainer(), NOW).reason == "Succeeded"
    assert await_health(status(), status(Health.SUSPENDED), Explainer(), NOW).reason == "Succeeded"
