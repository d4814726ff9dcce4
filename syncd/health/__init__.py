"""Is an object ready: rules per kind, and the common conditions for all others. Pure."""

from syncd.health.assessment import assess
from syncd.health.custom import CustomChecks
from syncd.health.status import Health, HealthStatus, aggregate

__all__ = ["CustomChecks", "Health", "HealthStatus", "aggregate", "assess"]
