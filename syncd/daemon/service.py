"""The daemon: one scheduler, one loop for each Sync, and an orderly end."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import structlog
from apscheduler.events import EVENT_JOB_ERROR, EVENT_JOB_MAX_INSTANCES, JobExecutionEvent
from apscheduler.executors.pool import ThreadPoolExecutor as SchedulerPool
from apscheduler.jobstores.base import JobLookupError
from apscheduler.schedulers.background import BackgroundScheduler

from syncd.daemon.board import StatusBoard
from syncd.daemon.loop import Cause, SyncLoop
from syncd.engine.reconcile import PARALLEL_WRITES, Reconciler
from syncd.plan.desired import live_digest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from syncd.cluster import Cluster, Event
    from syncd.daemon.status import Listener
    from syncd.engine.sources import Sources
    from syncd.spec import Sync

log = structlog.get_logger("syncd")

DEFAULT_WORKERS = 4
"""Syncs that are reconciled at once."""
_FAR_AWAY = 10 * 365 * 24 * 3600
"""Seconds; the interval of a job whose next run is always set by its own loop."""

_AFTER_TROUBLE = timedelta(seconds=1)


class Daemon:
    """Keeps a cluster equal to what the Syncs' repositories say, until it is stopped."""

    def __init__(
        self,
        syncs: Iterable[Sync],
        cluster: Cluster,
        sources: Sources,
        *,
        listeners: Iterable[Listener] = (),
        workers: int = DEFAULT_WORKERS,
    ) -> None:
        self.board = StatusBoard(listeners, alive=self._alive)
        self._cluster = cluster
        self._stop = threading.Event()
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
        reconciler = Reconciler(cluster, sources, self._pool, syncs)
        self._loops = {
            sync.id: SyncLoop(sync, reconciler, cluster.live, self.board, wake=self._wake, stop=self._stop)
            for sync in syncs
        }

    def start(self) -> None:
        """Begin; every Sync that is not suspended is reconciled at once."""
        self._cluster.live.subscribe(self._on_event)
        for loop in self._loops.values():
            if not loop.sync.spec.suspend:
                self._scheduler.add_job(
                    loop.run, "interval", seconds=_FAR_AWAY, id=loop.sync.id, next_run_time=datetime.now(UTC)
                )
        self._scheduler.start()
        log.info("daemon started", syncs=len(self._loops))

    def trigger(self, sync_id: str) -> None:
        """Reconcile a Sync now.

        Raises:
            KeyError: There is no such Sync.
        """
        self._loops[sync_id].trigger(Cause.REQUEST)

    def stop(self, timeout: float = 30.0) -> bool:
        """End: work in hand finishes or is given up at its next safe point.

        Args:
            timeout: Seconds to wait for that.

        Returns:
            Whether everything ended in time.
        """
        self._stop.set()
        ender = threading.Thread(target=self._scheduler.shutdown, name="syncd-shutdown", daemon=True)
        ender.start()
        ender.join(timeout)
        in_time = not ender.is_alive()
        self._pool.shutdown(wait=in_time, cancel_futures=True)
        self._cluster.close()
        log.info("daemon stopped", in_time=in_time)
        return in_time

    def _on_trouble(self, event: JobExecutionEvent) -> None:
        """The scheduler could not run a job, or it died: it must not be the last that is heard of its Sync."""
        error = getattr(event, "exception", None)
        log.error("scheduler event", job=event.job_id, code=event.code, error=repr(error) if error else "")
        self._wake(event.job_id, datetime.now(UTC) + _AFTER_TROUBLE)

    def _alive(self) -> str:
        return "" if self._scheduler.running else "the scheduler is not running"

    def _wake(self, sync_id: str, moment: datetime) -> None:
        try:
            self._scheduler.modify_job(sync_id, next_run_time=moment)
        except JobLookupError:
            return  # it is suspended, or the daemon is ending

    def _on_event(self, event: Event) -> None:
        """A watched object was changed by somebody else."""
        known = event.new or event.old
        loop = next((loop for loop in self._loops.values() if known and known.apply_id == loop.owner), None)
        if loop is None or loop.sync.spec.suspend:
            return
        if event.old and event.new and live_digest(event.old.parse()) == live_digest(event.new.parse()):
            loop.refresh_health()
        else:
            loop.trigger(Cause.EVENT)
