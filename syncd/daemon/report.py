"""From the result of a reconcile to the status that people see. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from operator import is_
from typing import TYPE_CHECKING, NamedTuple

from syncd.daemon.status import Counts, HistoryEntry, ObjectStatus, SyncState, SyncStatus
from syncd.engine.executor import WAITS
from syncd.model import ActionType, Outcome, OutcomeStatus
from syncd.plan.prune import PENDING, PRUNE_OFF
from syncd.plan.settings import DRIFT_REPORTED, TUG_OF_WAR
from syncd.plan.windows import WINDOW_CLOSED

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping
    from datetime import datetime

    from syncd.daemon.status import Fight
    from syncd.engine.result import Reconciliation
    from syncd.health import Health, HealthStatus
    from syncd.model import ObjectKey, Revision, SyncdError

_HISTORY = 20
_SHOWN_FAILURES = 3


class _Verdict(NamedTuple):
    """How a reconcile went."""

    reason: str
    error: str = ""
    problems: tuple[str, ...] = ()
    message: str = ""
    complete: bool = True
    """Whether the revision was applied but for what failed."""


_SUPERSEDED = _Verdict("Superseded", message="a newer commit came while this one was being applied", complete=False)


def after_reconcile(
    status: SyncStatus,
    result: Reconciliation,
    health: Callable[[ObjectKey], HealthStatus],
    now: datetime,
    *,
    news: Container[ObjectKey] | None = None,
    superseded: bool = False,
    unfollowed: SyncdError | None = None,
) -> SyncStatus:
    """The status after a reconcile that came to its end, well or not.

    Args:
        status: What was known before.
        result: What came of it.
        health: How an object is.
        now: When it ended.
        news: Whose health may not be what the status says; None for everybody's.
        superseded: Why it was interrupted, if it was: for a newer commit.
        unfollowed: Why Git could not be followed, in which case this was about the revision from before.
    """
    verdict = _SUPERSEDED if result.interrupted and superseded else _verdict(result)
    objects = _same_or_new(status.objects, _objects(result, status, health, news))
    status = replace(
        status,
        state=_state(verdict, unfollowed),
        health=worst(item.health for item in objects),
        attempted=result.revision,
        applied=result.revision if verdict.complete and not verdict.error else status.applied,
        objects=objects,
        counts=count(result.outcomes),
        inventory_size=result.inventory_size,
        prune_held=result.plan.prune_held,
        prune_candidates=result.plan.candidates if result.plan.prune_held else (),
        owner=result.owner,
    )
    if unfollowed is not None:
        texts = (str(unfollowed), verdict.error) if verdict.error else (str(unfollowed),)
        verdict = _Verdict(unfollowed.reason, "; ".join(texts), (str(unfollowed), *verdict.problems))
    verdict = verdict._replace(message=verdict.message or result.revision.news)
    return _ended(status, verdict, result.durations, now, noteworthy=result.plan.changes_cluster)


def after_error(
    status: SyncStatus, error: SyncdError, revision: Revision | None, durations: Mapping[str, float], now: datetime
) -> SyncStatus:
    """The status after a reconcile that came to nothing: how the cluster compares with Git is not known."""
    status = replace(status, state=SyncState.UNKNOWN, attempted=revision or status.attempted)
    problems: tuple[str, ...] = getattr(error, "problems", ()) or (str(error),)
    return _ended(status, _Verdict(error.reason, str(error), problems), durations, now)


def held_back(status: SyncStatus, reason: str, message: str, revision: Revision, now: datetime) -> SyncStatus:
    """The status of a Sync that may not do anything yet; nobody has failed."""
    same = status.applied is not None and status.applied.tree == revision.tree
    return replace(
        status,
        state=status.state if same else SyncState.OUT_OF_SYNC,
        reconciling=False,
        attempted=revision,
        reason=reason,
        message=message,
        error="",
        problems=(),
        failing_since=None,
        failures=0,
        last_attempt=now,
    )


def superseded(status: SyncStatus, durations: Mapping[str, float], now: datetime) -> SyncStatus:
    """The status after a reconcile that was given up for a newer commit before it came to a plan."""
    return _ended(status, _SUPERSEDED, durations, now)


def with_fights(status: SyncStatus, fights: tuple[Fight, ...]) -> SyncStatus:
    """The status with the tugs-of-war that go on; they are the reason where there is no worse one."""
    status = replace(status, fights=fights)
    if not fights or status.reason not in ("Succeeded", TUG_OF_WAR):
        return status
    first = fights[0]
    rival = first.manager or "somebody (the object does not say who)"
    more = f" (and {len(fights) - 1} more objects)" if len(fights) > 1 else ""
    message = (
        f"{rival} and syncd change {first.key.display()} in turns, {first.repairs} times by now{more}; repairs are "
        "slowed down. Take the field out of Git, or leave it to that manager with drift.managers or drift.ignore"
    )
    return replace(status, reason=TUG_OF_WAR, message=message)


def after_look(
    status: SyncStatus, health: Callable[[ObjectKey], HealthStatus], news: Container[ObjectKey] | None
) -> SyncStatus:
    """The status with the objects' health as it is now, without a reconcile; ``news`` is as in a reconcile."""
    looked = (item if _is_known(item, news) else with_health(item, health(item.key)) for item in status.objects)
    objects = _same_or_new(status.objects, looked)
    return replace(status, objects=objects, health=worst(item.health for item in objects))


