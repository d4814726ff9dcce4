"""The life of one Sync: woken by the clock, a watch event or a person; reconciles; decides when to wake next."""

from __future__ import annotations

import threading
import time
import uuid
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import structlog

from syncd.daemon import report
from syncd.daemon.agenda import Agenda, Cause
from syncd.daemon.backoff import RepairPaces, poll_delay, retry_delay
from syncd.daemon.dependencies import Standing, dependencies, lags_behind, obstacle, standing
from syncd.daemon.healthbook import HealthBook
from syncd.daemon.ledger import DriftLedger
from syncd.daemon.status import Fight, SyncStatus
from syncd.daemon.waiting import await_health, ends_waiting
from syncd.engine.deadline import Deadline
from syncd.engine.executor import WAITS
from syncd.engine.memory import Memory
from syncd.model import OutcomeStatus, SyncdError
from syncd.plan.settings import Restraint
from syncd.plan.windows import closed, next_edge

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from syncd.cluster import LiveCache
    from syncd.daemon.board import StatusBoard
    from syncd.engine.reconcile import Reconciler
    from syncd.engine.result import Reconciliation
    from syncd.model import ObjectKey, Outcome, Revision
    from syncd.spec import Sync

log = structlog.get_logger("syncd")

_PENDING_INTERVAL = 10.0
"""Seconds at most until what is still to be pruned is looked at again."""
_SHARED = 0.25
"""An answer of Git to another Sync is as good as one's own for this part of the interval."""
_AFTER_DEFECT = timedelta(seconds=60)
"""When a Sync is tried again after a defect so bad that its own schedule could not be made."""
_DIAGNOSIS = 10.0
"""Seconds that asking the cluster why objects are not healthy may take."""


class InternalError(SyncdError):
    """A defect of syncd; the Sync is retried all the same, and no other Sync notices."""

    reason = "InternalError"


