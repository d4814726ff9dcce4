"""How long a reconcile may go on, and whether it has been told to stop."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field

from syncd.model import SyncdError

_REQUEST = 30.0
"""Seconds; longer than the 10 that an admission webhook has by default."""


class StoppedError(SyncdError):
    """The work was told to stop, or its time ran out, before it was done."""

    reason = "Stopped"


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment by which work has to end, and an event that ends it earlier.

    Attributes:
        at: On the clock of :func:`time.monotonic`, in seconds.
        stop: Set by whoever wants the work to end at its next safe point.
    """

    at: float
    stop: threading.Event = field(default_factory=threading.Event)

    @classmethod
    def after(cls, seconds: float, stop: threading.Event | None = None) -> Deadline:
        """A deadline so many seconds from now."""
        return cls(time.monotonic() + seconds, stop or threading.Event())

    @property
    def left(self) -> float:
        """Seconds that are left, never negative."""
        return max(0.0, self.at - time.monotonic())

    @property
    def request(self) -> float:
        """Seconds that one request may take: what is left, but no more than any request should need."""
        return min(self.left, _REQUEST)

    @property
    def over(self) -> bool:
        """Whether the work has to end now."""
        return self.stop.is_set() or self.left <= 0

    def check(self, doing: str) -> None:
        """Raise if the work has to end now.

        Raises:
            StoppedError: It has; the text says what was being done.
        """
        if self.stop.is_set():
            raise StoppedError(f"stopped while {doing}")
        if self.left <= 0:
            raise StoppedError(f"the Sync's timeout ran out while {doing}")

    def wait(self, seconds: float) -> None:
        """Sleep, but no longer than the work may go on."""
        self.stop.wait(min(seconds, self.left))
