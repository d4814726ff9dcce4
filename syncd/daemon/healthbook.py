"""The health of one Sync's objects, assessed again only when an object has changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.health import CustomChecks, Health, HealthStatus

if TYPE_CHECKING:
    from collections.abc import Iterable

    from syncd.cluster import LiveCache, Moment
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
        self._asked: tuple[str, Moment | None] = "", None

    def news(self, client_id: str, owner: str) -> frozenset[ObjectKey] | None:
        """Which of an owner's objects may have another health than when this was asked last; None for all of them.

        Args:
            client_id: For whom they are watched.
            owner: The value of their owner label.
        """
        now = self._live.moment(client_id, owner)
        (who, then), self._asked = self._asked, (owner, now)
        if then is None or now is None or who != owner:
            return None
        return self._live.changed_since(then, now, owner)

    def forget(self) -> None:
        """Take nothing for known: what was asked for last may not have been made use of."""
        self._known.clear()
        self._asked = "", None

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
