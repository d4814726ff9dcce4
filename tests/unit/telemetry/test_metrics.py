"""What /metrics tells, after what has happened."""

from __future__ import annotations

import dataclasses
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from syncd.cluster import KindStatus, Resource
from syncd.cluster.target import Target
from syncd.cluster.transport import Observation
from syncd.daemon.status import DriftRecord, SyncState, SyncStatus
from syncd.model import ActionType, DriftReason, ObjectKey, OutcomeStatus
from syncd.telemetry import Telemetry
from tests.unit.web import sample

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "metrics.md"


class FakeCache:
    """A live cache that watches Deployments with one failure."""

    def kinds(self) -> tuple[KindStatus, ...]:
        resource = Resource("apps", "v1", "Deployment", "deployments", True, frozenset({"list", "watch"}))
        return (KindStatus(resource, "deployments: timed out", 12, lists=2, watches=5, events=40, failures=1),)


@pytest.fixture
def clock() -> list[float]:
    return [1_000_000.0]


@pytest.fixture
def telemetry(clock: list[float]) -> Telemetry:
    return Telemetry(clock=lambda: clock[0])


def values(telemetry: Telemetry, name: str) -> dict[tuple[str, ...], float]:
    """Label values (sorted by label) to value."""
    text = generate_latest(telemetry.registry).decode()
    return {
        tuple(value for _, value in sorted(item.labels.items())): item.value
        for family in text_string_to_metric_families(text)
        for item in family.samples
        if item.name == name
    }


def one(telemetry: Telemetry, name: str) -> float:
    (value,) = values(telemetry, name).values()
    return value


def tell(telemetry: Telemetry, status: SyncStatus) -> SyncStatus:
    telemetry.status_changed(status)
    telemetry.reconciled(status)
    return status


def test_syncs_are_counted_by_state_and_every_state_is_there(telemetry: Telemetry) -> None:
    assert values(telemetry, "syncd_syncs") == {("Synced",): 0, ("OutOfSync",): 0, ("Unknown",): 0}
    for status in sample.believable().statuses():
        telemetry.status_changed(status)
    assert values(telemetry, "syncd_syncs") == {("Synced",): 8, ("OutOfSync",): 2, ("Unknown",): 2}


def test_a_change_of_state_changes_values_and_no_label(telemetry: Telemetry) -> None:
    status = tell(telemetry, sample.healthy("shop"))
    before = values(telemetry, "syncd_sync_state")
    tell(telemetry, dataclasses.replace(status, state=SyncState.OUT_OF_SYNC))
    after = values(telemetry, "syncd_sync_state")
    assert (before, after) == ({("syncd/shop",): 0}, {("syncd/shop",): 1})


def test_a_failing_sync_says_since_when_and_how_often(telemetry: Telemetry) -> None:
    status = tell(telemetry, sample.failing("shop"))
    assert status.failing_since
    assert one(telemetry, "syncd_sync_failing_since_timestamp_seconds") == status.failing_since.timestamp()
    assert one(telemetry, "syncd_sync_consecutive_failures") == 7
    assert one(telemetry, "syncd_sync_health") == 4
    assert values(telemetry, "syncd_sync_reconciles_total") == {("failure", "syncd/shop"): 1}
    tell(telemetry, sample.healthy("shop"))
    assert values(telemetry, "syncd_sync_failing_since_timestamp_seconds") == {}


def test_drift_that_is_there_has_kind_reason_and_the_age_of_the_oldest(telemetry: Telemetry) -> None:
    tell(telemetry, sample.drifted("shop"))
    assert values(telemetry, "syncd_sync_drift_objects") == {
        ("Deployment.apps", "changed", "syncd/shop"): 1,
        ("ConfigMap", "changed", "syncd/shop"): 1,
    }
    oldest = sample.ago(minutes=7).timestamp()
    assert one(telemetry, "syncd_sync_drift_oldest_timestamp_seconds") == oldest


def test_drift_is_counted_once_when_found_and_once_when_corrected(telemetry: Telemetry) -> None:
    status = sample.healthy("shop")
    record = DriftRecord(ObjectKey.parse("shop::Service:web"), DriftReason.MISSING, sample.NOW)
    telemetry.status_changed(status)
    telemetry.drift_found(status.sync, record)
    corrected = dataclasses.replace(record, corrected_at=sample.NOW + timedelta(seconds=1))
    for _ in range(3):
        tell(telemetry, dataclasses.replace(status, drift=(corrected,)))
    again = dataclasses.replace(record, corrected_at=sample.NOW + timedelta(seconds=9))
    tell(telemetry, dataclasses.replace(status, drift=(again, corrected)))
    key = ("Service", "missing", "syncd/shop")
    assert values(telemetry, "syncd_sync_drift_found_total") == {key: 1}
    assert values(telemetry, "syncd_sync_drift_corrected_total") == {key: 2}