def _same_or_new(before: tuple[ObjectStatus, ...], items: Iterable[ObjectStatus]) -> tuple[ObjectStatus, ...]:
    """The items; the same tuple says to listeners, at no cost, that nothing has changed."""
    found = tuple(items)
    return before if len(found) == len(before) and all(map(is_, found, before)) else found


def _is_known(item: ObjectStatus, news: Container[ObjectKey] | None) -> bool:
    """Whether an object's health is surely what was seen last; of one that is not ours nobody tells what changes."""
    return news is not None and item.action is ActionType.UNCHANGED and item.key not in news


def with_health(item: ObjectStatus, health: HealthStatus) -> ObjectStatus:
    """The object's status with its health as it is now; what was pruned has none."""
    if item.action is ActionType.PRUNE or (item.health, item.health_message) == health:
        return item
    return replace(item, health=health.health, health_message=health.message)


def count(outcomes: tuple[Outcome, ...]) -> Counts:
    """How many objects met which fate."""
    done = Counter(outcome.action.type for outcome in outcomes if outcome.status is OutcomeStatus.DONE)
    return Counts(
        created=done[ActionType.CREATE],
        updated=done[ActionType.UPDATE],
        unchanged=done[ActionType.UNCHANGED],
        pruned=done[ActionType.PRUNE],
        kept=done[ActionType.KEEP],
        skipped=done[ActionType.SKIP],
        failed=sum(1 for outcome in outcomes if outcome.status is not OutcomeStatus.DONE),
    )


def worst(healths: Iterable[Health | None]) -> Health | None:
    """The worst of the healths that are known; None if none is."""
    known = {health for health in healths if health is not None}
    return max(known, key=lambda health: health.severity, default=None)


def _state(verdict: _Verdict, unfollowed: SyncdError | None) -> SyncState:
    if unfollowed is not None:
        return SyncState.UNKNOWN
    return SyncState.SYNCED if verdict.reason == "Succeeded" else SyncState.OUT_OF_SYNC


def _verdict(result: Reconciliation) -> _Verdict:
    problems = tuple(outcome.message for outcome in result.failures)
    if result.interrupted:
        return _Verdict("Stopped", "the reconcile was stopped before its end", problems)
    if problems:
        more = len(problems) - _SHOWN_FAILURES
        tail = f"; and {more} more" if more > 0 else ""
        return _Verdict("ApplyFailed", "; ".join(problems[:_SHOWN_FAILURES]) + tail, problems)
    reasons = {outcome.action.reason for outcome in result.outcomes}
    return _unfinished(result, reasons) or _Verdict("Succeeded")


def _unfinished(result: Reconciliation, reasons: Collection[str]) -> _Verdict | None:
    """What keeps a reconcile without a failure from being all that Git asks for."""
    if WAITS in reasons:
        waits = result.waiting
        more = f" (and {len(waits) - 1} more wait)" if len(waits) > 1 else ""
        return _Verdict(WAITS, message=f"{waits[0].key.display()} {waits[0].message}{more}", complete=False)
    if WINDOW_CLOSED in reasons:
        return _Verdict(WINDOW_CLOSED, message=_window(result), complete=not result.held)
    if result.plan.prune_held and PRUNE_OFF not in reasons:
        return _Verdict("PruneHeld")  # before what is only reported: this waits for a person
    for tolerated in (DRIFT_REPORTED, TUG_OF_WAR):
        if tolerated in reasons:
            return _Verdict(tolerated, complete=not result.held)
    return None if PENDING.isdisjoint(reasons) else _Verdict("Pruning")


def _window(result: Reconciliation) -> str:
    """Which window holds something back, and until when."""
    return next(action.message for action in result.plan.actions if action.reason == WINDOW_CLOSED)


def _objects(
    result: Reconciliation,
    before: SyncStatus,
    health: Callable[[ObjectKey], HealthStatus],
    news: Container[ObjectKey] | None,
) -> Iterator[ObjectStatus]:
    """Every object's status; what has not changed since the last reconcile is not made anew."""
    same_inputs = before.attempted is not None and before.attempted.tree == result.revision.tree
    known = {item.key: item for item in before.objects} if same_inputs else {}
    for outcome in result.outcomes:
        item = known.get(outcome.action.key)
        if item is None or item.action is not ActionType.UNCHANGED or item.action is not outcome.action.type:
            item = _object(outcome)
        elif _is_known(item, news):
            yield item
            continue
        yield with_health(item, health(item.key))


def _object(outcome: Outcome) -> ObjectStatus:
    action = outcome.action
    return ObjectStatus(
        key=action.key,
        action=action.type,
        reason=outcome.reason or action.reason,
        message=action.message,
        outcome=outcome.status,
        error=outcome.message,
        origin=str(action.manifest.origin) if action.manifest else "",
        changes=action.changes,
    )


def _ended(
    status: SyncStatus, verdict: _Verdict, durations: Mapping[str, float], now: datetime, *, noteworthy: bool = False
) -> SyncStatus:
    failed = bool(verdict.error)
    history = status.history
    if noteworthy or failed:
        entry = HistoryEntry(now, status.attempted, status.counts, durations.get("total", 0.0), verdict.error)
        history = (entry, *history)[:_HISTORY]
    return replace(
        status,
        reconciling=False,
        reason=verdict.reason,
        error=verdict.error,
        problems=verdict.problems,
        message=verdict.message,
        failing_since=(status.failing_since or now) if failed else None,
        failures=status.failures + 1 if failed else 0,
        last_attempt=now,
        last_success=status.last_success if failed else now,
        durations=dict(durations),
        history=history,
    )
