"""Times as kubectl shows them: how long ago."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

UNKNOWN = "<unknown>"


def since(timestamp: Any, now: datetime) -> str:
    """How long ago a time is, as kubectl writes it."""
    try:
        then = datetime.fromisoformat(timestamp)
    except (TypeError, ValueError):
        return UNKNOWN if timestamp is None else "<invalid>"
    return human_duration((now - then.astimezone(UTC)).total_seconds())


def human_duration(seconds: float) -> str:
    """A duration in at most two units (apimachinery's ``duration.HumanDuration``)."""
    whole = int(seconds)
    minutes, hours, days = whole // 60, whole // 3600, whole // 86400
    if whole < -1:
        return "<invalid>"
    if whole < 120:
        return f"{max(whole, 0)}s"
    if hours < 3:
        return _two(minutes, "m", whole % 60 if minutes < 10 else 0, "s")
    if days < 2:
        return _two(hours, "h", minutes % 60 if hours < 8 else 0, "m")
    if days < 365 * 2:
        return _two(days, "d", hours % 24 if days < 8 else 0, "h")
    return _two(days // 365, "y", days % 365 if days < 365 * 8 else 0, "d")


def _two(first: int, unit: str, second: int, second_unit: str) -> str:
    return f"{first}{unit}{second}{second_unit}" if second else f"{first}{unit}"