def test_actions_and_failures_are_counted_by_kind_and_reason(telemetry: Telemetry) -> None:
    tell(telemetry, sample.failing("shop"))
    assert values(telemetry, "syncd_actions_total") == {("create", "Secret", "NotThere"): 1}
    assert values(telemetry, "syncd_action_failures_total") == {
        ("update", "Deployment.apps", "Changed"): 1,
        ("prune", "Job.batch", "LeftGit"): 1,
    }
    assert values(telemetry, "syncd_sync_actions_total") == {("create", "syncd/shop"): 1}


def test_a_reconcile_that_came_to_nothing_does_not_count_earlier_actions_again(telemetry: Telemetry) -> None:
    created = sample.make_object("::Namespace:shop", ActionType.CREATE, "NotThere")
    status = tell(telemetry, dataclasses.replace(sample.healthy("shop"), objects=(created,)))
    tell(telemetry, dataclasses.replace(status, state=SyncState.UNKNOWN, error="no git", reason="SourceFailed"))
    assert one(telemetry, "syncd_actions_total") == 1


def test_kept_pending_and_unhealthy_objects_are_counted_by_reason(telemetry: Telemetry) -> None:
    status = tell(telemetry, sample.failing("shop"))
    assert values(telemetry, "syncd_sync_kept_objects") == {("DeletionDetached", "syncd/shop"): 1}
    assert values(telemetry, "syncd_sync_pending_objects") == {
        ("Changed", "syncd/shop"): 1,
        ("LeftGit", "syncd/shop"): 1,
    }
    assert values(telemetry, "syncd_sync_unhealthy_objects") == {
        ("Degraded", "syncd/shop"): 1,
        ("Missing", "syncd/shop"): 1,
        ("Suspended", "syncd/shop"): 1,
    }
    done = [item for item in status.objects if item.outcome is OutcomeStatus.DONE]
    tell(telemetry, dataclasses.replace(status, objects=tuple(done)))
    assert values(telemetry, "syncd_sync_pending_objects") == {}


def test_drift_is_counted_by_who_made_it(telemetry: Telemetry) -> None:
    status = tell(telemetry, sample.drifted("shop"))
    assert values(telemetry, "syncd_sync_drift_manager_objects") == {
        ("k9s", "syncd/shop"): 1,
        ("kubectl-edit", "syncd/shop"): 1,
    }
    for record in status.drift:
        telemetry.drift_found(status.sync, record)
    found = values(telemetry, "syncd_sync_drift_manager_found_total")
    assert found == {("k9s", "syncd/shop"): 1, ("kubectl-edit", "syncd/shop"): 1, ("unknown", "syncd/shop"): 1}


def test_however_many_managers_write_only_some_are_named(telemetry: Telemetry) -> None:
    key = ObjectKey.parse("shop::ConfigMap:settings")
    records = tuple(DriftRecord(key, DriftReason.CHANGED, sample.NOW, manager=f"robot-{n}") for n in range(50))
    status = tell(telemetry, dataclasses.replace(sample.healthy("shop"), drift=records))
    for record in records:
        telemetry.drift_found(status.sync, record)
    for name in ("syncd_sync_drift_manager_objects", "syncd_sync_drift_manager_found_total"):
        found = values(telemetry, name)
        assert len(found) == 21
        assert found["other", "syncd/shop"] == 30


def test_a_repository_that_cannot_be_read_is_told_from_other_failures(telemetry: Telemetry) -> None:
    tell(telemetry, dataclasses.replace(sample.failing("git"), reason="RepositoryUnreachable"))
    tell(telemetry, sample.failing("apply"))
    assert values(telemetry, "syncd_sync_source_failing") == {("syncd/git",): 1, ("syncd/apply",): 0}


def test_the_inventory_and_what_may_be_pruned_stand_beside_their_limits(telemetry: Telemetry) -> None:
    kept = sample.make_object("shop:apps:Deployment:web", ActionType.KEEP, "BudgetExceeded")
    gone = sample.make_object("shop::ConfigMap:old", ActionType.PRUNE, "LeftGit")
    tell(telemetry, dataclasses.replace(sample.healthy("shop"), objects=(kept, gone), inventory_size=100))
    assert one(telemetry, "syncd_sync_inventory_bytes") == len("shop:apps:Deployment:web\n")
    assert one(telemetry, "syncd_inventory_limit_bytes") == 262144 - 4096
    assert one(telemetry, "syncd_sync_prune_budget_objects") == 30


