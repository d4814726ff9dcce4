"""Which gauges there are of each Sync, and how each is read from its status."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from syncd.daemon.status import SyncState, SyncStatus
from syncd.health import Health
from syncd.model import ActionType, OutcomeStatus
from syncd.plan.prune import allowance
from syncd.source.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator
    from datetime import datetime

    from syncd.daemon.status import DriftRecord, Fight, ObjectStatus


def _reasons(kind: type[SourceError]) -> frozenset[str]:
    return frozenset((kind.reason,)).union(*(_reasons(each) for each in kind.__subclasses__()))


SOURCE_REASONS: Final = _reasons(SourceError)
"""Why a repository could not be followed or read."""
STATE_VALUES: Final = {SyncState.SYNCED: 0, SyncState.OUT_OF_SYNC: 1, SyncState.UNKNOWN: 2}

Sample = tuple[tuple[str, ...], float]


def _timestamp(value: datetime | None) -> Iterator[Sample]:
    if value is not None:
        yield (), value.timestamp()


def _count(items: Iterable[str]) -> Iterator[Sample]:
    for label, number in Counter(items).items():
        yield (label,), float(number)


@dataclass(frozen=True, slots=True)
class Gauge:
    """One gauge of a Sync: a name, what it means, its labels beside ``sync``, and how to read it from a status."""

    name: str
    meaning: str
    read: Callable[[SyncStatus], Iterable[Sample]]
    labels: tuple[str, ...] = ()


def _one(read: Callable[[SyncStatus], float]) -> Callable[[SyncStatus], Iterable[Sample]]:
    return lambda status: (((), float(read(status))),)


def _open(status: SyncStatus) -> Iterator[DriftRecord]:
    return (record for record in status.drift if record.corrected_at is None)


def _drift(status: SyncStatus) -> Iterator[Sample]:
    found = Counter((str(record.key.group_kind), record.reason.value) for record in _open(status))
    for labels, number in found.items():
        yield labels, float(number)


_MOST_MANAGERS: Final = 20
"""Field managers that one Sync's series name; names come from whoever writes to the cluster, so they need a bound."""


def manager_label(manager: str, named: Collection[str]) -> str:
    """The field manager to name, when these are named already."""
    name = manager or "unknown"
    return name if name in named or len(named) < _MOST_MANAGERS else "other"


def _by_manager(items: Iterable[DriftRecord | Fight]) -> Iterator[Sample]:
    found: Counter[str] = Counter()
    for item in items:
        found[manager_label(item.manager, found)] += 1
    for name, number in found.items():
        yield (name,), float(number)


def _inventory_bytes(status: SyncStatus) -> float:
    """What the keys take in the list, each with the end of its line."""
    return sum(
        len(str(item.key)) + 1
        for item in status.objects
        if item.action is not ActionType.PRUNE or item.outcome is not OutcomeStatus.DONE
    )


def is_applied(status: SyncStatus) -> bool:
    """Whether what Git said last is what was applied last: by tree, for other trees are no business of this Sync."""
    return status.attempted is None or (status.applied is not None and status.applied.tree == status.attempted.tree)


def _kept(item: ObjectStatus) -> bool:
    return item.action is ActionType.KEEP and item.outcome is OutcomeStatus.DONE


