"""The health of one Sync's objects, assessed again only when an object has changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.health import CustomChecks, Health, HealthStatus

if TYPE_CHECKING:
    from collections.abc import Iterable

    from syncd.cluster import LiveCache
    from syncd.model import ObjectKey
    from syncd.spec import HealthCheck

_MISSING = HealthStatus(Health.MISSING)


class HealthBook:
    """What is known of the health of objects in a live cache; used by one thread at a time.

    Args:
        live: Where the objects are.
        checks: How the Sync has objects of some kinds judged.
    """

    def __init__(self, live: LiveCache, checks: Iterable[HealthCheck] = ()) -> None:
        self._live = live
        self._checks = CustomChecks(checks)
        self._known: dict[ObjectKey, tuple[str, HealthStatus]] = {}

    def of(self, key: ObjectKey) -> HealthStatus:
        """The health of one object as the cache has it."""
        found = self._live.get(key)
        if found is None:
            self._known.pop(key, None)
            return _MISSING
        known = self._known.get(key)
        if known is not None and known[0] == found.resource_version:
            return known[1]
        status = self._checks.assess(key.group_kind, found.parse())
        self._known[key] = found.resource_version, status
        return status