class SyncLoop:
    """One Sync. :meth:`run` is called by the scheduler, :meth:`trigger` by anybody.

    Only :meth:`run` changes the Sync's status, and only one run does at a time. A wake-up is never lost: a cause is on
    the agenda before the scheduler is asked, and a run that ends looks at the agenda again. A run that finds another
    one under way only looks for a newer commit, for which the other one gives up at its next safe point.
    """

    def __init__(
        self,
        sync: Sync,
        reconciler: Reconciler,
        live: LiveCache,
        board: StatusBoard,
        *,
        wake: Callable[[str, datetime], None],
        ask: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Begin with an empty memory.

        Args:
            sync: What is asked for.
            reconciler: Does the work.
            live: Where the health of objects is read.
            board: Where the status hangs.
            wake: Asks the scheduler to run the Sync of this id at this moment.
            ask: Has another Sync, of this id, look for a new revision now.
        """
        self.sync = sync
        self.live = live
        self.owner = ""
        self._reconciler = reconciler
        self._board = board
        self._wake = wake
        self._ask = ask
        self._asked = ""
        """The commit for which other Syncs were asked to look for it."""
        self._lock = threading.Lock()
        self._agenda = Agenda()
        self._agenda.add(Cause.POLL, _now())
        self._running = False
        self._looking = False
        self._stopped = False
        self._cancel = threading.Event()
        self._superseded = False
        self._revision: Revision | None = None
        self._unfollowed: SyncdError | None = None
        self._asked_at = 0.0
        self._applying: Revision | None = None
        self._memory = Memory()
        known = board.status(sync.id)
        self._ledger = DriftLedger(known.drift if known else ())
        self._health = HealthBook(live, sync.spec.health_checks)
        self._paces = RepairPaces()
        board.begin(sync)

    def trigger(self, cause: Cause, key: ObjectKey | None = None) -> None:
        """Have the Sync woken soon: at once, or right after the reconcile that runs now.

        A cause that is about an object whose next repair has to wait waits as long.
        """
        moment = _now() + timedelta(seconds=self._paces.delay(key, time.monotonic()) if key else 0.0)
        with self._lock:
            self._agenda.add(cause, moment)
            if cause.asks_git:
                self._asked_at = time.monotonic()
            if not self._running or cause.asks_git:
                self._wake(self.sync.id, moment)

    def stop(self) -> None:
        """Begin nothing any more, and give up what is under way at its next safe point. Does not wait for it."""
        with self._lock:
            self._stopped = True
            self._cancel.set()

    def run(self) -> None:
        """Do what is due, and say when the next time is."""
        with self._lock:
            causes = frozenset() if self._running else self._agenda.take(_now())
            begins = bool(causes) and not self._stopped
            if begins:
                self._running, self._superseded = True, False
                self._cancel = threading.Event()
        if not begins:
            self._look_for_newer()
            self._rewake()
            return
        known = str(self._revision) if self._revision else ""
        structlog.contextvars.bind_contextvars(sync=self.sync.id, reconcile=uuid.uuid4().hex[:8], revision=known)
        self._rewake()
        try:
            self._work(causes)
        except Exception:
            log.exception("a defect of syncd around a reconcile")
            self._health.forget()
            with self._lock:
                self._agenda.replace(Cause.POLL, _now() + _AFTER_DEFECT)
        finally:
            structlog.contextvars.clear_contextvars()
            with self._lock:
                self._running = False
        self._rewake()

    def _work(self, causes: frozenset[Cause]) -> None:
        if causes == {Cause.HEALTH} and self._status().reason != WAITS:  # else the change may be what is waited for
            self._put(self._look())
            return
        status, retry_after = self._reconcile(causes)
        with self._lock:
            if any(cause.asks_git for cause in causes) or status.failures or self._agenda.of(Cause.POLL) is None:
                self._agenda.replace(Cause.POLL, _now() + self._pause(status, retry_after))
            if resting := self._paces.waiting(time.monotonic()):
                self._agenda.add(Cause.EVENT, _now() + timedelta(seconds=min(resting.values())))
        self._put(status)

    def _put(self, status: SyncStatus) -> None:
        """Hang the status out, with the moment of the next attempt; see that waiting has an end."""
        with self._lock:
            if patience := ends_waiting(status):
                self._agenda.replace(Cause.HEALTH, max(patience, _now()))
            status = replace(status, next_attempt=self._agenda.of(Cause.POLL))
        self._board.put(status)

    def _rewake(self) -> None:
        """Ask to be woken for what is next; while a run is under way, for a look at whether Git has moved on."""
        with self._lock:
            moment = _now() + timedelta(seconds=self.sync.spec.interval) if self._running else self._agenda.next()
            if moment is not None and not self._stopped:
                self._wake(self.sync.id, moment)

    def _look_for_newer(self) -> None:
        """End the reconcile under way if Git says something else by now; the next one begins right after."""
        with self._lock:
            revision = self._applying
            if revision is None or self._looking or self._stopped:
                return
            self._looking = True
        try:
            newest = self._reconciler.resolve(self.sync, Deadline.after(self.sync.spec.timeout, self._cancel))
            with self._lock:
                if self._applying is revision and newest.tree != revision.tree:
                    self._superseded = True
                    self._agenda.replace(Cause.POLL, _now())
                    self._cancel.set()
        except SyncdError as error:
            log.debug("could not look for a newer commit", sync=self.sync.id, error=str(error))
        finally:
            self._looking = False

    def _status(self) -> SyncStatus:
        return self._board.status(self.sync.id) or SyncStatus(self.sync)

    def _look(self) -> SyncStatus:
        """The status with the objects' health as it is now, without a reconcile."""
        before = self._status()
        looked = report.after_look(before, self._health.of, self._health.news(self.sync.id, self.owner))
        return await_health(before, looked, self._explain, _now())

    def _explain(self, keys: Sequence[ObjectKey]) -> Mapping[ObjectKey, Sequence[str]]:
        return self._reconciler.diagnose(self.sync, keys, Deadline.after(_DIAGNOSIS, self._cancel))

    def _pause(self, status: SyncStatus, retry_after: float) -> timedelta:
        interval = self.sync.spec.interval
        if self._superseded:
            return timedelta()
        if status.failures:
            return timedelta(seconds=retry_delay(status.failures, interval, retry_after))
        if status.reason == "Pruning":
            interval = min(interval, _PENDING_INTERVAL)
        return timedelta(seconds=poll_delay(interval))

    def _reconcile(self, causes: frozenset[Cause]) -> tuple[SyncStatus, float]:
        """Reconcile once; gives the status, not hung out yet, and the seconds that a server wants to be left alone."""
        before = self._status()
        self._board.put(replace(before, reconciling=True))
        deadline = Deadline.after(self.sync.spec.timeout, self._cancel)
        begin = time.perf_counter()
        durations: dict[str, float] = {}
        result: Reconciliation | None = None
        error: SyncdError | None = None
        try:
            if self._revision is None or any(cause.asks_git for cause in causes):
                self._revision = self._follow(self._revision, deadline, self._max_age(causes, before))
                durations["fetch"] = time.perf_counter() - begin
            structlog.contextvars.bind_contextvars(revision=str(self._revision))
            if obstacle := self._wait_for_others(self._revision):
                return report.held_back(before, WAITS, obstacle, self._revision, _now()), 0.0
            self._applying = self._revision
            restraint = self._restraint()
            result = self._reconciler.reconcile(self.sync, self._revision, self._memory, deadline, restraint)
            durations.update(result.durations)
        except SyncdError as failure:
            error = failure
        except Exception as failure:
            log.exception("reconcile failed by a defect of syncd")
            error = InternalError(f"{type(failure).__name__}: {failure}")
        self._applying = None
        durations["total"] = time.perf_counter() - begin
        if self._stopped and (result is None or result.interrupted):
            return self._given_up(before), 0.0
        if result is None:
            assert error is not None  # noqa: S101 - one of the two is set above
            return self._failed(before, error, durations), getattr(error, "retry_after", None) or 0.0
        return self._ended(before, replace(result, durations=durations), causes), 0.0

    def _max_age(self, causes: frozenset[Cause], before: SyncStatus) -> float:
        """How old an answer of Git may be that another Sync of the repository has got, in seconds.

        So many Syncs of one repository ask it as often as a few do, also when a webhook wakes them all.
        """
        if Cause.REQUEST in causes:
            return time.monotonic() - self._asked_at
        return 0.0 if before.failures else self.sync.spec.interval * _SHARED

    def _follow(self, known: Revision | None, deadline: Deadline, max_age: float) -> Revision:
        """The revision to keep to: the newest, or the last good one for as long as there is no newer that may be used.

        So drift is corrected while the repository is away, or holds what nobody trustworthy has signed.
        """
        try:
            revision = self._reconciler.resolve(self.sync, deadline, max_age)
        except SyncdError as error:
            if known is None or deadline.over:
                raise
            log.error("git not followed", reason=error.reason, error=str(error), kept_to=str(known))  # noqa: TRY400 - its words say it all
            self._unfollowed = error
            return known
        self._unfollowed = None
        return revision

    def _restraint(self) -> Restraint:
        """What the moment forbids; the next edge of a window wakes the Sync."""
        now, windows = _now(), self.sync.spec.windows
        if edge := next_edge(windows, now):
            with self._lock:
                self._agenda.replace(Cause.WINDOW, edge)
        return Restraint(
            changes=closed(windows, "All", now),
            correction=closed(windows, "Correction", now),
            resting=frozenset(self._paces.waiting(time.monotonic())),
        )

    def _wait_for_others(self, revision: Revision) -> str:
        """What keeps the Sync from applying a revision, if another Sync does; its next change wakes this one then.

        Raises:
            DependencyNotFoundError: It waits for a Sync that does not exist.
            DependencyCycleError: It waits for itself in the end.
        """
        look = self._board.status
        others = dependencies(self.sync)
        if not others:
            self._board.watch(self.sync.id, (), lambda: None)  # what it asked before it was changed
            return ""
        seen = standing(self.sync, revision, look)
        self._board.watch(self.sync.id, others, lambda: self._look_at_others(revision, seen))
        found = obstacle(self.sync, revision, look)  # looked for last, so that no change in between is missed
        if not found:
            self._board.watch(self.sync.id, (), lambda: None)
        elif self._asked != revision.commit:
            self._asked = revision.commit
            for name in lags_behind(self.sync, revision, look):
                self._ask(name)
        return found

    def _look_at_others(self, revision: Revision, seen: Standing) -> None:
        """A Sync that this one waits for has changed: wake up if that makes a difference."""
        if standing(self.sync, revision, self._board.status) != seen:
            self.trigger(Cause.DEPENDENCY)

    def _given_up(self, before: SyncStatus) -> SyncStatus:
        """It was told to stop: whoever goes on, in this process or the next, does what is left."""
        log.info("reconcile given up")
        self._board.put(before)
        return before

    def _failed(self, before: SyncStatus, error: SyncdError, durations: dict[str, float]) -> SyncStatus:
        if self._superseded:
            return report.superseded(before, durations, _now())
        ended = report.after_error(before, error, self._revision, durations, _now())
        log.error("reconcile failed", reason=error.reason, error=str(error), failures=ended.failures)
        self._board.put(ended, reconciled=True)
        return ended

    def _ended(self, before: SyncStatus, result: Reconciliation, causes: frozenset[Cause]) -> SyncStatus:
        now = _now()
        self.owner = result.owner
        found = self._ledger.update(result.outcomes, now)
        ended = report.after_reconcile(
            before,
            result,
            self._health.of,
            now,
            news=self._health.news(self.sync.id, result.owner),
            superseded=self._superseded,
            unfollowed=self._unfollowed,
        )
        ended = replace(ended, drift=self._ledger.records())
        ended = await_health(before, ended, self._explain, now)
        ended = report.with_fights(ended, self._fights(result.outcomes))
        _log(result, ended, causes)
        self._board.drifted(ended, found)
        self._board.put(ended, reconciled=True)
        return ended

    def _fights(self, outcomes: Iterable[Outcome]) -> tuple[Fight, ...]:
        """Take note of repairs; gives the tugs-of-war that go on."""
        now = time.monotonic()
        for outcome in outcomes:
            action = outcome.action
            if action.drift is None or not action.type.changes_cluster or outcome.status is not OutcomeStatus.DONE:
                continue
            if self._paces.repaired(action.key, now, action.drift.manager):
                log.warning("tug of war", object=str(action.key), manager=action.drift.manager)
        return tuple(Fight(key, pace.manager, pace.repairs) for key, pace in self._paces.fights(now))


def _now() -> datetime:
    return datetime.now(UTC)


def _log(result: Reconciliation, status: SyncStatus, causes: frozenset[Cause]) -> None:
    """One line for each action that changed or failed, and one for the reconcile."""
    for outcome in result.outcomes:
        action = outcome.action
        if outcome.status is not OutcomeStatus.DONE:
            names = {"action": action.type, "object": str(action.key), "reason": outcome.reason}
            log.error("action failed", **names, error=outcome.message)
        elif action.type.changes_cluster:
            fields = [change.path for change in action.changes[:5]]
            log.info("applied", action=action.type, object=str(action.key), reason=action.reason, fields=fields)
    log.info(
        "reconciled",
        state=status.state,
        reason=status.reason,
        causes=sorted(causes),
        **{name: value for name, value in _counts(status).items() if value},
        seconds={stage: round(seconds, 3) for stage, seconds in result.durations.items()},
    )


def _counts(status: SyncStatus) -> dict[str, int]:
    counts = status.counts
    return {name: getattr(counts, name) for name in counts.__slots__}
