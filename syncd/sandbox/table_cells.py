"""What stands in the cells of tables: one small function for each column that is no plain field."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import orjson

from syncd.sandbox import jsonpath, pod_status
from syncd.sandbox.durations import UNKNOWN, since
from syncd.sandbox.scale import selector_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from syncd.model import JSONObject
    from syncd.sandbox.table_columns import Column

_NONE = "<none>"
_UNSET = "<unset>"
_ACCESS_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}
_SHOWN = 3
"""Of hosts, ports and endpoints, as many are shown, and "+ n more..."."""


def cell(column: Column, obj: JSONObject, now: datetime) -> Any:
    """The value of a column for an object."""
    if column.cell in _TIMED:
        return _TIMED[column.cell](obj, now)
    if column.cell:
        return _CELLS[column.cell](obj)
    found = jsonpath.find(column.path, obj)
    if not found or found[0] is None:
        return None
    return _typed(column, found[0], now)


def _typed(column: Column, value: Any, now: datetime) -> Any:
    if column.name == "Created At" or column.type == "string":
        return value if isinstance(value, str) else orjson.dumps(value).decode()
    if column.type == "date":
        return since(value, now)
    if column.type == "boolean":
        return value if isinstance(value, bool) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if column.type == "integer" else float(value)


def _get(obj: Any, *path: str | int) -> Any:
    for step in path:
        if isinstance(step, int):
            obj = obj[step] if isinstance(obj, list) and len(obj) > step else None
        else:
            obj = obj.get(step) if isinstance(obj, dict) else None
    return obj


def _field(*path: str, default: Any = _NONE) -> Callable[[JSONObject], Any]:
    def found(obj: JSONObject) -> Any:
        value = _get(obj, *path)
        return default if value in (None, "") else value

    return found


def _text_of(*path: str, default: str = _NONE) -> Callable[[JSONObject], str]:
    return lambda obj: _shown(_field(*path, default=default)(obj))


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _joined(items: Iterable[str], default: str = _NONE) -> str:
    return ",".join(items) or default


def _few(items: list[str]) -> str:
    if len(items) <= _SHOWN:
        return _joined(items)
    return f"{','.join(items[:_SHOWN])} + {len(items) - _SHOWN} more..."


def _containers(field: str, *path: str) -> Callable[[JSONObject], str]:
    return lambda obj: _joined([str(c.get(field, "")) for c in _get(obj, *path, "containers") or ()], "")


def _labels(*path: str) -> Callable[[JSONObject], str]:
    return lambda obj: _joined(f"{key}={value}" for key, value in sorted((_get(obj, *path) or {}).items()))


def _selector(*path: str) -> Callable[[JSONObject], str]:
    return lambda obj: selector_text(_get(obj, *path) or {}) or _NONE


def _data(obj: JSONObject) -> int:
    return len(obj.get("data") or {}) + len(obj.get("binaryData") or {})


# --- networking ----------------------------------------------------------------------------------------------------


def _external_ip(obj: JSONObject) -> str:
    spec = obj.get("spec", {})
    if spec.get("type") == "ExternalName":
        return str(spec.get("externalName", ""))
    found = list(spec.get("externalIPs") or ())
    if spec.get("type") == "LoadBalancer":
        found += _ingress_points(obj)
        return _joined(found, "<pending>")
    return _joined(found)


def _ingress_points(obj: JSONObject) -> list[str]:
    points = _get(obj, "status", "loadBalancer", "ingress") or ()
    return [str(point.get("ip") or point.get("hostname")) for point in points]


def _service_ports(obj: JSONObject) -> str:
    def text(port: JSONObject) -> str:
        node = f":{port['nodePort']}" if port.get("nodePort") else ""
        return f"{port['port']}{node}/{port.get('protocol', 'TCP')}"

    return _joined(text(port) for port in _get(obj, "spec", "ports") or ())


def _hosts(obj: JSONObject) -> str:
    hosts = [rule["host"] for rule in _get(obj, "spec", "rules") or () if rule.get("host")]
    return _few(hosts) if hosts else "*"


def _slice_endpoints(obj: JSONObject) -> str:
    found = [address for endpoint in obj.get("endpoints") or () for address in endpoint.get("addresses") or ()]
    return _few(found) if found else _UNSET


def _slice_ports(obj: JSONObject) -> str:
    found = [str(port.get("port") or "*") for port in obj.get("ports") or ()]
    return _few(found) if found else _UNSET


def _endpoints(obj: JSONObject) -> str:
    found = [
        f"{address['ip']}:{port['port']}"
        for subset in obj.get("subsets") or ()
        for address in subset.get("addresses") or ()
        for port in subset.get("ports") or ()
    ]
    return _few(found)


# --- workloads -----------------------------------------------------------------------------------------------------


def _ready_of_desired(obj: JSONObject) -> str:
    return f"{_get(obj, 'status', 'readyReplicas') or 0}/{_get(obj, 'spec', 'replicas') or 0}"


def _completions(obj: JSONObject) -> str:
    done = _get(obj, "status", "succeeded") or 0
    wanted, parallelism = _get(obj, "spec", "completions"), _get(obj, "spec", "parallelism") or 0
    if wanted is not None:
        return f"{done}/{wanted}"
    return f"{done}/1 of {parallelism}" if parallelism > 1 else f"{done}/1"


def _job_status(obj: JSONObject) -> str:
    conditions = {c["type"] for c in _get(obj, "status", "conditions") or () if c.get("status") == "True"}
    if "deletionTimestamp" in obj["metadata"]:
        return "Terminating"
    for shown, condition in (
        ("Complete", "Complete"),
        ("Failed", "Failed"),
        ("Suspended", "Suspended"),
        ("FailureTarget", "FailureTarget"),
        ("SuccessCriteriaMet", "SuccessCriteriaMet"),
    ):
        if condition in conditions:
            return shown
    return "Running"


def _duration(obj: JSONObject, now: datetime) -> str:
    start, end = _get(obj, "status", "startTime"), _get(obj, "status", "completionTime")
    return since(start, datetime.fromisoformat(end) if end else now) if start else ""


def _last_schedule(obj: JSONObject, now: datetime) -> str:
    last = _get(obj, "status", "lastScheduleTime")
    return since(last, now) if last else _NONE


def _node_status(obj: JSONObject) -> str:
    ready = next((c for c in _get(obj, "status", "conditions") or () if c.get("type") == "Ready"), None)
    text = "Unknown" if ready is None else "Ready" if ready.get("status") == "True" else "NotReady"
    return f"{text},SchedulingDisabled" if _get(obj, "spec", "unschedulable") else text


def _node_roles(obj: JSONObject) -> str:
    prefix = "node-role.kubernetes.io/"
    labels = obj["metadata"].get("labels") or {}
    return _joined(sorted(label.removeprefix(prefix) for label in labels if label.startswith(prefix)))


def _metrics(obj: JSONObject) -> str:
    percent = _get(obj, "spec", "targetCPUUtilizationPercentage")  # all that v1 has
    found = [] if percent is None else [f"cpu: {UNKNOWN}/{percent}%"]
    for metric in _get(obj, "spec", "metrics") or ():
        source = metric.get("resource") or {}
        target = source.get("target") or {}
        prefix = f"{source['name']}: " if source else ""
        if target.get("averageUtilization") is not None:
            found.append(f"{prefix}{UNKNOWN}/{target['averageUtilization']}%")
        else:
            found.append(f"{prefix}{UNKNOWN}/{target.get('averageValue', '')}")
    return ", ".join(found) or _NONE


# --- the rest ------------------------------------------------------------------------------------------------------


def _subjects(of_kind: str) -> Callable[[JSONObject], str]:
    def found(obj: JSONObject) -> str:
        subjects = [one for one in obj.get("subjects") or () if one.get("kind") == of_kind]
        if of_kind == "ServiceAccount":
            return ", ".join(f"{one.get('namespace', '')}/{one['name']}" for one in subjects)
        return ", ".join(one["name"] for one in subjects)

    return found


def _event_object(obj: JSONObject) -> str:
    about = obj.get("involvedObject") or obj.get("regarding") or {}
    return f"{str(about.get('kind', '')).lower()}/{about.get('name', '')}"


def _seen(*fields: str) -> Callable[[JSONObject, datetime], str]:
    def found(obj: JSONObject, now: datetime) -> str:
        return since(next((obj[field] for field in fields if obj.get(field)), None), now)

    return found


def _controller(obj: JSONObject) -> str:
    owner = next((o for o in obj["metadata"].get("ownerReferences") or () if o.get("controller")), None)
    if owner is None:
        return _NONE
    group = owner["apiVersion"].rpartition("/")[0]
    return f"{owner['kind'].lower()}{'.' + group if group else ''}/{owner['name']}"


def _quota(*prefixes: str) -> Callable[[JSONObject], str]:
    def found(obj: JSONObject) -> str:
        hard = _get(obj, "status", "hard") or {}
        used = _get(obj, "status", "used") or {}
        limits = prefixes == ("limits.",)
        names = (name for name in sorted(hard) if name.startswith("limits.") is limits)
        return ", ".join(f"{name}: {used.get(name, 0)}/{hard[name]}" for name in names)

    return found


def _access_modes(*path: str) -> Callable[[JSONObject], str]:
    return lambda obj: ",".join(_ACCESS_MODES.get(mode, mode) for mode in _get(obj, *path, "accessModes") or ())


def _phase(obj: JSONObject) -> str:
    return "Terminating" if "deletionTimestamp" in obj["metadata"] else str(_get(obj, "status", "phase") or "")


def _claim(obj: JSONObject) -> str:
    claim = _get(obj, "spec", "claimRef")
    return f"{claim.get('namespace', '')}/{claim['name']}" if claim else ""


def _api_service(obj: JSONObject) -> str:
    service = _get(obj, "spec", "service")
    return f"{service['namespace']}/{service['name']}" if service else "Local"


def _api_available(obj: JSONObject) -> str:
    conditions = _get(obj, "status", "conditions") or ()
    found = next((item for item in conditions if item.get("type") == "Available"), None)
    if found is None:
        return "Unknown"
    status = str(found.get("status"))
    return status if status == "True" else f"{status} ({found.get('reason', '')})"


def _role_ref(obj: JSONObject) -> str:
    return f"{_get(obj, 'roleRef', 'kind')}/{_get(obj, 'roleRef', 'name')}"


def _scale_target(obj: JSONObject) -> str:
    return f"{_get(obj, 'spec', 'scaleTargetRef', 'kind')}/{_get(obj, 'spec', 'scaleTargetRef', 'name')}"


_TIMED: dict[str, Callable[[JSONObject, datetime], str]] = {
    "age": lambda obj, now: since(obj["metadata"].get("creationTimestamp"), now),
    "duration": _duration,
    "first_seen": _seen("firstTimestamp", "deprecatedFirstTimestamp", "eventTime"),
    "last_schedule": _last_schedule,
    "last_seen": _seen("lastTimestamp", "deprecatedLastTimestamp", "eventTime"),
}

_TEMPLATE = ("spec", "template", "spec")
_CRON = ("spec", "jobTemplate", "spec", "template", "spec")

_CELLS: dict[str, Callable[[JSONObject], Any]] = {
    "access_modes": _access_modes("spec"),
    "active": lambda obj: len(_get(obj, "status", "active") or ()),
    "attach_required": _field("spec", "attachRequired", default=False),
    "attributes_class": _text_of("spec", "volumeAttributesClassName", default=_UNSET),
    "address": lambda obj: ",".join(_ingress_points(obj)),
    "api_available": _api_available,
    "api_service": _api_service,
    "available": _field("status", "availableReplicas", default=0),
    "claim": _claim,
    "claimed_capacity": _text_of("status", "capacity", "storage", default=""),
    "claimed_modes": _access_modes("status"),
    "cluster_ip": _text_of("spec", "clusterIP"),
    "completions": _completions,
    "containers": _containers("name", *_TEMPLATE),
    "controller": _controller,
    "cron_containers": _containers("name", *_CRON),
    "cron_images": _containers("image", *_CRON),
    "current": _field("status", "replicas", default=0),
    "current_replicas": _field("status", "currentReplicas", default=0),
    "current_scheduled": _field("status", "currentNumberScheduled", default=0),
    "data": _data,
    "desired_scheduled": _field("status", "desiredNumberScheduled", default=0),
    "disruptions_allowed": _field("status", "disruptionsAllowed", default=0),
    "driver_modes": lambda obj: ",".join(_get(obj, "spec", "volumeLifecycleModes") or ()),
    "endpoints": _endpoints,
    "event_object": _event_object,
    "event_source": _text_of("source", "component", default=""),
    "external_ip": _external_ip,
    "global_default": _field("globalDefault", default=False),
    "groups": _subjects("Group"),
    "hosts": _hosts,
    "images": _containers("image", *_TEMPLATE),
    "ingress_class": _text_of("spec", "ingressClassName"),
    "ingress_ports": lambda obj: "80, 443" if _get(obj, "spec", "tls") else "80",
    "job_status": _job_status,
    "max_replicas": _field("spec", "maxReplicas"),
    "max_unavailable": _text_of("spec", "maxUnavailable", default="N/A"),
    "metrics": _metrics,
    "min_available": _text_of("spec", "minAvailable", default="N/A"),
    "min_replicas": _text_of("spec", "minReplicas", default=_UNSET),
    "node_roles": _node_roles,
    "node_selector": _labels(*_TEMPLATE, "nodeSelector"),
    "node_status": _node_status,
    "none": lambda _: _NONE,
    "number_available": _field("status", "numberAvailable", default=0),
    "number_ready": _field("status", "numberReady", default=0),
    "parameters": _text_of("spec", "parameters", "name"),
    "phase": _phase,
    "pod_info": _field("spec", "podInfoOnMount", default=False),
    "pod_gates": lambda _: _NONE,
    "pod_ip": _text_of("status", "podIP"),
    "pod_node": _text_of("spec", "nodeName"),
    "pod_nominated": _text_of("status", "nominatedNodeName"),
    "pod_ready": pod_status.ready,
    "pod_restarts": pod_status.restarts,
    "pod_selector": _selector("spec", "podSelector"),
    "pod_status": pod_status.status,
    "ports": _service_ports,
    "quota_limits": _quota("limits."),
    "quota_requests": _quota(),
    "ready": _field("status", "readyReplicas", default=0),
    "ready_of_desired": _ready_of_desired,
    "replicas": _field("spec", "replicas", default=0),
    "republish": _field("spec", "requiresRepublish", default=False),
    "revision": _field("revision", default=0),
    "role_ref": _role_ref,
    "scale_target": _scale_target,
    "selector": _selector("spec", "selector"),
    "service_accounts": _subjects("ServiceAccount"),
    "slice_endpoints": _slice_endpoints,
    "slice_ports": _slice_ports,
    "storage_capacity": _field("spec", "storageCapacity", default=False),
    "storage_class": _text_of("spec", "storageClassName", default=""),
    "suspend": lambda obj: str(bool(_get(obj, "spec", "suspend"))),
    "template_containers": _containers("name", "template", "spec"),
    "template_images": _containers("image", "template", "spec"),
    "template_labels": _labels("template", "metadata", "labels"),
    "time_zone": _text_of("spec", "timeZone"),
    "token_requests": lambda obj: (
        ",".join(one["audience"] for one in _get(obj, "spec", "tokenRequests") or ()) or _UNSET
    ),
    "updated": _field("status", "updatedReplicas", default=0),
    "updated_scheduled": _field("status", "updatedNumberScheduled", default=0),
    "users": _subjects("User"),
    "volume": _text_of("spec", "volumeName", default=""),
    "volume_reason": _text_of("status", "reason", default=""),
    "volume_expansion": _field("allowVolumeExpansion", default=False),
    "webhooks": lambda obj: len(obj.get("webhooks") or ()),
}
