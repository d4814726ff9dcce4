"""``wait: true``: a Sync has succeeded once its objects are healthy, and not before. Pure."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from syncd.daemon.status import HistoryEntry
from syncd.health import Health
from syncd.model import ActionType

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from syncd.daemon.status import ObjectStatus, SyncStatus
    from syncd.model import ObjectKey

    Explain = Callable[[Sequence[ObjectKey]], Mapping[ObjectKey, Sequence[str]]]
    """What the cluster says about why objects are not ready, in lines; asked once for each new report."""

SUCCEEDED: Final = "Succeeded"
PROGRESSING: Final = "Progressing"
NOT_HEALTHY: Final = "HealthCheckFailed"

_JUDGED = frozenset({SUCCEEDED, PROGRESSING, NOT_HEALTHY})
_SETTLED = frozenset({Health.HEALTHY, Health.SUSPENDED, None})
_LEFT_GIT = frozenset({ActionType.PRUNE, ActionType.KEEP})
_EXPLAINED: Final = 5
"""Objects whose events are read for one report."""
_HISTORY: Final = 20


def unready(status: SyncStatus) -> tuple[ObjectStatus, ...]:
    """The objects in Git that are not healthy; what somebody suspended is as it should be."""
    return tuple(item for item in status.objects if item.health not in _SETTLED and item.action not in _LEFT_GIT)


def ends_waiting(status: SyncStatus) -> datetime | None:
    """When the patience of a Sync that waits runs out; None for one that does not wait."""
    if status.reason != PROGRESSING or status.waiting_since is None:
        return None
    return status.waiting_since + timedelta(seconds=status.sync.spec.timeout)


def await_health(before: SyncStatus, status: SyncStatus, explain: Explain, now: datetime) -> SyncStatus:
    """Judge a Sync that has applied all it should, by the health of its objects.

    Args:
        before: The status before the reconcile, or before the look, that made ``status``.
        status: The status with its objects' present health.
        explain: Asks the cluster about objects.
        now: The present moment.
    """
    if not status.sync.spec.wait or status.reason not in _JUDGED:
        return replace(status, waiting_since=None)
    waited_for = unready(status)
    if not waited_for:
        done = before.reason in (PROGRESSING, NOT_HEALTHY)
        return replace(
            status,
            reason=SUCCEEDED,
            error="",
            problems=(),
            message="",
            waiting_since=None,
            failing_since=None,
            last_success=now if done else status.last_success,
        )
    since = before.waiting_since if before.waiting_since and _tree(before) == _tree(status) else now
    status = replace(status, waiting_since=since, last_success=before.last_success)
    hopeless = all(item.health is Health.DEGRADED for item in waited_for)
    if hopeless or now >= since + timedelta(seconds=status.sync.spec.timeout):
        return _not_healthy(before, status, waited_for, explain, now)
    more = f" and {len(waited_for) - 1} more" if len(waited_for) > 1 else ""
    message = f"waiting for {_why(waited_for[0])}{more}"
    return replace(status, reason=PROGRESSING, message=message, error="", problems=(), failing_since=None)


def _not_healthy(
    before: SyncStatus, status: SyncStatus, blamed: tuple[ObjectStatus, ...], explain: Explain, now: datetime
) -> SyncStatus:
    """The report that waiting was in vain; the same as before for as long as it is about the same objects."""
    status = replace(status, reason=NOT_HEALTHY, message="")
    if before.reason == NOT_HEALTHY and _tree(before) == _tree(status) and _blamed(before) == _blamed(status):
        return replace(status, error=before.error, problems=before.problems, failing_since=before.failing_since)
    explained = explain([item.key for item in blamed[:_EXPLAINED]])
    problems = tuple("; ".join((_why(item), *explained.get(item.key, ()))) for item in blamed)
    assert status.waiting_since is not None  # noqa: S101 - set by the only caller
    waited = (now - status.waiting_since).total_seconds()
    more = f"; and {len(problems) - 1} more" if len(problems) > 1 else ""
    error = f"not healthy after {waited:.0f} s: {problems[0]}{more}"
    entry = HistoryEntry(now, status.applied, status.counts, waited, error)
    return replace(
        status, error=error, problems=problems, failing_since=now, history=(entry, *status.history)[:_HISTORY]
    )


def _blamed(status: SyncStatus) -> list[tuple[ObjectKey, Health | None]]:
    return [(item.key, item.health) for item in unready(status)]


def _tree(status: SyncStatus) -> str:
    return status.applied.tree if status.applied else ""


def _why(item: ObjectStatus) -> str:
    return f"{item.key.display()} is {item.health}" + (f": {item.health_message}" if item.health_message else "")
