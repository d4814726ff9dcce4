"""How long to wait: before the next poll, after a failure, and while somebody undoes every repair."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from syncd.model import ObjectKey

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


def retry_delay(failures: int, interval: float, at_least: float = 0.0) -> float:
    """Seconds until the next attempt after so many failures in a row.

    Doubles from a second up to a minute, or to the interval if that is longer, since a fix may have been committed; the
    upper half of each step is random ("equal jitter"). ``at_least`` is what a server asked for (Retry-After).
    """
    step = min(_RETRY_BASE * float(2 ** min(failures - 1, 16)), max(_RETRY_CAP, interval))
    return at_least + step * random.uniform(0.5, 1.0)  # noqa: S311 - spreads load, guards nothing


@dataclass(slots=True)
class RepairPace:
    """Slows down repairs of one object that follow one another closely: somebody is undoing each of them.

    Attributes:
        repairs: How many there were in a row.
        last: When the last one was, on the clock of :func:`time.monotonic`.
        manager: Who undid it, as far as the object says.
    """

    repairs: int = 0
    last: float = float("-inf")
    manager: str = ""

    def repaired(self, now: float, manager: str = "") -> None:
        """Take note of a repair of what this field manager did."""
        self.repairs = self.repairs + 1 if self.is_recent(now) else 1
        self.last = now
        self.manager = manager or self.manager

    @property
    def is_fight(self) -> bool:
        """Whether there were so many repairs in a row that it is a tug-of-war."""
        return self.repairs > _FREE_REPAIRS

    def is_recent(self, now: float) -> bool:
        """Whether a repair now would be one in a row with the last."""
        return now - self.last < _QUIET

    def delay(self, now: float) -> float:
        """Seconds to wait before the next repair may begin: none for the first few, then twice as long each time."""
        if not self.is_fight or not self.is_recent(now):
            return 0.0
        wait = min(_REPAIR_CAP, 0.5 * float(2 ** min(self.repairs - _FREE_REPAIRS - 1, 16)))
        return max(0.0, self.last + wait - now)


class RepairPaces:
    """The pace of each object that was repaired lately; moments are those of :func:`time.monotonic`."""

    def __init__(self) -> None:
        self._paces: dict[ObjectKey, RepairPace] = {}

    def repaired(self, key: ObjectKey, now: float, manager: str) -> bool:
        """Take note of a repair; returns whether it has just turned out to be a tug-of-war."""
        pace = self._paces.setdefault(key, RepairPace())
        before = pace.is_fight and pace.is_recent(now)
        pace.repaired(now, manager)
        return pace.is_fight and not before

    def delay(self, key: ObjectKey, now: float) -> float:
        """Seconds that the next repair of one object has to wait."""
        pace = self._paces.get(key)
        return pace.delay(now) if pace else 0.0

    def waiting(self, now: float) -> dict[ObjectKey, float]:
        """The objects whose next repair has to wait, and for how many seconds."""
        self._paces = {key: pace for key, pace in self._paces.items() if pace.is_recent(now)}
        return {key: delay for key, pace in self._paces.items() if (delay := pace.delay(now))}

    def fights(self, now: float) -> Iterator[tuple[ObjectKey, RepairPace]]:
        """The objects that somebody and syncd are changing in turns."""
        return ((key, pace) for key, pace in sorted(self._paces.items()) if pace.is_fight and pace.is_recent(now))
