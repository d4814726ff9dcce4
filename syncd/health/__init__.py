"""Is an object ready: rules per kind. Pure."""

from syncd.health.status import Health, HealthStatus

__all__ = ["Health", "HealthStatus"]