def test_reconciles_that_run_and_that_wait_are_counted(telemetry: Telemetry, clock: list[float]) -> None:
    def due(name: str, seconds: float, *, reconciling: bool = False) -> None:
        moment = datetime.fromtimestamp(clock[0] + seconds, UTC)
        status = dataclasses.replace(sample.healthy(name), next_attempt=moment, reconciling=reconciling)
        telemetry.status_changed(status)

    assert one(telemetry, "syncd_reconciles_longest_wait_seconds") == 0
    due("late", -3)
    due("later", -7)
    due("running", -9, reconciling=True)
    due("in-time", 5)
    assert one(telemetry, "syncd_reconciles_running") == 1
    assert one(telemetry, "syncd_reconciles_waiting") == 2
    assert one(telemetry, "syncd_reconciles_longest_wait_seconds") == 7


def test_a_sync_behind_git_says_since_when(telemetry: Telemetry, clock: list[float]) -> None:
    status = tell(telemetry, sample.healthy("shop"))
    assert values(telemetry, "syncd_sync_behind_since_timestamp_seconds") == {}
    behind = dataclasses.replace(status, applied=sample.OLDER)
    tell(telemetry, behind)
    clock[0] += 60
    tell(telemetry, behind)
    assert one(telemetry, "syncd_sync_behind_since_timestamp_seconds") == clock[0] - 60
    elsewhere = sample.MAIN._replace(commit="f" * 40)
    tell(telemetry, dataclasses.replace(status, attempted=elsewhere))
    assert values(telemetry, "syncd_sync_behind_since_timestamp_seconds") == {}


def test_the_time_from_a_commit_to_its_being_live_is_measured_once(telemetry: Telemetry, clock: list[float]) -> None:
    def applies(tree: str, age: float, sync: str = "shop") -> None:
        revision = sample.MAIN._replace(tree=tree, committed=clock[0] - age)
        tell(telemetry, dataclasses.replace(sample.healthy(sync), attempted=revision, applied=revision))

    applies("first", 5_000_000)  # it was there before syncd
    applies("second", 40)
    applies("second", 50)  # the same, reconciled again
    applies("third", -10, "other")
    applies("fourth", -10, "other")  # a clock ahead of ours
    assert one(telemetry, "syncd_commit_to_applied_seconds_count") == 2
    assert one(telemetry, "syncd_commit_to_applied_seconds_sum") == 40


def test_polls_are_counted_by_result(telemetry: Telemetry) -> None:
    tell(telemetry, sample.healthy("shop"))
    tell(telemetry, dataclasses.replace(sample.unknown("shop"), reason="RepositoryUnreachable"))
    tell(telemetry, dataclasses.replace(sample.unknown("shop"), reason="InvalidManifest"))
    assert values(telemetry, "syncd_git_polls_total") == {("Succeeded",): 1, ("RepositoryUnreachable",): 1}


def test_requests_are_counted_by_verb_resource_and_code(telemetry: Telemetry) -> None:
    for status in (200, 200, 0):
        telemetry.observe_request(Observation(Target("patch", "apps", "deployments"), status, 0.02))
    telemetry.observe_git("ls-remote", 0.3, failed=False)
    telemetry.observe_git("fetch", 3, failed=True)
    assert values(telemetry, "syncd_api_requests_total") == {
        ("200", "apps", "deployments", "patch"): 2,
        ("0", "apps", "deployments", "patch"): 1,
    }
    assert one(telemetry, "syncd_api_request_duration_seconds_count") == 3
    assert values(telemetry, "syncd_git_requests_total") == {("ls-remote", "success"): 1, ("fetch", "failure"): 1}


def test_the_live_cache_is_read_when_somebody_scrapes(telemetry: Telemetry) -> None:
    telemetry.watch_live(lambda: [FakeCache()])  # type: ignore[list-item]  # all that is used of a LiveCache
    assert values(telemetry, "syncd_live_objects") == {("Deployment.apps",): 12}
    assert values(telemetry, "syncd_live_in_doubt") == {("Deployment.apps",): 1}
    assert values(telemetry, "syncd_live_watches_total") == {("Deployment.apps",): 5}


def test_a_kind_that_several_identities_watch_is_one_series(telemetry: Telemetry) -> None:
    telemetry.watch_live(lambda: [FakeCache(), FakeCache()])  # type: ignore[list-item]  # all that is used of it
    assert values(telemetry, "syncd_live_objects") == {("Deployment.apps",): 24}
    assert values(telemetry, "syncd_live_in_doubt") == {("Deployment.apps",): 1}
    telemetry.watch_live(tuple)
    assert values(telemetry, "syncd_live_objects") == {}


