"""When the watches of one cluster may try again after a failure.

Each waits for itself, longer with each failure. All together try at most once a second while nobody gets through, so
that forty watches do not hammer a server that is down; and as soon as one gets through, the others follow at once.
"""

from __future__ import annotations

import random
import threading
import time
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pace:
    """How soon to try again. Times are seconds."""

    first: float = 1.0
    cap: float = 30.0
    spacing: float = 1.0
    """Between two tries of all watches together, while nobody gets through."""
    follow: float = 0.2
    """Within which the others follow the first that gets through."""


class Pacer:
    """Hands out turns. Safe to use from many threads."""

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._changed = threading.Condition()
        self._failing = False
        self._recoveries = 0
        self._next_turn = 0.0

    def wait(self, failures: int, stop: threading.Event, *, at_least: float = 0.0, alone: bool = False) -> None:
        """Wait for a turn to try again, or until ``stop`` is set and :meth:`wake` called.

        Args:
            failures: How often in a row it went wrong.
            stop: Ends the wait.
            at_least: Seconds that the server asked for.
            alone: Whether the cause lies in this one kind, so that the success of another one says nothing.
        """
        pace = self._pace
        backoff = min(pace.cap, pace.first * 2.0 ** min(failures - 1, 16))
        ready = time.monotonic() + max(at_least, backoff * random.uniform(0.5, 1.0))  # noqa: S311 - jitter
        with self._changed:
            self._failing = True
            recoveries = self._recoveries
            while not stop.is_set():
                now = time.monotonic()
                if recoveries != self._recoveries and not alone and not at_least:
                    recoveries = self._recoveries
                    ready = min(ready, now + random.uniform(0, pace.follow))  # noqa: S311 - jitter
                turn = max(ready, self._next_turn if self._failing else 0.0)
                if now >= turn:
                    self._next_turn = now + pace.spacing
                    return
                self._changed.wait(turn - now)

    def recovered(self) -> None:
        """Say that a try got through after failures."""
        with self._changed:
            self._failing = False
            self._recoveries += 1
            self._changed.notify_all()

    def wake(self) -> None:
        """Make waiting threads look at their ``stop`` again."""
        with self._changed:
            self._changed.notify_all()
