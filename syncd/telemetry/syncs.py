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
from syncd.health import Health
from syncd.inventory.applyconfig import LIST_LIMIT
from syncd.model import ActionType, OutcomeStatus
from syncd.plan.prune import allowance
from syncd.source.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator
    from datetime import datetime

    from prometheus_client import Metric

    from syncd.daemon.status import DriftRecord, ObjectStatus


def _reasons(kind: type[SourceError]) -> frozenset[str]:
    return frozenset((kind.reason,)).union(*(_reasons(each) for each in kind.__subclasses__()))


SOURCE_REASONS: Final = _reasons(SourceError)
"""Why a repository could not be followed or read."""
STATE_VALUES: Final = {SyncState.SYNCED: 0, SyncState.OUT_OF_SYNC: 1, SyncState.UNKNOWN: 2}

_Sample = tuple[tuple[str, ...], float]
_Labels = tuple[str, ...]


def _timestamp(value: datetime | None) -> Iterator[_Sample]:
    if value is not None:
        yield (), value.timestamp()


def _count(items: Iterable[str]) -> Iterator[_Sample]:
    for label, number in Counter(items).items():
        yield (label,), float(number)


@dataclass(frozen=True, slots=True)
class _Gauge:
    """One gauge of a Sync: a name, what it means, its labels beside ``sync``, and how to read it from a status."""

    name: str
    meaning: str
    read: Callable[[SyncStatus], Iterable[_Sample]]
    labels: tuple[str, ...] = ()


def _one(read: Callable[[SyncStatus], float]) -> Callable[[SyncStatus], Iterable[_Sample]]:
    return lambda status: (((), float(read(status))),)


def _open(status: SyncStatus) -> Iterator[DriftRecord]:
    return (record for record in status.drift if record.corrected_at is None)


def _drift(status: SyncStatus) -> Iterator[_Sample]:
    found = Counter((str(record.key.group_kind), record.reason.value) for record in _open(status))
    for labels, number in found.items():
        yield labels, float(number)


_MOST_MANAGERS: Final = 20
"""Field managers that one Sync's series name; names come from whoever writes to the cluster, so they need a bound."""


def manager_label(manager: str, named: Collection[str]) -> str:
    """The field manager to name, when these are named already."""
    name = manager or "unknown"
    return name if name in named or len(named) < _MOST_MANAGERS else "other"


def _drift_managers(status: SyncStatus) -> Iterator[_Sample]:
    found: Counter[str] = Counter()
    for record in _open(status):
        found[manager_label(record.manager, found)] += 1
    for name, number in found.items():
        yield (name,), float(number)


def _fights(status: SyncStatus) -> Iterator[_Sample]:
    found: Counter[str] = Counter()
    for fight in status.fights:
        found[manager_label(fight.manager, found)] += 1
    for name, number in found.items():
        yield (name,), float(number)


def _inventory_bytes(status: SyncStatus) -> float:
    """What the keys take in the list, each with the end of its line."""
    return sum(
        len(str(item.key)) + 1
        for item in status.objects
        if item.action is not ActionType.PRUNE or item.outcome is not OutcomeStatus.DONE
    )


def _applied(status: SyncStatus) -> bool:
    """Whether what Git said last is what was applied last: by tree, for other trees are no business of this Sync."""
    return status.attempted is None or (status.applied is not None and status.applied.tree == status.attempted.tree)


def _kept(item: ObjectStatus) -> bool:
    return item.action is ActionType.KEEP and item.outcome is OutcomeStatus.DONE


