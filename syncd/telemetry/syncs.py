"""What is exported of each Sync: computed when its status changes, written out when somebody scrapes.

State is in values and timestamps. A label never tells a state that changes, there is no series for a single object, and
all series of a Sync go when the Sync goes.
"""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from syncd.daemon.status import SyncState, SyncStatus
from syncd.inventory.applyconfig import LIST_LIMIT
from syncd.telemetry.gauges import OBJECTS, STATE, is_applied, manager_label

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from datetime import datetime

    from prometheus_client import Metric

    from syncd.daemon.status import DriftRecord
    from syncd.telemetry.gauges import Gauge, Sample

Labels = tuple[str, ...]

_COUNTERS: Final = {
    "syncd_sync_reconciles": ("Reconciles that ended, by result: success or failure.", ("result",)),
    "syncd_sync_actions": ("Objects created, updated or pruned.", ("action",)),
    "syncd_sync_drift_found": ("Drifts noticed, by kind and reason.", ("kind", "reason")),
    "syncd_sync_drift_manager_found": ("Drifts noticed, by the field manager that made them.", ("manager",)),
    "syncd_sync_drift_corrected": ("Drifts that are no longer there, by kind and reason.", ("kind", "reason")),
}


@dataclass(slots=True)
class _Series:
    """All series of one Sync."""

    status: SyncStatus
    state: list[list[Sample]] = field(default_factory=list)
    objects: list[list[Sample]] | None = None
    """None until somebody asks: they look at every object, and most changes are not looked at."""
    behind_since: float | None = None
    counters: dict[str, Counter[Labels]] = field(default_factory=lambda: {name: Counter() for name in _COUNTERS})
    newest_correction: datetime | None = None
    applied_tree: str = ""


