"""Whether an object is ready for those that depend on it, as far as the live cache knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.health import CustomChecks, Health

if TYPE_CHECKING:
    from syncd.engine.work import Work
    from syncd.model import ObjectKey


class Readiness:
    """The health of the objects of one Sync; may be asked by many threads."""

    def __init__(self, work: Work) -> None:
        self._live = work.cluster.live
        self._checks = CustomChecks(work.sync.spec.health_checks)

    def missing(self, key: ObjectKey) -> str:
        """What is still missing until an object is healthy; "" if nothing is."""
        found = self._live.get(key)
        if found is None:
            return "is not there yet"
        status = self._checks.assess(key.group_kind, found.parse())
        return "" if status.health is Health.HEALTHY else f"is {status.health}: {status.message}"
