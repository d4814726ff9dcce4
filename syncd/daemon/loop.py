"""The life of one Sync: woken by the clock, a watch event or a person; reconciles; decides when to wake next."""

from __future__ import annotations

import threading
import time
import uuid
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

import structlog

from syncd.daemon import report
from syncd.daemon.backoff import RepairPace, poll_delay, retry_delay
from syncd.daemon.healthbook import HealthBook
from syncd.daemon.ledger import DriftLedger
from syncd.daemon.status import SyncStatus
from syncd.engine.deadline import Deadline
from syncd.engine.memory import Memory
from syncd.model import OutcomeStatus, SyncdError

if TYPE_CHECKING:
    from collections.abc import Callable

    from syncd.cluster import LiveCache
    from syncd.daemon.board import StatusBoard
    from syncd.engine.reconcile import Reconciler
    from syncd.engine.result import Reconciliation
    from syncd.model import Revision
    from syncd.spec import Sync

log = structlog.get_logger("syncd")

_PENDING_INTERVAL = 10.0
"""Seconds at most until what is still to be pruned is looked at again."""


_AFTER_DEFECT = timedelta(seconds=60)
"""When a Sync is tried again after a defect so bad that its own schedule could not be made."""


class Cause(StrEnum):
    """Why a Sync is reconciled."""

    POLL = "poll"
    EVENT = "event"
    REQUEST = "request"


class InternalError(SyncdError):
    """A defect of syncd; the Sync is retried all the same, and no other Sync notices."""

    reason = "InternalError"


