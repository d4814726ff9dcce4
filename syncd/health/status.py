"""The words for health."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable


class Health(StrEnum):
    """How an object fares, in the words that people know from Argo CD's page; see :attr:`severity` for their order."""

    HEALTHY = "Healthy"
    SUSPENDED = "Suspended"
    PROGRESSING = "Progressing"
    MISSING = "Missing"
    DEGRADED = "Degraded"
    UNKNOWN = "Unknown"

    @property
    def severity(self) -> int:
        """From 0 (Healthy) upward; a Sync is as healthy as its worst object."""
        return list(Health).index(self)


class HealthStatus(NamedTuple):
    """The health of one object, and why."""

    health: Health
    message: str = ""


def healthy(message: str = "") -> HealthStatus:
    """It does what it is there for."""
    return HealthStatus(Health.HEALTHY, message)


def progressing(message: str) -> HealthStatus:
    """It is not there yet, and may still get there by itself."""
    return HealthStatus(Health.PROGRESSING, message)


def degraded(message: str) -> HealthStatus:
    """It failed, and somebody has to look."""
    return HealthStatus(Health.DEGRADED, message)


def suspended(message: str) -> HealthStatus:
    """Somebody told it to rest."""
    return HealthStatus(Health.SUSPENDED, message)


def aggregate(statuses: Iterable[HealthStatus]) -> HealthStatus:
    """The worst of them, with the first message of that kind and how many more there are; nothing at all is healthy."""
    worst = healthy()
    count = 0
    for status in statuses:
        if status.health.severity > worst.health.severity:
            worst, count = status, 1
        elif status.health is worst.health:
            count += 1
    if worst.health is Health.HEALTHY:
        return healthy()
    return worst if count == 1 else worst._replace(message=f"{worst.message} (and {count - 1} more)".strip())
