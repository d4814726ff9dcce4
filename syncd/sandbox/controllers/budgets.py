"""PodDisruptionBudgets: how many Pods could go now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.sandbox.controllers.base import POD, Key, condition, is_kind, key_of, update_status
from syncd.sandbox.controllers.pods import is_ready
from syncd.sandbox.controllers.replicas import is_active
from syncd.sandbox.kinds import built_in
from syncd.sandbox.labels import matches

if TYPE_CHECKING:
    from collections.abc import Iterable

    from syncd.model import JSONObject
    from syncd.sandbox.kinds import Event, Objects

BUDGET = built_in("policy", "PodDisruptionBudget")


class Budgets:
    """Counts the Pods of each budget."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def keys(self, event: Event) -> Iterable[Key]:
        """The budget itself, or those that choose a Pod."""
        if is_kind(event, BUDGET):
            return (key_of(event.object),)
        if not is_kind(event, POD):
            return ()
        metadata = event.object["metadata"]
        budgets = self._objects.list(BUDGET, metadata["namespace"])
        labels = metadata.get("labels") or {}
        return tuple(key_of(item) for item in budgets if matches(item["spec"].get("selector"), labels))

    def reconcile(self, key: Key) -> None:
        """See :class:`~syncd.sandbox.controllers.base.Controller`."""
        budget = self._objects.find(BUDGET, *key)
        if budget is None:
            return
        selector = budget["spec"].get("selector")
        pods = [pod for pod in self._objects.list(POD, key.namespace) if is_active(pod)]
        pods = [pod for pod in pods if matches(selector, pod["metadata"].get("labels") or {})]
        expected, healthy = len(pods), sum(map(is_ready, pods))
        desired = _desired(budget["spec"], expected)
        allowed = max(0, healthy - desired) if expected else 0
        reason = ("True", "SufficientPods") if allowed else ("False", "InsufficientPods")
        generation = {"observedGeneration": budget["metadata"].get("generation", 0)}
        status = generation | {
            "expectedPods": expected,
            "currentHealthy": healthy,
            "desiredHealthy": desired,
            "disruptionsAllowed": allowed,
            "conditions": [condition(budget, "DisruptionAllowed", *reason) | generation],
        }
        update_status(self._objects, BUDGET, budget, status)


def _desired(spec: JSONObject, expected: int) -> int:
    """How many Pods must stay healthy; percentages are rounded up."""
    least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
    if most is not None:
        return max(0, expected - _part(most, expected))
    return _part(least, expected) if least is not None else 0


def _part(value: int | str, of: int) -> int:
    return value if isinstance(value, int) else -(-int(value.rstrip("%")) * of // 100)