class SyncLoop:
    """One Sync. :meth:`run` is called by the scheduler, :meth:`trigger` by anybody.

    A wake-up is never lost: a cause is noted before the scheduler is asked, and a run that ends looks for causes again.
    """

    def __init__(
        self,
        sync: Sync,
        reconciler: Reconciler,
        live: LiveCache,
        board: StatusBoard,
        *,
        wake: Callable[[str, datetime], None],
    ) -> None:
        """Begin with an empty memory.

        Args:
            sync: What is asked for.
            reconciler: Does the work.
            live: Where the health of objects is read.
            board: Where the status hangs.
            wake: Asks the scheduler to run the Sync of this id at this moment.
        """
        self.sync = sync
        self.owner = ""
        self._reconciler = reconciler
        self._board = board
        self._wake = wake
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._causes: set[Cause] = set()
        self._running = False
        self._revision: Revision | None = None
        self._memory = Memory()
        self._ledger = DriftLedger()
        self._health = HealthBook(live)
        self._pace = RepairPace()
        board.begin(sync)

    def trigger(self, cause: Cause) -> None:
        """Have the Sync reconciled soon: at once, or right after the reconcile that runs now."""
        with self._lock:
            self._causes.add(cause)
            if self._running:
                return
        self._wake(self.sync.id, self._soon(cause))

    def stop(self) -> None:
        """Begin nothing any more, and give up what is under way at its next safe point. Does not wait for it."""
        self._stop.set()

    def run(self) -> None:
        """Reconcile once, and say when the next time is."""
        with self._lock:
            if self._running or self._stop.is_set():
                return  # the run that is under way sees every cause when it ends
            causes, self._causes = self._causes or {Cause.POLL}, set()
            self._running = True
        structlog.contextvars.bind_contextvars(sync=self.sync.id, reconcile=uuid.uuid4().hex[:8])
        due = datetime.now(UTC) + _AFTER_DEFECT
        try:
            status = self._reconcile(causes)
            due = datetime.now(UTC) + self._pause(status)
            self._board.put(replace(status, next_attempt=due))
        except Exception:
            log.exception("a defect of syncd around a reconcile")
        finally:
            structlog.contextvars.clear_contextvars()
            with self._lock:
                self._running = False
                due = min([due, *map(self._soon, self._causes)])
        if not self._stop.is_set():
            self._wake(self.sync.id, due)

    def refresh_health(self) -> None:
        """Look at the health of the objects again, without a reconcile."""
        with self._lock:
            if self._running:
                return  # it looks itself when it ends
            status = self._status()
            objects = tuple(report.with_health(item, self._health.of(item.key)) for item in status.objects)
            self._board.put(replace(status, objects=objects, health=report.worst(item.health for item in objects)))

    def _status(self) -> SyncStatus:
        return self._board.status(self.sync.id) or SyncStatus(self.sync)

    def _soon(self, cause: Cause) -> datetime:
        wait = self._pace.delay(time.monotonic()) if cause is Cause.EVENT else 0.0
        return datetime.now(UTC) + timedelta(seconds=wait)

    def _pause(self, status: SyncStatus) -> timedelta:
        interval = self.sync.spec.interval
        if status.reason == "Pruning":
            interval = min(interval, _PENDING_INTERVAL)
        seconds = retry_delay(status.failures, interval) if status.failures else poll_delay(interval)
        return timedelta(seconds=seconds)

    def _reconcile(self, causes: set[Cause]) -> SyncStatus:
        status = replace(self._status(), reconciling=True)
        self._board.put(status)
        deadline = Deadline.after(self.sync.spec.timeout, self._stop)
        begin = time.perf_counter()
        durations: dict[str, float] = {}
        result: Reconciliation | None = None
        error: SyncdError | None = None
        try:
            if self._revision is None or causes != {Cause.EVENT}:
                self._revision = self._reconciler.resolve(self.sync, deadline)
                durations["fetch"] = time.perf_counter() - begin
            result = self._reconciler.reconcile(self.sync, self._revision, self._memory, deadline)
            durations.update(result.durations)
        except SyncdError as failure:
            error = failure
        except Exception as failure:
            log.exception("reconcile failed by a defect of syncd")
            error = InternalError(f"{type(failure).__name__}: {failure}")
        durations["total"] = time.perf_counter() - begin
        if self._stop.is_set() and (result is None or result.interrupted):
            return self._given_up(status)
        if result is None:
            assert error is not None  # noqa: S101 - one of the two is set above
            return self._failed(status, error, durations)
        return self._ended(status, replace(result, durations=durations), causes)

    def _given_up(self, status: SyncStatus) -> SyncStatus:
        """It was told to stop: whoever goes on, in this process or the next, does what is left."""
        log.info("reconcile given up")
        given_up = replace(status, reconciling=False)
        self._board.put(given_up)
        return given_up

    def _failed(self, status: SyncStatus, error: SyncdError, durations: dict[str, float]) -> SyncStatus:
        now = datetime.now(UTC)
        ended = report.after_error(status, error, self._revision, durations, now)
        log.error("reconcile failed", reason=error.reason, error=str(error), failures=ended.failures)
        self._board.put(ended, reconciled=True)
        return ended

    def _ended(self, status: SyncStatus, result: Reconciliation, causes: set[Cause]) -> SyncStatus:
        now = datetime.now(UTC)
        self.owner = result.owner
        found = self._ledger.update(result.outcomes, now)
        ended = report.after_reconcile(status, result, self._health.of, now)
        ended = replace(ended, drift=self._ledger.records())
        if any(record.corrected_at is None for record in found) or _repaired(result):
            self._pace.repaired(time.monotonic())
        _log(result, ended, causes)
        self._board.drifted(ended, found)
        self._board.put(ended, reconciled=True)
        return ended


def _repaired(result: Reconciliation) -> bool:
    return any(outcome.action.drift and outcome.action.type.changes_cluster for outcome in result.outcomes)


def _log(result: Reconciliation, status: SyncStatus, causes: set[Cause]) -> None:
    """One line for each action that changed or failed, and one for the reconcile."""
    for outcome in result.outcomes:
        action = outcome.action
        if outcome.status is not OutcomeStatus.DONE:
            names = {"action": action.type, "object": str(action.key), "reason": outcome.reason}
            log.error("action failed", **names, error=outcome.message)
        elif action.type.changes_cluster:
            fields = [change.path for change in action.changes[:5]]
            log.info("applied", action=action.type, object=str(action.key), reason=action.reason, fields=fields)
    quiet = not result.plan.changes_cluster and not status.error
    counts = {name: value for name, value in _counts(status).items() if value}
    write = log.debug if quiet else log.info
    write(
        "reconciled",
        revision=str(result.revision),
        state=status.state,
        reason=status.reason,
        causes=sorted(causes),
        seconds=round(result.durations.get("total", 0.0), 3),
        **counts,
    )


def _counts(status: SyncStatus) -> dict[str, int]:
    counts = status.counts
    return {name: getattr(counts, name) for name in counts.__slots__}
