"""Between the version that a client speaks and the one that is stored.

Custom kinds differ in ``apiVersion`` alone (strategy None). Of the built-in ones two are served twice:
HorizontalPodAutoscaler (autoscaling v1 and v2), and Event (core and events.k8s.io).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.sandbox import codec
from syncd.sandbox.kinds import GroupResource, built_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from syncd.model import JSONObject
    from syncd.sandbox.kinds import ServedKind

DEFINITIONS = GroupResource("apiextensions.k8s.io", "customresourcedefinitions")
NAMESPACES = GroupResource("", "namespaces")

_V1_METRICS = "autoscaling.alpha.kubernetes.io/metrics"


def to_storage(kind: ServedKind, obj: JSONObject) -> JSONObject:
    """An object in the version that is stored."""
    if kind.api_version == kind.stored_api_version:
        return obj
    convert = _TO_STORAGE.get((kind.group, kind.kind))
    if convert is None:
        return obj | {"apiVersion": kind.stored_api_version}
    stored = built_in(kind.storage_group, kind.kind)
    return codec.decode(stored, convert(obj) | {"apiVersion": kind.stored_api_version}).object


def from_storage(kind: ServedKind, obj: JSONObject) -> JSONObject:
    """A stored object in the version of ``kind``; it may have been stored when another version was the stored one."""
    if obj.get("apiVersion") == kind.api_version:
        return obj
    convert = _FROM_STORAGE.get((kind.group, kind.kind))
    if convert is None:
        return obj | {"apiVersion": kind.api_version}
    return codec.decode(kind, convert(obj) | {"apiVersion": kind.api_version}).object


def keeps_bytes(kind: ServedKind) -> bool:
    """Whether the stored bytes serve this version too, but for ``apiVersion``."""
    return kind.custom or kind.api_version == kind.stored_api_version


def _renamed(obj: JSONObject, names: dict[str, str]) -> JSONObject:
    return {names.get(field, field): value for field, value in obj.items()}


_EVENT_NAMES = {
    "involvedObject": "regarding",
    "message": "note",
    "reportingComponent": "reportingController",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
}
_CORE_EVENT_NAMES = {new: old for old, new in _EVENT_NAMES.items()}


def _event_from_core(obj: JSONObject) -> JSONObject:
    return _renamed(obj, _EVENT_NAMES)


def _event_to_core(obj: JSONObject) -> JSONObject:
    return _renamed(obj, _CORE_EVENT_NAMES)


def _autoscaler_to_v2(obj: JSONObject) -> JSONObject:
    spec = dict(obj.get("spec", {}))
    target = spec.pop("targetCPUUtilizationPercentage", None)
    if target is not None:
        target = {"type": "Utilization", "averageUtilization": target}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    converted = obj | {"spec": spec}
    if "status" in obj:
        status = dict(obj["status"])
        current = status.pop("currentCPUUtilizationPercentage", None)
        if current is not None:
            usage = {"averageUtilization": current, "averageValue": "0"}
            status["currentMetrics"] = [{"type": "Resource", "resource": {"name": "cpu", "current": usage}}]
        converted["status"] = status
    return converted


def _autoscaler_from_v2(obj: JSONObject) -> JSONObject:
    spec = dict(obj.get("spec", {}))
    for metric in spec.pop("metrics", None) or ():
        resource = metric.get("resource", {})
        if metric.get("type") == "Resource" and resource.get("name") == "cpu":
            spec["targetCPUUtilizationPercentage"] = resource["target"].get("averageUtilization")
    spec.pop("behavior", None)
    converted = obj | {"spec": {field: value for field, value in spec.items() if value is not None}}
    if "status" in obj:
        status = dict(obj["status"])
        status.pop("currentMetrics", None)
        status.pop("conditions", None)
        converted["status"] = status
    return converted


_Convert = dict[tuple[str, str], "Callable[[JSONObject], JSONObject]"]
_TO_STORAGE: _Convert = {
    ("events.k8s.io", "Event"): _event_to_core,
    ("autoscaling", "HorizontalPodAutoscaler"): _autoscaler_to_v2,
}
_FROM_STORAGE: _Convert = {
    ("events.k8s.io", "Event"): _event_from_core,
    ("autoscaling", "HorizontalPodAutoscaler"): _autoscaler_from_v2,
}
