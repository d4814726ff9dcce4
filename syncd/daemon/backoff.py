"""How long to wait: before the next poll, after a failure, and while somebody undoes every repair."""

from __future__ import annotations

import random
from dataclasses import dataclass

_JITTER = 0.05
"""Share of an interval by which polls are spread, so that many Syncs do not beat in step (Flux spreads by as much)."""
_RETRY_BASE = 1.0
_RETRY_CAP = 60.0
_FREE_REPAIRS = 3
_REPAIR_CAP = 60.0
_QUIET = 120.0
"""Seconds without a repair after which a tug-of-war counts as over."""


def poll_delay(interval: float) -> float:
    """Seconds until the next regular poll."""
    return interval * random.uniform(1 - _JITTER, 1 + _JITTER)  # noqa: S311 - spreads load, guards nothing


def retry_delay(failures: int, interval: float) -> float:
    """Seconds until the next attempt after so many failures in a row.

    Doubles from a second up to a minute, or to the interval if that is longer, since a fix may have been committed; the
    upper half of each step is random ("equal jitter").
    """
    step = min(_RETRY_BASE * float(2 ** min(failures - 1, 16)), max(_RETRY_CAP, interval))
    return step * random.uniform(0.5, 1.0)  # noqa: S311 - spreads load, guards nothing


@dataclass(slots=True)
class RepairPace:
    """Slows down repairs that follow one another closely: somebody is undoing each of them."""

    repairs: int = 0
    last: float = float("-inf")

    def repaired(self, now: float) -> None:
        """Take note of a repair, at a moment of :func:`time.monotonic`."""
        self.repairs = self.repairs + 1 if now - self.last < _QUIET else 1
        self.last = now

    def delay(self, now: float) -> float:
        """Seconds to wait before the next repair may begin: none for the first few, then twice as long each time."""
        if self.repairs <= _FREE_REPAIRS or now - self.last >= _QUIET:
            return 0.0
        wait = min(_REPAIR_CAP, 0.5 * float(2 ** min(self.repairs - _FREE_REPAIRS - 1, 16)))
        return max(0.0, self.last + wait - now)