class SyncCollector(Collector):
    """Keeps the series of all Syncs. Safe to use from many threads.

    Args:
        clock: Seconds since 1970.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._series: dict[str, _Series] = {}

    def update(self, status: SyncStatus) -> float | None:
        """Take a Sync's new status.

        Returns:
            Seconds for which it has waited for its objects to become healthy, if that has just ended.
        """
        state = [list(gauge.read(status)) for gauge in STATE]
        with self._lock:
            series = self._series.setdefault(status.id, _Series(status))
            began = series.status.waiting_since
            if series.status.objects is not status.objects:
                series.objects = None
            series.status, series.state = status, state
            if is_applied(status):
                series.behind_since = None
            elif series.behind_since is None:
                series.behind_since = self._clock()
        if began is None or status.waiting_since is not None:
            return None
        return max(0.0, self._clock() - began.timestamp())

    def count(self, sync_id: str, counter: str, *labels: str, by: int = 1) -> None:
        """Increase one of the counters of a Sync; of one that is not there (any more), nothing."""
        with self._lock:
            if by and sync_id in self._series:
                self._series[sync_id].counters[counter][labels] += by

    def count_manager(self, sync_id: str, record: DriftRecord) -> None:
        """Count a drift under the name of who made it."""
        with self._lock:
            if sync_id in self._series:
                counter = self._series[sync_id].counters["syncd_sync_drift_manager_found"]
                counter[(manager_label(record.manager, {name for (name,) in counter}),)] += 1

    def new_corrections(self, status: SyncStatus) -> list[DriftRecord]:
        """Drifts that were corrected since the last call for this Sync."""
        corrected = [record for record in status.drift if record.corrected_at is not None]
        with self._lock:
            series = self._series.get(status.id)
            if series is None:
                return []
            seen = series.newest_correction
            fresh = [one for one in corrected if one.corrected_at and (seen is None or one.corrected_at > seen)]
            series.newest_correction = max((one.corrected_at for one in fresh if one.corrected_at), default=seen)
            return fresh

    def newly_applied(self, status: SyncStatus) -> float | None:
        """Seconds since the commit was made that this Sync has just applied in place of another, if it has."""
        applied = status.applied
        with self._lock:
            series = self._series.get(status.id)
            if applied is None or series is None:
                return None
            before, series.applied_tree = series.applied_tree, applied.tree
        if before in ("", applied.tree) or not applied.committed:
            return None
        return max(0.0, self._clock() - applied.committed)

    def remove(self, sync_id: str) -> None:
        """Forget a Sync and all of its series."""
        with self._lock:
            self._series.pop(sync_id, None)

    def describe(self) -> Iterable[Metric]:
        """Nothing: names are checked by collecting."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """All series, as they are now."""
        with self._lock:
            series = list(self._series.items())
        yield self._by_state(series)
        yield from self._queue(series)
        yield GaugeMetricFamily(
            "syncd_inventory_limit_bytes",
            "What the list in one apply-config object may take; a longer one goes on in pages.",
            LIST_LIMIT,
        )
        behind = GaugeMetricFamily(
            "syncd_sync_behind_since_timestamp_seconds",
            "Since when the revision that Git has is not the one that is applied. Absent while they are the same.",
            labels=("sync",),
        )
        for sync_id, one in series:
            if one.behind_since is not None:
                behind.add_metric((sync_id,), one.behind_since)
        yield behind
        yield from _families(STATE, [(sync_id, one.state) for sync_id, one in series])
        yield from _families(OBJECTS, [(sync_id, self._objects(one)) for sync_id, one in series])
        yield from self._counters(series)

    def _objects(self, series: _Series) -> list[list[Sample]]:
        """What is computed from every object, once for each change."""
        with self._lock:
            status, known = series.status, series.objects
        if known is not None:
            return known
        found = [list(gauge.read(status)) for gauge in OBJECTS]
        with self._lock:
            if series.status.objects is status.objects:
                series.objects = found
        return found

    def _by_state(self, series: list[tuple[str, _Series]]) -> Metric:
        family = GaugeMetricFamily("syncd_syncs", "Syncs, by how the cluster compares with Git.", labels=("state",))
        counted = Counter(one.status.state for _, one in series)
        for state in SyncState:
            family.add_metric((state.value,), counted[state])
        return family

    def _queue(self, series: list[tuple[str, _Series]]) -> Iterator[Metric]:
        now = self._clock()
        statuses = [one.status for _, one in series]
        due = [one.next_attempt.timestamp() for one in statuses if one.next_attempt and not one.reconciling]
        waits = [now - moment for moment in due if moment < now]
        yield GaugeMetricFamily(
            "syncd_reconciles_running", "Reconciles under way.", sum(one.reconciling for one in statuses)
        )
        yield GaugeMetricFamily(
            "syncd_reconciles_waiting", "Reconciles that are due by the clock and have not begun.", len(waits)
        )
        yield GaugeMetricFamily(
            "syncd_reconciles_longest_wait_seconds",
            "How long the one that has waited longest has been due; 0 when none waits.",
            max(waits, default=0.0),
        )

    def _counters(self, series: list[tuple[str, _Series]]) -> Iterator[Metric]:
        for name, (meaning, names) in _COUNTERS.items():
            family = CounterMetricFamily(name, meaning, labels=("sync", *names))
            with self._lock:
                found = [(sync_id, list(one.counters[name].items())) for sync_id, one in series]
            for sync_id, samples in found:
                for labels, value in samples:
                    family.add_metric((sync_id, *labels), value)
            yield family


def _families(gauges: Sequence[Gauge], series: Sequence[tuple[str, list[list[Sample]]]]) -> Iterator[Metric]:
    """Each gauge with its samples of all Syncs."""
    for index, gauge in enumerate(gauges):
        family = GaugeMetricFamily(gauge.name, gauge.meaning, labels=("sync", *gauge.labels))
        for sync_id, samples in series:
            for labels, value in samples[index]:
                family.add_metric((sync_id, *labels), value)
        yield family
