"""What one Sync is to be woken for, and when."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime


class Cause(StrEnum):
    """Why a Sync is woken."""

    POLL = "poll"
    """It is time to ask Git, or to try again."""
    EVENT = "event"
    """Somebody changed one of its objects, or a pause between repairs is over."""
    REQUEST = "request"
    """A person or a webhook asks for it."""
    DEPENDENCY = "dependency"
    """Another Sync, which this one waits for, has changed."""
    WINDOW = "window"
    """A window of the Sync has begun or ended."""
    HEALTH = "health"
    """Only the status of an object has changed, or the time to wait for one is over."""

    @property
    def asks_git(self) -> bool:
        """Whether a new revision is looked for."""
        return self in (Cause.POLL, Cause.REQUEST, Cause.DEPENDENCY)


class Agenda:
    """The next moment of each cause. Not safe for threads by itself."""

    def __init__(self) -> None:
        self._moments: dict[Cause, datetime] = {}

    def add(self, cause: Cause, moment: datetime) -> None:
        """Be woken for it then, or earlier if that is noted already."""
        self._moments[cause] = min(moment, self._moments.get(cause, moment))

    def replace(self, cause: Cause, moment: datetime) -> None:
        """Be woken for it then, and at no other time."""
        self._moments[cause] = moment

    def take(self, now: datetime) -> frozenset[Cause]:
        """The causes that are due; they are off the agenda then."""
        due = frozenset(cause for cause, moment in self._moments.items() if moment <= now)
        for cause in due:
            del self._moments[cause]
        return due

    def of(self, cause: Cause) -> datetime | None:
        """When the Sync is woken for this, if it is."""
        return self._moments.get(cause)

    def next(self) -> datetime | None:
        """When the Sync is woken next, if ever."""
        return min(self._moments.values(), default=None)
