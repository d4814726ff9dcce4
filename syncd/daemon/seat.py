"""Who works for one Sync: one worker at a time, so that a Sync that changes is never worked on twice at once."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from syncd.daemon.agenda import Cause
    from syncd.spec import Sync


class Worker(Protocol):
    """What is done for a Sync: it is kept in sync, or brought to its end."""

    sync: Sync
    owner: str
    """The uid of the apply-config object; "" while it is not known."""

    def run(self) -> None:
        """Do what is due; several runs may be under way at once."""

    def trigger(self, cause: Cause) -> None:
        """Have it run soon."""

    def stop(self) -> None:
        """Begin nothing any more, and give up what is under way at its next safe point. Does not wait for it."""


class Seat:
    """The place of one Sync. Safe to use from many threads."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._active = 0
        self._next: Callable[[], Worker | None] | None = None
        self.worker: Worker | None = None
        """None while there is nothing to do yet, or any more."""

    def replace(self, make: Callable[[], Worker | None]) -> None:
        """Have another worker, as soon as the present one has ended.

        Args:
            make: Called then, and once; not at all if it is replaced itself before that.
        """
        with self._lock:
            self._next = make
            if self.worker is not None:
                self.worker.stop()
        self._settle()

    def run(self) -> None:
        """Let the worker run."""
        with self._lock:
            worker = self.worker
            self._active += 1
        try:
            if worker is not None:
                worker.run()
        finally:
            with self._lock:
                self._active -= 1
            self._settle()

    def _settle(self) -> None:
        with self._lock:
            if self._active or self._next is None:
                return
            make, self._next = self._next, None
            self.worker = make()
