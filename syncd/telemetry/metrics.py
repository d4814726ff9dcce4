"""Everything that ``/metrics`` exports; docs/reference/metrics.md says what each metric means."""

from __future__ import annotations

import platform
import time
from typing import TYPE_CHECKING, Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, disable_created_metrics

import syncd
from syncd.daemon.status import SyncState
from syncd.model import OutcomeStatus
from syncd.telemetry.gauges import SOURCE_REASONS
from syncd.telemetry.live import LiveCollector
from syncd.telemetry.syncs import SyncCollector

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from syncd.cluster import LiveCache
    from syncd.cluster.transport import Observation
    from syncd.daemon.status import DriftRecord, ObjectStatus, SyncStatus
    from syncd.spec import Sync

_STAGE_BUCKETS: Final = (0.02, 0.1, 0.5, 2.5, 10.0, 60.0, 300.0)
_APPLIED_BUCKETS: Final = (5.0, 15.0, 30.0, 60.0, 120.0, 300.0, 900.0, 3600.0, 14400.0)
_REQUEST_BUCKETS: Final = (0.01, 0.05, 0.25, 1.0, 5.0, 30.0)


class Telemetry:
    """The metrics of one daemon: told of what happens, asked by whoever scrapes. Safe to use from many threads.

    It listens to a daemon's board (:class:`syncd.daemon.status.Listener`) and observes requests.

    Attributes:
        registry: Holds every metric.
    """

    def __init__(self, registry: CollectorRegistry | None = None, clock: Callable[[], float] = time.time) -> None:
        # No second series for each counter, with the time of its birth: nothing here needs it.
        disable_created_metrics()  # type: ignore[no-untyped-call]  # the library forgot its types
        self.registry = registry or CollectorRegistry(auto_describe=False)
        self._syncs = SyncCollector(clock)
        self.registry.register(self._syncs)
        self._live = LiveCollector()
        self.registry.register(self._live)
        ProcessCollector(registry=self.registry)
        self._add_work()
        self._add_requests()
        self._add_leadership()
        build = Gauge(
            "syncd_build_info", "Always 1; the version is in the labels.", ("version", "python"), registry=self.registry
        )
        build.labels(syncd.__version__, platform.python_version()).set(1)

    def _add_work(self) -> None:
        registry = self.registry
        kind_of_action = ("action", "kind", "reason")
        self._actions = Counter(
            "syncd_actions", "Objects created, updated or pruned, over all Syncs.", kind_of_action, registry=registry
        )
        self._failures = Counter(
            "syncd_action_failures",
            "Actions that failed or were abandoned, over all Syncs; each try counts.",
            kind_of_action,
            registry=registry,
        )
        self._stages = Histogram(
            "syncd_reconcile_duration_seconds",
            "How long the stages of reconciles take: fetch, render, observe, plan, apply, prune, total; and wait, "
            "until the objects of a Sync with wait are healthy, or it waits no longer.",
            ("stage",),
            buckets=_STAGE_BUCKETS,
            registry=registry,
        )
        self._applied = Histogram(
            "syncd_commit_to_applied_seconds",
            "How long after a commit was made, by its own time, the reconcile ended that applied it. Not for what a "
            "Sync applies first, and not for commits that change nothing for it.",
            buckets=_APPLIED_BUCKETS,
            registry=registry,
        )
        self._polls = Counter(
            "syncd_git_polls",
            "Questions whether a repository has something new, by result: Succeeded, or the reason why not.",
            ("result",),
            registry=registry,
        )

    def _add_requests(self) -> None:
        registry = self.registry
        self._git = Counter(
            "syncd_git_requests",
            "Conversations with Git servers, by operation (ls-remote, fetch) and result (success, failure).",
            ("operation", "result"),
            registry=registry,
        )
        self._git_seconds = Histogram(
            "syncd_git_request_duration_seconds",
            "How long conversations with Git servers take.",
            ("operation",),
            buckets=_REQUEST_BUCKETS,
            registry=registry,
        )
        self._api = Counter(
            "syncd_api_requests",
            "Requests to the API server, each try; code is 0 when no answer came.",
            ("verb", "group", "resource", "code"),
            registry=registry,
        )
        self._api_seconds = Histogram(
            "syncd_api_request_duration_seconds",
            "How long requests to the API server take; for a watch, until it begins.",
            ("verb",),
            buckets=_REQUEST_BUCKETS,
            registry=registry,
        )

    def _add_leadership(self) -> None:
        self._leader = Gauge(
            "syncd_leader",
            "1 while this replica may write, 0 while it stands by. Without a leader election always 1.",
            registry=self.registry,
        )
        self._leader.set(1)
        self._leader_changes = Counter(
            "syncd_leader_changes",
            "How often this replica has acquired the leadership, lost it because it could not renew the lease in time, "
            "or released it when it ended, by change.",
            ("change",),
            registry=self.registry,
        )
        for change in ("acquired", "lost", "released"):
            self._leader_changes.labels(change)

    # --- told by the daemon's board ------------------------------------------------------------------------------

    def status_changed(self, status: SyncStatus) -> None:
        """A Sync's snapshot was replaced."""
        if (waited := self._syncs.update(status)) is not None:
            self._stages.labels("wait").observe(waited)

    def reconciled(self, status: SyncStatus) -> None:
        """A reconcile has ended."""
        self._syncs.count(status.id, "syncd_sync_reconciles", "failure" if status.error else "success")
        for stage, seconds in status.durations.items():
            self._stages.labels(stage).observe(seconds)
        if "fetch" in status.durations:
            self._polls.labels("Succeeded").inc()
        elif status.reason in SOURCE_REASONS:
            self._polls.labels(status.reason).inc()
        if (
            status.state is not SyncState.UNKNOWN
        ):  # else it came to nothing, and the objects are those of an earlier one
            for item in status.objects:
                self._count_action(status.id, item)
        if (age := self._syncs.newly_applied(status)) is not None:
            self._applied.observe(age)
        for record in self._syncs.new_corrections(status):
            self._count_drift("syncd_sync_drift_corrected", status.id, record)

    def _count_action(self, sync_id: str, item: ObjectStatus) -> None:
        failed = item.outcome is not OutcomeStatus.DONE
        if not failed and not item.action.changes_cluster:
            return  # most objects of most reconciles
        labels = (item.action.value, str(item.key.group_kind), item.reason)
        if failed:
            self._failures.labels(*labels).inc()
        else:
            self._actions.labels(*labels).inc()
            self._syncs.count(sync_id, "syncd_sync_actions", item.action.value)

    def drift_found(self, sync: Sync, record: DriftRecord) -> None:
        """A drift was noticed for the first time."""
        self._count_drift("syncd_sync_drift_found", sync.id, record)
        self._syncs.count_manager(sync.id, record)

    def _count_drift(self, counter: str, sync_id: str, record: DriftRecord) -> None:
        self._syncs.count(sync_id, counter, str(record.key.group_kind), record.reason.value)

    def sync_removed(self, sync_id: str) -> None:
        """A Sync is no more, and none of its series is."""
        self._syncs.remove(sync_id)

    # --- told by those who ask others ----------------------------------------------------------------------------

    def observe_request(self, observation: Observation) -> None:
        """Count one try of a request to the API server."""
        target = observation.target
        self._api.labels(target.verb, target.group, target.resource, str(observation.status)).inc()
        self._api_seconds.labels(target.verb).observe(observation.seconds)

    def observe_git(self, operation: str, seconds: float, *, failed: bool) -> None:
        """Count one conversation with a Git server.

        Args:
            operation: The Git command: ``ls-remote`` or ``fetch``.
            seconds: How long it took.
            failed: Whether it came to nothing.
        """
        self._git.labels(operation, "failure" if failed else "success").inc()
        self._git_seconds.labels(operation).observe(seconds)

    # --- what is read when somebody scrapes ----------------------------------------------------------------------

    def watch_live(self, caches: Callable[[], Iterable[LiveCache]]) -> None:
        """Export how well the live objects are known by these caches, and no longer by those that were given before."""
        self._live.caches = caches

    # --- told by the leader election -----------------------------------------------------------------------------

    def observe_leadership(self, change: str) -> None:
        """Count that this replica has acquired, lost or released the leadership."""
        self._leader_changes.labels(change).inc()

    def watch_leadership(self, leads: Callable[[], bool]) -> None:
        """Export whether this replica leads; without this, it always does."""
        self._leader.set_function(lambda: float(leads()))
