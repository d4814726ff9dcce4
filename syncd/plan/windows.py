"""Whether a Sync may change anything now, by its windows: when it may again, and what a plan comes to meanwhile."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, Literal
from zoneinfo import ZoneInfo

from cronsim import CronSim

from syncd.model import Action, ActionType, Plan

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from syncd.spec import Window

WINDOW_CLOSED: Final = "WindowClosed"
_EDGES: Final = 1000
"""Beginnings and ends that are looked at for the moment from which changes are allowed again."""


def closed(windows: Iterable[Window], scope: Literal["All", "Correction"], now: datetime) -> str:
    """Why, and until when, windows of this scope forbid changes; "" if they do not.

    A Deny window that is open forbids; so do Allow windows of which none is open. Without windows all is allowed.
    """
    relevant = [window for window in windows if window.scope == scope]
    denial = _denial(relevant, now)
    if not denial:
        return ""
    moment = now
    for _ in range(_EDGES):
        edge = next_edge(relevant, moment)
        if edge is None:
            break
        moment = edge
        if not _denial(relevant, moment):
            return f"{denial}; changes are allowed again from {_in_words(moment, relevant)}"
    return f"{denial}, for as long as can be foreseen"


def next_edge(windows: Iterable[Window], now: datetime) -> datetime | None:
    """When the next window begins or ends; None if there are none."""
    return min((edge for window in windows for edge in _edges(window, now)), default=None)


def hold(plan: Plan, reason: str) -> Plan:
    """A plan that shows what would be done and does nothing of it."""
    return replace(plan, actions=tuple(_held(action, reason) for action in plan.actions))


def _held(action: Action, reason: str) -> Action:
    if action.type in (ActionType.CREATE, ActionType.UPDATE):
        return replace(action, type=ActionType.SKIP, reason=WINDOW_CLOSED, message=reason, write=None)
    if action.type is ActionType.PRUNE:
        return replace(action, type=ActionType.KEEP, reason=WINDOW_CLOSED, message=reason, write=None, release=False)
    return replace(action, write=None, release=False) if action.type is ActionType.KEEP else action


def _denial(windows: Sequence[Window], now: datetime) -> str:
    is_open = [window for window in windows if _end(window, now) is not None]
    denying = next((window for window in is_open if window.kind == "Deny"), None)
    if denying:
        return f"the Deny window '{denying.schedule}' ({denying.timezone}) is open"
    if any(window.kind == "Allow" for window in windows) and not is_open:
        return "no Allow window is open"
    return ""


def _end(window: Window, now: datetime) -> datetime | None:
    """When the window ends that is open now; None if it is not."""
    local = now.astimezone(ZoneInfo(window.timezone))
    begin = next(CronSim(window.schedule, local + timedelta(seconds=1), reverse=True), None)
    if begin is None:
        return None
    end = begin.astimezone(now.tzinfo) + timedelta(seconds=window.duration)
    return end if end > now else None


def _edges(window: Window, now: datetime) -> Iterable[datetime]:
    begin = next(CronSim(window.schedule, now.astimezone(ZoneInfo(window.timezone))), None)
    if begin is not None:
        yield begin.astimezone(now.tzinfo)
    end = _end(window, now)
    if end is not None:
        yield end


def _in_words(moment: datetime, windows: Sequence[Window]) -> str:
    return moment.astimezone(ZoneInfo(windows[0].timezone)).strftime("%Y-%m-%d %H:%M %Z")
