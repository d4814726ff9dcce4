"""One of several replicas: works while it leads, and stands by otherwise."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, NamedTuple

import structlog

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from syncd.daemon.leadership import Leadership
    from syncd.daemon.service import Daemon
    from syncd.daemon.status import SyncStatus

log = structlog.get_logger("syncd")

_AFTER_TROUBLE = 5.0
"""Seconds until a term that could not begin is tried again."""
_ABORTED = 10.0
"""Seconds for what is under way to end once its requests have been cut."""


class Term(NamedTuple):
    """What works for as long as this replica leads; each term has a daemon and connections of its own."""

    daemon: Daemon
    stop: threading.Event
    """Ends what reads from Git, early."""
    abort: Callable[[], None]
    """Cuts every request in hand, at once, and forbids all further ones."""


class Replica:
    """Runs a daemon while it leads; it has the shape of a daemon itself, and of its board.

    A term that is over by the clock is aborted: no request of it lives on. The next one begins with an empty memory, as
    after a restart, which is a state that needs no thinking about.

    Args:
        leadership: Says when.
        begin: Makes ready for a term, whose writes ask the given fence.
    """

    def __init__(
        self, leadership: Leadership, begin: Callable[[Callable[[], None]], AbstractContextManager[Term]]
    ) -> None:
        self._leadership = leadership
        self._begin = begin
        self._stop = threading.Event()
        self._stop_seconds = 0.0
        self._daemon: Daemon | None = None
        self._thread = threading.Thread(target=self._run, name="syncd-replica", daemon=True)

    @property
    def board(self) -> Replica:
        """What pages, probes and metrics read."""
        return self

    def start(self) -> None:
        """Take part in the election, and work whenever this replica leads."""
        self._leadership.start()
        self._thread.start()

    def trigger(self, sync_id: str) -> None:
        """Reconcile a Sync now.

        Raises:
            KeyError: There is no such Sync here, now.
        """
        daemon = self._daemon
        if daemon is None:
            raise KeyError(sync_id)
        daemon.trigger(sync_id)

    def stop(self, timeout: float = 30.0) -> bool:
        """End: work in hand ends as that of a daemon does, then another replica may lead, at once.

        Returns:
            Whether everything ended in time.
        """
        self._stop_seconds = timeout
        self._stop.set()
        self._leadership.wake()
        self._thread.join(timeout + _ABORTED)
        in_time = not self._thread.is_alive()
        self._leadership.stop(release=in_time)
        return in_time

    # --- the board ------------------------------------------------------------------------------------------------

    def statuses(self) -> tuple[SyncStatus, ...]:
        """A snapshot of every Sync; none while this replica stands by."""
        daemon = self._daemon
        return daemon.board.statuses() if daemon else ()

    def status(self, sync_id: str) -> SyncStatus | None:
        """A snapshot of one Sync."""
        daemon = self._daemon
        return daemon.board.status(sync_id) if daemon else None

    def ready(self) -> str:
        """Empty when this replica works, or could take over; else why not."""
        daemon = self._daemon
        return daemon.board.ready() if daemon else self._leadership.problem()

    def alive(self) -> str:
        """Empty when the loops run that should; else which one does not."""
        if not (self._leadership.alive() and self._thread.is_alive()):
            return "the leader election is not running"
        daemon = self._daemon
        return daemon.board.alive() if daemon else ""

    def standby(self) -> str:
        """Empty while this replica works; else why it does not."""
        if self._daemon is not None:
            return ""
        holder = self._leadership.holder()
        return f"{holder} leads" if holder not in ("", self._leadership.identity) else "no replica leads yet"

    def leader(self) -> str:
        """Where the replica that leads is served, if that is another one."""
        return "" if self._daemon is not None else self._leadership.leader()

    # --- terms ----------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        while term := self._leadership.await_won(self._stop):
            try:
                with self._begin(self._leadership.fence(term)) as work:
                    self._serve(term, work)
            except Exception:
                # Whatever it is, it must not be the end of this replica: the other one may be worse off
                log.exception("this replica leads, and cannot work")
                self._stop.wait(_AFTER_TROUBLE)

    def _serve(self, term: int, work: Term) -> None:
        ended = threading.Event()
        watchdog = threading.Thread(target=self._abort_when_lost, args=(term, work, ended), name="syncd-term")
        watchdog.start()
        try:
            work.daemon.start()
            self._daemon = work.daemon
            self._leadership.await_lost(term, self._stop)
        finally:
            work.stop.set()
            work.daemon.stop(self._stop_seconds or _ABORTED)
            self._daemon = None
            ended.set()
            self._leadership.wake()
            watchdog.join()

    def _abort_when_lost(self, term: int, work: Term, ended: threading.Event) -> None:
        self._leadership.await_lost(term, ended)
        work.abort()  # also when all has ended well, which does no harm