def test_a_daemon_leads_unless_an_election_says_otherwise(telemetry: Telemetry) -> None:
    assert values(telemetry, "syncd_leader") == {(): 1}
    leads = False
    telemetry.watch_leadership(lambda: leads)
    assert values(telemetry, "syncd_leader") == {(): 0}
    leads = True
    telemetry.observe_leadership("acquired")
    assert values(telemetry, "syncd_leader") == {(): 1}
    assert values(telemetry, "syncd_leader_changes_total") == {("acquired",): 1, ("lost",): 0, ("released",): 0}


def test_a_wait_for_healthy_objects_is_a_time_and_then_a_duration(telemetry: Telemetry, clock: list[float]) -> None:
    began = datetime.fromtimestamp(clock[0], UTC)
    waiting = tell(telemetry, dataclasses.replace(sample.healthy("shop"), waiting_since=began))
    assert one(telemetry, "syncd_sync_waiting_since_timestamp_seconds") == clock[0]
    clock[0] += 40
    telemetry.status_changed(waiting)
    assert ("wait",) not in values(telemetry, "syncd_reconcile_duration_seconds_sum")
    telemetry.status_changed(dataclasses.replace(waiting, waiting_since=None))
    assert values(telemetry, "syncd_reconcile_duration_seconds_sum")["wait",] == 40
    assert values(telemetry, "syncd_sync_waiting_since_timestamp_seconds") == {}


def test_the_applied_commit_is_known_by_its_time(telemetry: Telemetry) -> None:
    status = sample.healthy("shop")
    assert status.applied
    tell(telemetry, dataclasses.replace(status, applied=status.applied._replace(committed=999_000.0)))
    assert one(telemetry, "syncd_sync_applied_commit_timestamp_seconds") == 999_000


def test_all_series_of_a_sync_go_with_it(telemetry: Telemetry) -> None:
    for name in ("shop", "other"):
        status = tell(telemetry, sample.failing(name))
        tell(telemetry, sample.drifted(name))
        telemetry.drift_found(status.sync, DriftRecord(ObjectKey("", "", "X", "y"), DriftReason.CHANGED, sample.NOW))
    telemetry.sync_removed("syncd/shop")
    telemetry.drift_found(sample.make_sync("shop"), sample.drifted("shop").drift[0])
    text = generate_latest(telemetry.registry).decode()
    assert "syncd/shop" not in text
    assert "syncd/other" in text


def test_no_series_is_of_a_single_object(telemetry: Telemetry) -> None:
    for status in sample.believable().statuses():
        tell(telemetry, status)
    text = generate_latest(telemetry.registry).decode()
    assert not re.search(r"worker|settings|migrate-41", text)


def test_counters_have_no_second_series(telemetry: Telemetry) -> None:
    tell(telemetry, sample.healthy("shop"))
    assert "_created" not in generate_latest(telemetry.registry).decode()


def test_two_daemons_in_one_process_do_not_share_metrics(telemetry: Telemetry) -> None:
    tell(telemetry, sample.healthy("shop"))
    assert values(Telemetry(CollectorRegistry()), "syncd_sync_state") == {}


def exported(telemetry: Telemetry) -> dict[str, tuple[str, str]]:
    """Type and labels by name, as far as every metric has had something to tell."""
    telemetry.watch_live(lambda: [FakeCache()])  # type: ignore[list-item]  # all that is used of a LiveCache
    for status in sample.believable().statuses():
        tell(telemetry, status)
        for record in status.drift:
            telemetry.drift_found(status.sync, record)
    telemetry.observe_request(Observation(Target("patch", "apps", "deployments"), 200, 0.02))
    telemetry.observe_git("ls-remote", 0.3, failed=False)
    older = sample.OLDER._replace(committed=sample.NOW.timestamp())
    behind = dataclasses.replace(sample.healthy("behind"), applied=older, waiting_since=sample.NOW)
    tell(telemetry, behind)
    found = {}
    for family in telemetry.registry.collect():
        if family.name.startswith("syncd_"):
            assert family.samples, f"{family.name} had nothing to tell"
            labels = sorted(family.samples[0].labels.keys() - {"le"})
            name = family.name + ("_total" if family.type == "counter" else "")
            found[name] = (family.type, ", ".join(labels))
    return found


def test_the_reference_page_has_every_metric_with_its_type_and_labels(telemetry: Telemetry) -> None:
    rows = re.findall(r"^\| `(syncd_\w+)` \| (\w+) \| ([^|]*) \|", PAGE.read_text(), re.MULTILINE)
    documented = {name: (kind, ", ".join(sorted(re.findall(r"\w+", labels)))) for name, kind, labels in rows}
    assert documented == exported(telemetry)
