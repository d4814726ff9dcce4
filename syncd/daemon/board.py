"""Where the newest status of every Sync hangs, and who is told when it changes."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from syncd.daemon.status import Counts, SyncState, SyncStatus
from syncd.spec import SpecError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from syncd.daemon.status import DriftRecord, Listener
    from syncd.spec import Sync


class StatusBoard:
    """The snapshots of all Syncs; may be read and written by any thread."""

    def __init__(self, listeners: Iterable[Listener] = (), *, alive: Callable[[], str] = lambda: "") -> None:
        self._alive = alive
        self._required: list[Callable[[], str]] = []
        self._was_ready = False
        self._statuses: dict[str, SyncStatus] = {}
        self._listeners = tuple(listeners)
        self._lock = threading.Lock()
        self._watchers: dict[str, tuple[frozenset[str], Callable[[], None]]] = {}

    def statuses(self) -> tuple[SyncStatus, ...]:
        """A snapshot of every Sync, sorted by id."""
        with self._lock:
            return tuple(status for _, status in sorted(self._statuses.items()))

    def status(self, sync_id: str) -> SyncStatus | None:
        """A snapshot of one Sync."""
        return self._statuses.get(sync_id)

    def ready(self) -> str:
        """Empty once every Sync that is not suspended has been tried once, else which has not.

        It stays empty from then on: a Sync that is added later makes nobody unready.
        """
        if not self._was_ready:
            for status in self.statuses():
                if status.last_attempt is None and not status.sync.spec.suspend:
                    return f"{status.id} has not been reconciled yet"
            for check in self._required:
                if problem := check():
                    return problem
            self._was_ready = True
        return ""

    def require(self, check: Callable[[], str]) -> None:
        """Have something else hold as well before it is ready; ``check`` gives "" if it does, else what is missing."""
        self._required.append(check)

    def alive(self) -> str:
        """Empty when the daemon's own loops run, else which one does not."""
        return self._alive()

    def standby(self) -> str:
        """Empty: what has a board works."""
        return ""

    def leader(self) -> str:
        """Empty: there is no other."""
        return ""

    def put(self, status: SyncStatus, *, reconciled: bool = False) -> None:
        """Replace a Sync's snapshot; ``reconciled`` says that it is the result of a reconcile."""
        with self._lock:
            self._statuses[status.id] = status
        for listener in self._listeners:
            listener.status_changed(status)
            if reconciled:
                listener.reconciled(status)

        self._tell_watchers(status.id)

    def watch(self, watcher: str, sync_ids: Iterable[str], changed: Callable[[], None]) -> None:
        """Have ``changed`` called whenever one of these Syncs changes, instead of what the watcher asked before.

        It is called from the thread that changes the status, and must return soon.
        """
        with self._lock:
            if wanted := frozenset(sync_ids):
                self._watchers[watcher] = wanted, changed
            else:
                self._watchers.pop(watcher, None)

    def recall(self, status: SyncStatus) -> None:
        """Know of a Sync what an earlier process knew, unless it is known better."""
        if self.status(status.id) is None:
            self.put(status)

    def begin(self, sync: Sync) -> None:
        """Give a Sync its place; what is known of it already stays, though it may ask for something else now."""
        known = self.status(sync.id)
        self.put(replace(known, sync=sync, reconciling=False, next_attempt=None) if known else SyncStatus(sync))

    def refuse(self, sync: Sync, problems: tuple[str, ...]) -> None:
        """Show a Sync that does not hold, and why; what is known of its objects is from before."""
        now = datetime.now(UTC)
        known = self.status(sync.id) or SyncStatus(sync)
        status = replace(
            known,
            sync=sync,
            state=SyncState.UNKNOWN,
            reason=SpecError.reason,
            error="; ".join(problems),
            problems=problems,
            message="",
            failures=known.failures + 1,
            failing_since=known.failing_since or now,
            reconciling=False,
            last_attempt=now,
            next_attempt=None,
            durations={},
            counts=Counts(),
        )
        self.put(status, reconciled=True)

    def remove(self, sync_id: str) -> None:
        """Take a Sync that is no more off the board."""
        with self._lock:
            known = self._statuses.pop(sync_id, None)
            self._watchers.pop(sync_id, None)
        if known is not None:
            for listener in self._listeners:
                listener.sync_removed(sync_id)
            self._tell_watchers(sync_id)

    def drifted(self, status: SyncStatus, records: Iterable[DriftRecord]) -> None:
        """Tell of drift that was not known before."""
        for record in records:
            for listener in self._listeners:
                listener.drift_found(status.sync, record)

    def _tell_watchers(self, sync_id: str) -> None:
        with self._lock:
            told = [changed for wanted, changed in self._watchers.values() if sync_id in wanted]
        for changed in told:
            changed()