STATE: Final = (
    Gauge(
        "syncd_sync_state",
        "How the cluster compares with Git: 0 Synced, 1 OutOfSync, 2 Unknown.",
        _one(lambda status: STATE_VALUES[status.state]),
    ),
    Gauge(
        "syncd_sync_health",
        "The worst health of the Sync's objects: 0 Healthy, 1 Suspended, 2 Progressing, 3 Missing, 4 Degraded, "
        "5 Unknown. Absent while no health is known.",
        lambda status: () if status.health is None else (((), float(status.health.severity)),),
    ),
    Gauge("syncd_sync_suspended", "1 while the Sync is suspended.", _one(lambda status: status.sync.spec.suspend)),
    Gauge(
        "syncd_sync_interval_seconds",
        "How long after a reconcile that went well the next one is due.",
        _one(lambda status: status.sync.spec.interval),
    ),
    Gauge(
        "syncd_sync_consecutive_failures",
        "Reconciles in a row that have failed; 0 after one that went well.",
        _one(lambda status: status.failures),
    ),
    Gauge(
        "syncd_sync_failing_since_timestamp_seconds",
        "When the present run of failures began. Absent while nothing fails.",
        lambda status: _timestamp(status.failing_since),
    ),
    Gauge(
        "syncd_sync_source_failing",
        "1 while the last reconcile failed because its repository could not be followed or read.",
        _one(lambda status: bool(status.error) and status.reason in SOURCE_REASONS),
    ),
    Gauge(
        "syncd_sync_waiting",
        "1 for the reason for which the Sync waits or is held back, such as Progressing or TugOfWar. Absent while it "
        "is not.",
        lambda status: (((status.reason,), 1.0),) if status.message else (),
        ("reason",),
    ),
    Gauge(
        "syncd_sync_waiting_since_timestamp_seconds",
        "Since when a Sync with wait waits for its objects to become healthy. Absent while it does not.",
        lambda status: _timestamp(status.waiting_since),
    ),
    Gauge(
        "syncd_sync_applied_commit_timestamp_seconds",
        "When the commit was made, by its own time, that is applied. Absent before the first.",
        lambda status: (((), status.applied.committed),) if status.applied and status.applied.committed else (),
    ),
    Gauge(
        "syncd_sync_tug_of_war_objects",
        "Objects that somebody changes back as often as they are repaired, by the rival's field manager. Absent while "
        "there is none.",
        lambda status: _by_manager(status.fights),
        ("manager",),
    ),
    Gauge(
        "syncd_sync_last_attempt_timestamp_seconds",
        "When the last reconcile ended. Absent before the first.",
        lambda status: _timestamp(status.last_attempt),
    ),
    Gauge(
        "syncd_sync_last_success_timestamp_seconds",
        "When the last reconcile without an error ended. Absent before the first.",
        lambda status: _timestamp(status.last_success),
    ),
    Gauge(
        "syncd_sync_last_duration_seconds",
        "How long the last reconcile took in all. Absent before the first.",
        lambda status: (((), status.durations["total"]),) if "total" in status.durations else (),
    ),
    Gauge(
        "syncd_sync_prune_held",
        "1 while objects have left Git and none of them is pruned; syncd_sync_kept_objects says why.",
        _one(lambda status: bool(status.prune_held)),
    ),
    Gauge(
        "syncd_sync_prune_budget_objects",
        "How many objects one reconcile may prune: the smaller of the Sync's two budgets, for the size of its "
        "inventory.",
        _one(lambda status: allowance(status.sync.spec.prune.budget, status.inventory_size)),
    ),
    Gauge(
        "syncd_sync_inventory_objects",
        "Objects that the Sync manages: the size of its apply-config object.",
        _one(lambda status: status.inventory_size),
    ),
    Gauge(
        "syncd_sync_drift_objects",
        "Objects that drift now, by kind and reason (changed, missing, extra, owner-lost). Absent while none does.",
        _drift,
        ("kind", "reason"),
    ),
    Gauge(
        "syncd_sync_drift_manager_objects",
        "Objects that drift now, by the field manager that wrote last what differs; unknown when nobody says, as for "
        "an object that is missing. Absent while none does.",
        lambda status: _by_manager(_open(status)),
        ("manager",),
    ),
    Gauge(
        "syncd_sync_drift_oldest_timestamp_seconds",
        "Since when the oldest drift is there that has not been repaired. Absent while there is none.",
        lambda status: _timestamp(min((record.since for record in _open(status)), default=None)),
    ),
)

OBJECTS: Final = (
    Gauge(
        "syncd_sync_inventory_bytes",
        "What the list of these takes in the apply-config object.",
        _one(_inventory_bytes),
    ),
    Gauge(
        "syncd_sync_kept_objects",
        "Objects that left Git and are not pruned, by the reason why.",
        lambda status: _count(item.reason for item in status.objects if _kept(item)),
        ("reason",),
    ),
    Gauge(
        "syncd_sync_pending_objects",
        "Objects whose action has failed or waits for another one, by reason.",
        lambda status: _count(item.reason for item in status.objects if item.outcome is not OutcomeStatus.DONE),
        ("reason",),
    ),
    Gauge(
        "syncd_sync_unhealthy_objects",
        "Objects that are not Healthy, by health. Absent while all are.",
        lambda status: _count(item.health for item in status.objects if item.health not in (None, Health.HEALTHY)),
        ("health",),
    ),
)
"""These look at every object, so they are computed when somebody asks, and only if the objects have changed."""
