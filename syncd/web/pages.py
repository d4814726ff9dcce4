"""The HTML pages: from snapshots to text, with everything escaped."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined

from syncd import __version__
from syncd.daemon.dependencies import dependencies
from syncd.daemon.status import SyncState
from syncd.health import Health
from syncd.model import ActionType, OutcomeStatus
from syncd.spec.objects import has_source
from syncd.web import text
from syncd.web.query import ObjectQuery, Show, SyncQuery

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime

    from syncd.daemon.status import DriftRecord, ObjectStatus, SyncStatus
    from syncd.model import ObjectKey

    Clock = Callable[[], datetime]

_SYMBOLS: Final[dict[str, str]] = {
    SyncState.SYNCED: "synced",
    SyncState.OUT_OF_SYNC: "out-of-sync",
    SyncState.UNKNOWN: "unknown",
    **{health: health.value.lower() for health in Health},
    **{action: action.value for action in ActionType},
}


class Pages:
    """Renders the pages.

    Args:
        clock: The time now, with a time zone.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._environment = Environment(
            loader=PackageLoader("syncd.web"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.globals.update(
            version=__version__, symbols=_SYMBOLS, ActionType=ActionType, Health=Health, OutcomeStatus=OutcomeStatus
        )
        self._environment.tests.update(known_source=has_source)
        self._environment.filters.update(
            absolute=text.absolute, diff=text.diff, setting=text.setting, took=text.took, asking=_asking
        )

    def overview(
        self, statuses: Sequence[SyncStatus], query: SyncQuery, *, not_ready: str, standby: str, root: str
    ) -> str:
        """All Syncs that match, worst first."""
        return self._render(
            "syncs.html",
            root=root,
            not_ready=not_ready,
            standby=standby,
            query=query,
            syncs=query.select(statuses),
            total=len(statuses),
            failing=sum(1 for status in statuses if status.error),
            drifted=sum(1 for status in statuses if open_drift(status)),
            states=_tally(SyncState, [status.state for status in statuses]),
            healths=_tally(Health, [status.health or Health.UNKNOWN for status in statuses]),
            open_drift=open_drift,
        )

    def sync(self, status: SyncStatus, query: ObjectQuery, *, root: str) -> str:
        """All about one Sync."""
        return self._render(
            "sync.html",
            root=root,
            status=status,
            spec=status.sync.spec,
            query=query,
            page=query.select(status.objects),
            shows=[(show, sum(1 for item in status.objects if show.includes(item))) for show in Show],
            health_reason=_health_reason(status),
            renderers=list(status.sync.spec.render.model_dump(exclude_none=True)),
            dependencies=dependencies(status.sync),
            drift=open_drift(status),
            repaired=[record for record in status.drift if record.corrected_at is not None],
            prunes=_prunes(status.objects),
        )

    def error(self, code: int, title: str, message: str, *, root: str) -> str:
        """What went wrong with a request."""
        return self._render("error.html", root=root, code=code, title=title, message=message)

    def _render(self, template: str, **values: Any) -> str:
        now = self._clock()

        def ago(value: datetime) -> str:
            return text.ago(value, now)

        def lasting(value: datetime) -> str:
            return text.span(max(0.0, (now - value).total_seconds()))

        return self._environment.get_template(template).render(now=now, ago=ago, lasting=lasting, **values)


def open_drift(status: SyncStatus) -> list[DriftRecord]:
    """The drift that is there now, not yet repaired."""
    return [record for record in status.drift if record.corrected_at is None]


def _is_pending_prune(item: ObjectStatus) -> bool:
    return item.action is ActionType.PRUNE and item.outcome is not OutcomeStatus.DONE


class _Prunes(NamedTuple):
    """Objects that left Git, are still there, and share why."""

    action: ActionType
    reason: str
    why: str
    keys: list[ObjectKey]


def _prunes(objects: Iterable[ObjectStatus]) -> list[_Prunes]:
    """What is kept, and what is still to be pruned, which comes first; by reason, for a budget holds many at once."""
    found: dict[tuple[ActionType, str, str], _Prunes] = {}
    for item in objects:
        if item.action is ActionType.KEEP or _is_pending_prune(item):
            group = item.action, item.reason, item.error or item.message
            found.setdefault(group, _Prunes(*group, [])).keys.append(item.key)
    return sorted(found.values(), key=lambda group: group.action is ActionType.KEEP)


def _health_reason(status: SyncStatus) -> str:
    """Which object makes the Sync as unhealthy as it is."""
    if status.health in (None, Health.HEALTHY):
        return ""
    blamed = [item for item in status.objects if item.health is status.health]
    if not blamed:
        return ""
    more = f" (and {len(blamed) - 1} more)" if len(blamed) > 1 else ""
    why = f": {blamed[0].health_message}" if blamed[0].health_message else ""
    return f"{blamed[0].key.display()}{why}{more}"


def _tally(words: type[SyncState | Health], values: Sequence[SyncState | Health]) -> list[tuple[str, int]]:
    """How often each word occurs, without those that do not, in the order of the words."""
    counted = Counter(values)
    return [(word.value, counted[word]) for word in words if counted[word]]


def _asking(query: SyncQuery | ObjectQuery, **changes: object) -> str:
    """A query string that asks for the same as ``query`` but for the changes; "" when that is nothing."""
    fields = {name: getattr(query, name) for name in query.__dataclass_fields__} | changes
    defaults = type(query)()
    asked = {name: str(value) for name, value in fields.items() if value and value != getattr(defaults, name)}
    return "?" + urlencode(asked) if asked else "?"