_STATE: Final = (
    _Gauge(
        "syncd_sync_state",
        "How the cluster compares with Git: 0 Synced, 1 OutOfSync, 2 Unknown.",
        _one(lambda status: STATE_VALUES[status.state]),
    ),
    _Gauge(
        "syncd_sync_health",
        "The worst health of the Sync's objects: 0 Healthy, 1 Suspended, 2 Progressing, 3 Missing, 4 Degraded, "
        "5 Unknown. Absent while no health is known.",
        lambda status: () if status.health is None else (((), float(status.health.severity)),),
    ),
    _Gauge("syncd_sync_suspended", "1 while the Sync is suspended.", _one(lambda status: status.sync.spec.suspend)),
    _Gauge(
        "syncd_sync_interval_seconds",
        "How long after a reconcile that went well the next one is due.",
        _one(lambda status: status.sync.spec.interval),
    ),
    _Gauge(
        "syncd_sync_consecutive_failures",
        "Reconciles in a row that have failed; 0 after one that went well.",
        _one(lambda status: status.failures),
    ),
    _Gauge(
        "syncd_sync_failing_since_timestamp_seconds",
        "When the present run of failures began. Absent while nothing fails.",
        lambda status: _timestamp(status.failing_since),
    ),
    _Gauge(
        "syncd_sync_source_failing",
        "1 while the last reconcile failed because its repository could not be followed or read.",
        _one(lambda status: bool(status.error) and status.reason in SOURCE_REASONS),
    ),
    _Gauge(
        "syncd_sync_waiting",
        "1 for the reason for which the Sync waits or is held back, such as Progressing or TugOfWar. Absent while it "
        "is not.",
        lambda status: (((status.reason,), 1.0),) if status.message else (),
        ("reason",),
    ),
    _Gauge(
        "syncd_sync_tug_of_war_objects",
        "Objects that somebody changes back as often as they are repaired, by the rival's field manager. Absent while "
        "there is none.",
        _fights,
        ("manager",),
    ),
    _Gauge(
        "syncd_sync_last_attempt_timestamp_seconds",
        "When the last reconcile ended. Absent before the first.",
        lambda status: _timestamp(status.last_attempt),
    ),
    _Gauge(
        "syncd_sync_last_success_timestamp_seconds",
        "When the last reconcile without an error ended. Absent before the first.",
        lambda status: _timestamp(status.last_success),
    ),
    _Gauge(
        "syncd_sync_last_duration_seconds",
        "How long the last reconcile took in all. Absent before the first.",
        lambda status: (((), status.durations["total"]),) if "total" in status.durations else (),
    ),
    _Gauge(
        "syncd_sync_prune_held",
        "1 while objects have left Git and none of them is pruned; syncd_sync_kept_objects says why.",
        _one(lambda status: bool(status.prune_held)),
    ),
    _Gauge(
        "syncd_sync_prune_budget_objects",
        "How many objects one reconcile may prune: the smaller of the Sync's two budgets, for the size of its "
        "inventory.",
        _one(lambda status: allowance(status.sync.spec.prune.budget, status.inventory_size)),
    ),
    _Gauge(
        "syncd_sync_inventory_objects",
        "Objects that the Sync manages: the size of its apply-config object.",
        _one(lambda status: status.inventory_size),
    ),
    _Gauge(
        "syncd_sync_drift_objects",
        "Objects that drift now, by kind and reason (changed, missing, extra, owner-lost). Absent while none does.",
        _drift,
        ("kind", "reason"),
    ),
    _Gauge(
        "syncd_sync_drift_manager_objects",
        "Objects that drift now, by the field manager that wrote last what differs; unknown when nobody says, as for "
        "an object that is missing. Absent while none does.",
        _drift_managers,
        ("manager",),
    ),
    _Gauge(
        "syncd_sync_drift_oldest_timestamp_seconds",
        "Since when the oldest drift is there that has not been repaired. Absent while there is none.",
        lambda status: _timestamp(min((record.since for record in _open(status)), default=None)),
    ),
)

_OBJECTS: Final = (
    _Gauge(
        "syncd_sync_inventory_bytes",
        "What the list of these takes in the apply-config object.",
        _one(_inventory_bytes),
    ),
    _Gauge(
        "syncd_sync_kept_objects",
        "Objects that left Git and are not pruned, by the reason why.",
        lambda status: _count(item.reason for item in status.objects if _kept(item)),
        ("reason",),
    ),
    _Gauge(
        "syncd_sync_pending_objects",
        "Objects whose action has failed or waits for another one, by reason.",
        lambda status: _count(item.reason for item in status.objects if item.outcome is not OutcomeStatus.DONE),
        ("reason",),
    ),
    _Gauge(
        "syncd_sync_unhealthy_objects",
        "Objects that are not Healthy, by health. Absent while all are.",
        lambda status: _count(item.health for item in status.objects if item.health not in (None, Health.HEALTHY)),
        ("health",),
    ),
)
"""These look at every object, so they are computed only when the objects have changed."""

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
    state: list[list[_Sample]] = field(default_factory=list)
    objects: list[list[_Sample]] = field(default_factory=list)
    behind_since: float | None = None
    counters: dict[str, Counter[_Labels]] = field(default_factory=lambda: {name: Counter() for name in _COUNTERS})
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

    def update(self, status: SyncStatus) -> None:
        """Take a Sync's new status."""
        state = [list(gauge.read(status)) for gauge in _STATE]
        with self._lock:
            known = self._series.get(status.id)
            reuse = known is not None and known.status.objects is status.objects and known.objects
        objects = known.objects if known and reuse else [list(gauge.read(status)) for gauge in _OBJECTS]
        with self._lock:
            series = self._series.setdefault(status.id, _Series(status))
            series.status, series.state, series.objects = status, state, objects
            if _applied(status):
                series.behind_since = None
            elif series.behind_since is None:
                series.behind_since = self._clock()

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
        for gauges, attribute in ((_STATE, "state"), (_OBJECTS, "objects")):
            for index, gauge in enumerate(gauges):
                family = GaugeMetricFamily(gauge.name, gauge.meaning, labels=("sync", *gauge.labels))
                for sync_id, one in series:
                    for labels, value in getattr(one, attribute)[index]:
                        family.add_metric((sync_id, *labels), value)
                yield family
        yield from self._counters(series)

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
