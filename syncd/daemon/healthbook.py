"""The health of one Sync's objects, assessed again only when an object has changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.health import Health, HealthStatus, assess

if TYPE_CHECKING:
    from syncd.cluster import LiveCache
    from syncd.model import ObjectKey

_MISSING = HealthStatus(Health.MISSING)


class HealthBook:
    """What is known of the health of objects in a live cache; used by one thread at a time."""

    def __init__(self, live: LiveCache) -> None:
        self._live = live
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
        status = assess(found.parse())
        self._known[key] = found.resource_version, status
        return status
