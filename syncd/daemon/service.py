"""The daemon: one scheduler, one worker for each Sync, and an orderly end. Syncs come, change and go while it runs."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Protocol

import structlog
from apscheduler.events import EVENT_JOB_ERROR, EVENT_JOB_MAX_INSTANCES, JobExecutionEvent
from apscheduler.executors.pool import ThreadPoolExecutor as SchedulerPool
from apscheduler.jobstores.base import JobLookupError
from apscheduler.schedulers.background import BackgroundScheduler

from syncd.daemon.agenda import Cause
from syncd.daemon.board import StatusBoard
from syncd.daemon.ending import Ending
from syncd.daemon.loop import SyncLoop
from syncd.daemon.seat import Seat
from syncd.engine.perform import PARALLEL_WRITES
from syncd.engine.reconcile import Reconciler
from syncd.plan.desired import live_digest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from syncd.cluster import Cluster, Event, LiveCache
    from syncd.daemon.removal import Removal
    from syncd.daemon.seat import Worker
    from syncd.daemon.status import Listener
    from syncd.engine.sources import Sources
    from syncd.spec import Sync

log = structlog.get_logger("syncd")

DEFAULT_WORKERS = 4
"""Syncs that are reconciled at once."""
_FAR_AWAY = 10 * 365 * 24 * 3600
"""Seconds; the interval of a job whose next run is always set by its own loop."""

_AFTER_TROUBLE = timedelta(seconds=1)


class Companion(Protocol):
    """What works beside a daemon, for as long as it does."""

    def start(self, daemon: Daemon) -> None:
        """Begin; called once, when the daemon runs."""

    def stop(self) -> None:
        """End, within seconds; called once, before the daemon ends."""


class Daemon:
    """Keeps a cluster equal to what the Syncs' repositories say, until it is stopped."""

    def __init__(
        self,
        syncs: Iterable[Sync],
        cluster: Cluster,
        sources: Sources,
        *,
        listeners: Iterable[Listener] = (),
        companions: Iterable[Companion] = (),
        workers: int = DEFAULT_WORKERS,
        default_account: str = "",
    ) -> None:
        """Make ready.

        Args:
            syncs: What to follow at first.
            cluster: Where to.
            sources: Where from.
            listeners: Who is told of what happens.
            companions: Who begins and ends with it.
            workers: How many Syncs are worked on at once.
            default_account: The ServiceAccount of Syncs that name none; "" for the daemon's own name.
        """
        self.board = StatusBoard(listeners, alive=self._alive)
        self._cluster = cluster
        self._pool = ThreadPoolExecutor(PARALLEL_WRITES * 2, thread_name_prefix="syncd-request")
        self._scheduler = BackgroundScheduler(
            timezone="UTC",
            executors={"default": SchedulerPool(workers)},
            # Two instances, because a run may ask to be woken at once just before it ends; it makes sure itself that
            # only one works. With one, the scheduler would drop that wake-up.
            job_defaults={"coalesce": True, "max_instances": 2, "misfire_grace_time": None},
        )
        self._scheduler.add_listener(self._on_trouble, EVENT_JOB_ERROR | EVENT_JOB_MAX_INSTANCES)
        syncs = tuple(syncs)
        self._reconciler = Reconciler(cluster, sources, self._pool, syncs, default_account=default_account)
        self._lock = threading.Lock()
        self._stopping = False
        self._companions = tuple(companions)
        self._seats: dict[str, Seat] = {}
        for sync in syncs:
            self.put(sync)

    def start(self) -> None:
        """Begin; every Sync that is not suspended is reconciled at once."""
        self._cluster.subscribe(self._on_event)
        self._scheduler.start()
        for companion in self._companions:
            companion.start(self)
        log.info("daemon started", syncs=len(self._seats))

    def put(self, sync: Sync) -> None:
        """Follow a Sync from now on: a new one, or instead of one of the same name. May be called at any time.

        What is under way for the one before is given up at its next safe point.
        """
        self._reconciler.follow(sync)
        self._seat(sync.id, lambda: self._follow(sync))

    def end(self, sync: Sync, ended: Callable[[], None], removal: Callable[[], Removal]) -> None:
        """Bring a Sync to its end: delete or release its objects, as its deletion policy says, and its inventory.

        Args:
            sync: The Sync; nothing of it is rendered.
            ended: Called when nothing is left. It may raise a :class:`SyncdError`, and is called again then.
            removal: Finds out how the Sync comes to be deleted. It may raise a :class:`SyncdError`; nothing is done
                then.
        """
        self._reconciler.drop_claims(sync.id)
        self._seat(sync.id, lambda: self._bring_to_its_end(sync, ended, removal))

    def forget(self, sync_id: str) -> None:
        """Follow a Sync no more. Its objects stay, and so does its inventory."""
        self._seat(sync_id, lambda: self._leave(sync_id, lambda: self.board.remove(sync_id)))

    def refuse(self, sync: Sync, problems: tuple[str, ...]) -> None:
        """Follow a Sync no more because it does not hold, and show why. Its objects stay, and so does its inventory.

        Args:
            sync: What can be read of it.
            problems: What is wrong with it; at least one sentence.
        """
        self._seat(sync.id, lambda: self._leave(sync.id, lambda: self.board.refuse(sync, problems)))

    def trigger(self, sync_id: str) -> None:
        """Reconcile a Sync now.

        Raises:
            KeyError: There is no such Sync.
        """
        worker = self._seats[sync_id].worker
        if worker is None:
            raise KeyError(sync_id)
        worker.trigger(Cause.REQUEST)

    def stop(self, timeout: float = 30.0) -> bool:
        """End: work in hand finishes or is given up at its next safe point.

        Args:
            timeout: Seconds to wait for that.

        Returns:
            Whether everything ended in time.
        """
        for companion in self._companions:
            companion.stop()
        with self._lock:
            self._stopping = True
            seats = tuple(self._seats.values())
        for seat in seats:
            seat.replace(lambda: None)
        ender = threading.Thread(target=self._scheduler.shutdown, name="syncd-shutdown", daemon=True)
        ender.start()
        ender.join(timeout)
        in_time = not ender.is_alive()
        self._pool.shutdown(wait=in_time, cancel_futures=True)
        self._cluster.close()
        log.info("daemon stopped", in_time=in_time)
        return in_time

    def _seat(self, sync_id: str, make: Callable[[], Worker | None]) -> None:
        """Give a Sync another worker."""
        with self._lock:
            if self._stopping:
                return
            seat = self._seats.get(sync_id)
            if seat is None:
                seat = self._seats[sync_id] = Seat()
        seat.replace(make)

    def _follow(self, sync: Sync) -> Worker:
        live = self._reconciler.cluster_of(sync).live
        loop = SyncLoop(sync, self._reconciler, live, self.board, wake=self._wake, ask=self._ask)
        if sync.spec.suspend:
            self._unschedule(sync.id)
        else:
            self._schedule(sync.id)
        return loop

    def _bring_to_its_end(self, sync: Sync, ended: Callable[[], None], removal: Callable[[], Removal]) -> Worker:
        ending = Ending(sync, self._reconciler, self.board, wake=self._wake, ended=ended, removal=removal)
        self._schedule(sync.id)
        return ending

    def _leave(self, sync_id: str, tell: Callable[[], None]) -> None:
        self._unschedule(sync_id)
        self._reconciler.forget(sync_id)
        tell()

    def _schedule(self, sync_id: str) -> None:
        """Have a Sync's worker run now, and whenever it asks to be woken."""
        self._scheduler.add_job(
            self._run,
            "interval",
            args=[sync_id],
            seconds=_FAR_AWAY,
            id=sync_id,
            next_run_time=datetime.now(UTC),
            replace_existing=True,
        )

    def _unschedule(self, sync_id: str) -> None:
        with suppress(JobLookupError):
            self._scheduler.remove_job(sync_id)

    def _run(self, sync_id: str) -> None:
        seat = self._seats.get(sync_id)
        if seat is not None:
            seat.run()

    def _on_trouble(self, event: JobExecutionEvent) -> None:
        """The scheduler could not run a job, or it died: it must not be the last that is heard of its Sync."""
        error = getattr(event, "exception", None)
        log.error("scheduler event", job=event.job_id, code=event.code, error=repr(error) if error else "")
        self._wake(event.job_id, datetime.now(UTC) + _AFTER_TROUBLE)

    def _alive(self) -> str:
        return "" if self._scheduler.running else "the scheduler is not running"

    def _ask(self, sync_id: str) -> None:
        """Have a Sync that another one waits for look for a new revision; no more than a hint."""
        with suppress(KeyError):
            self.trigger(sync_id)

    def _wake(self, sync_id: str, moment: datetime) -> None:
        try:
            self._scheduler.modify_job(sync_id, next_run_time=moment)
        except JobLookupError:
            return  # it is suspended, or the daemon is ending

    def _on_event(self, live: LiveCache, event: Event) -> None:
        """A watched object was changed by somebody else than the user whose cache this is."""
        known = event.new or event.old
        workers = (seat.worker for seat in tuple(self._seats.values()))
        worker = next((worker for worker in workers if worker and known and known.apply_id == worker.owner), None)
        if not isinstance(worker, SyncLoop) or worker.live is not live or worker.sync.spec.suspend:
            return
        if event.old and event.new and live_digest(event.old.parse()) == live_digest(event.new.parse()):
            worker.trigger(Cause.HEALTH)
        else:
            worker.trigger(Cause.EVENT, event.key)
