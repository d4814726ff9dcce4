"""What the daemon knows of its Syncs: immutable snapshots that pages, metrics and the command line read.

The daemon replaces a Sync's snapshot as a whole after each step, so a reader never sees half of a change and takes no
lock.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from syncd.health import Health
    from syncd.model import ActionType, DriftReason, FieldChange, ObjectKey, OutcomeStatus, Revision
    from syncd.spec import Sync


class SyncState(StrEnum):
    """How the cluster compares with Git, in the words that people know from Argo CD's page."""

    SYNCED = "Synced"
    OUT_OF_SYNC = "OutOfSync"
    UNKNOWN = "Unknown"


@dataclass(frozen=True, slots=True)
class ObjectStatus:
    """One object of a Sync, as the last reconcile left it."""

    key: ObjectKey
    action: ActionType
    reason: str
    message: str
    outcome: OutcomeStatus
    error: str = ""
    health: Health | None = None
    health_message: str = ""
    origin: str = ""
    changes: tuple[FieldChange, ...] = ()
    """What the action changed, secrets masked."""


@dataclass(frozen=True, slots=True)
class DriftRecord:
    """One drift that was found, whether or not it has been repaired since."""

    key: ObjectKey
    reason: DriftReason
    since: datetime
    changes: tuple[FieldChange, ...] = ()
    manager: str = ""
    operation: str = ""
    corrected_at: datetime | None = None


class Fight(NamedTuple):
    """A tug-of-war: syncd repairs an object again and again, and somebody undoes it each time."""

    key: ObjectKey
    manager: str
    """The rival's field manager; "" when the object does not say."""
    repairs: int
    """How many repairs there were in a row."""


@dataclass(frozen=True, slots=True)
class Counts:
    """How many objects met which fate in one reconcile."""

    created: int = 0
    updated: int = 0
    unchanged: int = 0
    pruned: int = 0
    kept: int = 0
    skipped: int = 0
    failed: int = 0


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One past reconcile that changed something or failed."""

    finished_at: datetime
    revision: Revision | None
    counts: Counts
    duration: float
    """Seconds."""
    error: str = ""


@dataclass(frozen=True, slots=True)
class SyncStatus:
    """All that is known of one Sync.

    Attributes:
        sync: What was asked for.
        state: Synced only if the newest revision is live without a difference.
        health: The worst health of its objects.
        attempted: The revision of the last reconcile.
        applied: The last revision that was applied without an error.
        reason: A CamelCase word: ``Succeeded``, or why not.
        error: The last reconcile's error in full; "" when it went well. Goes away with the next success.
        problems: Every single failure behind ``error``.
        message: What the Sync waits for, or what holds it back, in a sentence, when that is no error; ``reason`` has
            it in a word.
        waiting_since: Since when ``wait`` waits for objects to become healthy.
        fights: Objects that somebody changes back as often as they are repaired.
        failing_since: When the present run of failures began.
        failures: How many reconciles in a row have failed.
        reconciling: Whether one is running now.
        last_attempt: When the last one ended.
        last_success: When the last one without an error ended.
        next_attempt: When the next one is due.
        durations: Seconds by stage of the last reconcile: fetch, render, observe, plan, apply, prune, total.
        counts: What the last reconcile did.
        objects: Every object, as the last reconcile left it.
        inventory_size: Objects in the apply-config object.
        drift: Drift that is there now, or was repaired lately; newest first.
        prune_held: Why nothing is pruned; "" if pruning goes its way.
        prune_candidates: While prunes are held: the objects that it is about.
        owner: The uid of the apply-config object; "" while it is not known.
        history: Past reconciles, newest first.
    """

    sync: Sync
    state: SyncState = SyncState.UNKNOWN
    health: Health | None = None
    attempted: Revision | None = None
    applied: Revision | None = None
    reason: str = "Pending"
    error: str = ""
    problems: tuple[str, ...] = ()
    message: str = ""
    waiting_since: datetime | None = None
    fights: tuple[Fight, ...] = ()
    failing_since: datetime | None = None
    failures: int = 0
    reconciling: bool = False
    last_attempt: datetime | None = None
    last_success: datetime | None = None
    next_attempt: datetime | None = None
    durations: Mapping[str, float] = field(default_factory=dict)
    counts: Counts = Counts()
    objects: tuple[ObjectStatus, ...] = ()
    inventory_size: int = 0
    drift: tuple[DriftRecord, ...] = ()
    prune_held: str = ""
    prune_candidates: tuple[ObjectKey, ...] = ()
    owner: str = ""
    history: tuple[HistoryEntry, ...] = ()

    @property
    def id(self) -> str:
        """``namespace/name``."""
        return self.sync.id


class Board(Protocol):
    """What the pages, probes and metrics read."""

    def statuses(self) -> tuple[SyncStatus, ...]:
        """A snapshot of every Sync, sorted by id."""

    def status(self, sync_id: str) -> SyncStatus | None:
        """A snapshot of one Sync."""

    def ready(self) -> str:
        """Empty when the daemon is ready to serve, else why not."""

    def alive(self) -> str:
        """Empty when the daemon's own loops run, else which one does not."""

    def standby(self) -> str:
        """Empty while this replica works, else why it does not: another one leads."""

    def leader(self) -> str:
        """Where the web server of the replica that leads is, if that is another one and says so; else ""."""


class Listener(Protocol):
    """Who is told of what happens, in order; must return quickly and must not raise."""

    def status_changed(self, status: SyncStatus) -> None:
        """A Sync's snapshot was replaced."""

    def reconciled(self, status: SyncStatus) -> None:
        """A reconcile has ended; the status holds its result."""

    def drift_found(self, sync: Sync, record: DriftRecord) -> None:
        """A drift was noticed for the first time."""

    def sync_removed(self, sync_id: str) -> None:
        """A Sync is no more; whoever keeps anything by its id forgets it."""
