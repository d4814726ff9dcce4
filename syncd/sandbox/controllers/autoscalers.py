"""HorizontalPodAutoscalers: they keep their target within bounds. Load is always just what the target has room for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.sandbox.controllers.base import MANAGER, REPLICA_SET, Key, condition, is_kind, key_of, update_status
from syncd.sandbox.kinds import built_in

if TYPE_CHECKING:
    from collections.abc import Iterable

    from syncd.model import JSONObject
    from syncd.sandbox.kinds import Event, Objects

AUTOSCALER = built_in("autoscaling", "HorizontalPodAutoscaler")
_TARGETS = (built_in("apps", "Deployment"), built_in("apps", "StatefulSet"), REPLICA_SET)


class Autoscalers:
    """Scales targets that are too small or too large."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def keys(self, event: Event) -> Iterable[Key]:
        """The autoscaler itself, or those of a target."""
        if is_kind(event, AUTOSCALER):
            return (key_of(event.object),)
        if not is_kind(event, *_TARGETS):
            return ()
        target = (event.kind.kind, event.object["metadata"]["name"])
        scalers = self._objects.list(AUTOSCALER, event.object["metadata"]["namespace"])
        return tuple(key_of(scaler) for scaler in scalers if _target(scaler) == target)

    def reconcile(self, key: Key) -> None:
        """See :class:`~syncd.sandbox.controllers.base.Controller`."""
        scaler = self._objects.find(AUTOSCALER, *key)
        if scaler is None:
            return
        target_kind, name = _target(scaler)
        kind = next((kind for kind in _TARGETS if kind.kind == target_kind), None)
        target = self._objects.find(kind, key.namespace, name) if kind is not None else None
        if kind is None or target is None:
            update_status(self._objects, AUTOSCALER, scaler, _lost(scaler, target_kind, name))
            return
        current: int = target["spec"].get("replicas", 1)
        spec = scaler["spec"]
        wanted = min(max(current, spec.get("minReplicas", 1)), spec["maxReplicas"]) if current else 0
        if wanted != current:
            scaled = target | {"spec": target["spec"] | {"replicas": wanted}}
            self._objects.update(kind, scaled, manager=MANAGER)
        update_status(self._objects, AUTOSCALER, scaler, _status(scaler, target, wanted))


def _target(scaler: JSONObject) -> tuple[str, str]:
    reference = scaler["spec"]["scaleTargetRef"]
    return reference["kind"], reference["name"]


def _lost(scaler: JSONObject, kind: str, name: str) -> JSONObject:
    words = f'the HPA controller was unable to get the target\'s current scale: {kind.lower()}s.apps "{name}" not found'
    failed = condition(scaler, "AbleToScale", "False", "FailedGetScale", words)
    return {"currentMetrics": None, "desiredReplicas": 0, "conditions": [failed]}


def _status(scaler: JSONObject, target: JSONObject, wanted: int) -> JSONObject:
    found = (
        ("AbleToScale", "True", "ReadyForNewScale", "recommended size matches current size"),
        (
            "ScalingActive",
            "True",
            "ValidMetricFound",
            "the HPA was able to successfully calculate a replica count from the sandbox's steady load",
        ),
        ("ScalingLimited", "False", "DesiredWithinRange", "the desired count is within the acceptable range"),
    )
    return {
        "observedGeneration": scaler["metadata"].get("generation", 0),
        "currentReplicas": target.get("status", {}).get("replicas", 0),
        "desiredReplicas": wanted,
        "currentMetrics": None,
        "conditions": [condition(scaler, *item) for item in found],
    }
