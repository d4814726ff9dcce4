"""The words for health."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


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
