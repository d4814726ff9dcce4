"""Which Syncs and objects a page shows, and in which order."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final, TypeVar

from syncd.daemon.status import SyncState
from syncd.health import Health
from syncd.model import ActionType, InvalidInputError, OutcomeStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from syncd.daemon.status import ObjectStatus, SyncStatus
    from syncd.model import ObjectKey

PAGE_SIZE: Final = 200
_STATES: Final = {SyncState.UNKNOWN: 3, SyncState.OUT_OF_SYNC: 2, SyncState.SYNCED: 0}
_NOT_TRIED_YET: Final = 1

_Word = TypeVar("_Word", bound=StrEnum)


class QueryError(InvalidInputError):
    """A query parameter that says nothing."""

    reason = "InvalidQuery"


@dataclass(frozen=True, slots=True)
class SyncQuery:
    """Which Syncs to show; None and "" ask for nothing."""

    state: SyncState | None = None
    health: Health | None = None
    name: str = ""
    """A part of ``namespace/name``, in any case."""

    @classmethod
    def parse(cls, parameters: Mapping[str, str]) -> SyncQuery:
        """Read query parameters; unknown ones are left to others.

        Raises:
            QueryError: A word that is not one of those to choose from.
        """
        return cls(
            state=_word(SyncState, "state", parameters),
            health=_word(Health, "health", parameters),
            name=parameters.get("name", "").strip(),
        )

    def select(self, statuses: Iterable[SyncStatus]) -> list[SyncStatus]:
        """Those that match, worst first."""
        return sorted(filter(self._matches, statuses), key=_badness)

    def _matches(self, status: SyncStatus) -> bool:
        return (
            (self.state is None or status.state is self.state)
            and (self.health is None or (status.health or Health.UNKNOWN) is self.health)
            and self.name.lower() in status.id.lower()
        )


def _badness(status: SyncStatus) -> tuple[bool, int, int, bool, str]:
    """Sorts the worst first: errors, then state, then health, then those that are told to rest."""
    tried = status.last_attempt is not None
    state = _STATES[status.state] if tried else _NOT_TRIED_YET
    health = status.health.severity if status.health else 0
    return (not status.error, -state, -health, not status.sync.spec.suspend, status.id)


class Show(StrEnum):
    """Which of a Sync's objects to list."""

    ALL = "all"
    FAILED = "failed"
    CHANGED = "changed"
    KEPT = "kept"
    SKIPPED = "skipped"
    UNHEALTHY = "unhealthy"

    def includes(self, item: ObjectStatus) -> bool:
        """Whether the object is one of them."""
        return _INCLUDED[self](item)


_INCLUDED: Final[dict[Show, Callable[[ObjectStatus], bool]]] = {
    Show.ALL: lambda _: True,
    Show.FAILED: lambda item: item.outcome is not OutcomeStatus.DONE or bool(item.error),
    Show.CHANGED: lambda item: item.action.changes_cluster,
    Show.KEPT: lambda item: item.action is ActionType.KEEP,
    Show.SKIPPED: lambda item: item.action is ActionType.SKIP,
    Show.UNHEALTHY: lambda item: item.health not in (None, Health.HEALTHY),
}


@dataclass(frozen=True, slots=True)
class ObjectQuery:
    """Which objects of a Sync to show."""

    show: Show = Show.ALL
    name: str = ""
    """A part of the object's display name, in any case."""
    page: int = 1

    @classmethod
    def parse(cls, parameters: Mapping[str, str]) -> ObjectQuery:
        """Read query parameters; unknown ones are left to others.

        Raises:
            QueryError: A word that is not one of those to choose from, or a page that is no number.
        """
        page = parameters.get("page") or "1"
        if not (page.isascii() and page.isdigit() and int(page[:9]) > 0 and len(page) < 10):
            raise QueryError("page must be a number from 1")
        return cls(_word(Show, "show", parameters) or Show.ALL, parameters.get("name", "").strip(), int(page))

    def select(self, objects: Iterable[ObjectStatus]) -> ObjectPage:
        """Those that match, worst first, a page of them."""
        part = self.name.lower()
        found = [item for item in objects if self.show.includes(item) and (not part or part in _shown(item))]
        found.sort(key=_object_badness)
        pages = max(1, -(-len(found) // PAGE_SIZE))
        page = min(self.page, pages)
        start = (page - 1) * PAGE_SIZE
        return ObjectPage(found[start : start + PAGE_SIZE], len(found), page, pages, start)


@dataclass(frozen=True, slots=True)
class ObjectPage:
    """One page of a list of objects.

    Attributes:
        items: The objects of this page.
        total: How many there are on all pages.
        page: Which page this is, from 1.
        pages: How many there are.
        start: How many come before this page.
    """

    items: Sequence[ObjectStatus]
    total: int
    page: int
    pages: int
    start: int


_ACTIONS: Final = (
    ActionType.PRUNE,
    ActionType.CREATE,
    ActionType.UPDATE,
    ActionType.KEEP,
    ActionType.SKIP,
    ActionType.UNCHANGED,
)


def _shown(item: ObjectStatus) -> str:
    return item.key.display().lower()


def _object_badness(item: ObjectStatus) -> tuple[bool, int, int, ObjectKey]:
    health = item.health.severity if item.health else 0
    return (not Show.FAILED.includes(item), -health, _ACTIONS.index(item.action), item.key)


def _word(words: type[_Word], name: str, parameters: Mapping[str, str]) -> _Word | None:
    value = parameters.get(name, "")
    if not value:
        return None
    for word in words:
        if word.value.lower() == value.lower():
            return word
    raise QueryError(f"{name} must be one of {', '.join(words)}")
