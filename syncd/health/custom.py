"""Health by expressions, for kinds that a Sync names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.health.assessment import assess, assess_common
from syncd.health.status import HealthStatus, degraded, healthy, progressing
from syncd.model import GroupKind
from syncd.spec.expressions import EvaluationError, Predicate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from syncd.model import JSONObject
    from syncd.spec import HealthCheck


class CustomChecks:
    """The health checks of one Sync."""

    def __init__(self, checks: Iterable[HealthCheck]) -> None:
        self._rules = {GroupKind(check.group, check.kind): _rule(check) for check in checks}

    def assess(self, kind: GroupKind, obj: JSONObject) -> HealthStatus:
        """Judge a live object of this kind, as the Sync says or as syncd knows."""
        return self._rules.get(kind, assess)(obj)


def _rule(check: HealthCheck) -> Callable[[JSONObject], HealthStatus]:
    """In Flux's order: in progress, failed, current. What a controller has not seen yet is in progress before all."""
    current = Predicate(check.current)
    in_progress = Predicate(check.in_progress) if check.in_progress else None
    failed = Predicate(check.failed) if check.failed else None

    def rule(obj: JSONObject) -> HealthStatus:
        common = assess_common(obj)
        if common is not None:
            return common
        if in_progress and _holds(in_progress, obj):
            return progressing(f"it is so that {in_progress.text}")
        if failed and _holds(failed, obj):
            return degraded(f"it is so that {failed.text}")
        try:
            return healthy() if current.holds(obj) else progressing(f"it is not so that {current.text}")
        except EvaluationError as error:
            return progressing(f"whether {current.text} is not known yet: {error}")

    return rule


def _holds(predicate: Predicate, obj: JSONObject) -> bool:
    """Whether it is true; what cannot be said, because a field is not there yet, is not."""
    try:
        return predicate.holds(obj)
    except EvaluationError:
        return False
