"""Defaults that depend on other fields.

Every function here changes the object it gets: :mod:`syncd.sandbox.defaulting` hands it a fresh, typed copy.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from syncd.sandbox import quantity
from syncd.sandbox.default_services import port_default, service_defaults

if TYPE_CHECKING:
    from collections.abc import Callable

    from syncd.model import JSONObject

_RBAC = "rbac.authorization.k8s.io"
TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"
_MAX_INT32 = 2**31 - 1
_MAX_POLICY = "Max"
_SCALE_UP: JSONObject = {
    "stabilizationWindowSeconds": 0,
    "selectPolicy": _MAX_POLICY,
    "policies": [
        {"type": "Pods", "value": 4, "periodSeconds": 15},
        {"type": "Percent", "value": 100, "periodSeconds": 15},
    ],
}
_SCALE_DOWN: JSONObject = {
    "selectPolicy": _MAX_POLICY,
    "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}],
}
_CPU_AT_80_PERCENT: JSONObject = {
    "type": "Resource",
    "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}},
}


def _default(obj: JSONObject, field: str, value: object) -> None:
    if obj.get(field) in (None, ""):
        obj[field] = value


def pull_policy(image: str) -> str:
    """``Always`` for images of tag ``latest`` (which is also that of no tag and no digest), else ``IfNotPresent``."""
    name, _, digest = image.partition("@")
    tag = name.rpartition("/")[2].partition(":")[2]
    return "Always" if tag == "latest" or not (tag or digest) else "IfNotPresent"


def _container(obj: JSONObject) -> None:
    _default(obj, "imagePullPolicy", pull_policy(obj.get("image", "")))


def _resources(obj: JSONObject) -> None:
    """Amounts are kept to a thousandth."""
    for field in ("limits", "requests"):
        amounts = obj.get(field) or {}
        obj |= {field: {name: _milli(amount) for name, amount in amounts.items()}} if amounts else {}


def _milli(amount: str) -> str:
    return quantity.canonical(amount, finest=quantity.MILLI)


_VOLUME_OPTIONAL = {"name"}


def _volume(obj: JSONObject) -> None:
    if set(obj) <= _VOLUME_OPTIONAL:
        obj["emptyDir"] = {}
    image = obj.get("image")
    if image is not None:
        _default(image, "pullPolicy", pull_policy(image.get("reference", "")))


def _probe(obj: JSONObject) -> None:
    for field, value in (
        ("timeoutSeconds", 1),
        ("periodSeconds", 10),
        ("successThreshold", 1),
        ("failureThreshold", 3),
    ):
        if not obj.get(field):
            obj[field] = value


def _pod_spec(obj: JSONObject) -> None:
    """``serviceAccount`` is the old name of ``serviceAccountName``: a server keeps both alike.

    With host networking, ports are host ports.
    """
    account = obj.get("serviceAccountName") or obj.get("serviceAccount")
    if account:
        obj |= {"serviceAccountName": account, "serviceAccount": account}
    if obj.get("hostNetwork"):
        for container in (*(obj.get("containers") or ()), *(obj.get("initContainers") or ())):
            for port in container.get("ports") or ():
                if not port.get("hostPort"):
                    port["hostPort"] = port.get("containerPort")


def _pod(obj: JSONObject) -> None:
    """Defaults of a Pod, which a pod template does not get: requests are what is limited."""
    spec = obj["spec"]
    spec.setdefault("enableServiceLinks", True)
    for container in (*(spec.get("initContainers") or ()), *(spec.get("containers") or ())):
        limits = container["resources"].get("limits")
        if limits:
            container["resources"]["requests"] = limits | (container["resources"].get("requests") or {})


def _claim_templates(obj: JSONObject) -> None:
    for claim in obj.get("volumeClaimTemplates") or ():
        claim |= {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}


def _limit_range_item(obj: JSONObject) -> None:
    if obj.get("type") != "Container":
        return
    limits = (obj.get("max") or {}) | (obj.get("default") or {})
    requests = (obj.get("min") or {}) | limits | (obj.get("defaultRequest") or {})
    for field, amounts in (("default", limits), ("defaultRequest", requests)):
        if amounts:
            obj[field] = amounts


def _deployment_strategy(obj: JSONObject) -> None:
    if obj["type"] == "RollingUpdate":
        rolling = obj.setdefault("rollingUpdate", {})
        _default(rolling, "maxUnavailable", "25%")
        _default(rolling, "maxSurge", "25%")


def _daemon_set_strategy(obj: JSONObject) -> None:
    if obj["type"] == "RollingUpdate":
        rolling = obj.setdefault("rollingUpdate", {})
        _default(rolling, "maxUnavailable", 1)
        _default(rolling, "maxSurge", 0)


def _daemon_set(obj: JSONObject) -> None:
    """An annotation left from the days when DaemonSets counted their templates."""
    annotations = obj["metadata"].get("annotations") or {}
    obj["metadata"]["annotations"] = {TEMPLATE_GENERATION: "1"} | annotations


def _stateful_set_strategy(obj: JSONObject) -> None:
    if not obj.get("type"):
        obj["type"] = "RollingUpdate"
        obj.setdefault("rollingUpdate", {})
    if obj["type"] == "RollingUpdate" and "rollingUpdate" in obj:
        _default(obj["rollingUpdate"], "partition", 0)


def _job(obj: JSONObject) -> None:
    """Defaults of a Job, which the template in a CronJob does not get."""
    spec = obj["spec"]
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = 1
    _default(spec, "parallelism", 1)
    _default(spec, "backoffLimit", _MAX_INT32 if spec.get("backoffLimitPerIndex") is not None else 6)
    _default(spec, "podReplacementPolicy", "Failed" if spec.get("podFailurePolicy") else "TerminatingOrFailed")
    for field, value in (("completionMode", "NonIndexed"), ("suspend", False), ("manualSelector", False)):
        _default(spec, field, value)
    take_template_labels(obj)


def take_template_labels(obj: JSONObject) -> None:
    """An object without labels gets those of its template."""
    labels = (obj["spec"].get("template") or {}).get("metadata", {}).get("labels")
    if labels and not obj["metadata"].get("labels"):
        obj["metadata"]["labels"] = dict(labels)


def _replication_controller(obj: JSONObject) -> None:
    labels = (obj["spec"].get("template") or {}).get("metadata", {}).get("labels")
    if labels:
        _default(obj["spec"], "selector", dict(labels))
    take_template_labels(obj)


def _autoscaler(obj: JSONObject) -> None:
    if not obj.get("metrics"):
        obj["metrics"] = [{**_CPU_AT_80_PERCENT, "resource": _copy(_CPU_AT_80_PERCENT["resource"])}]
    behavior = obj.get("behavior")
    if behavior is not None:
        for field, rules in (("scaleUp", _SCALE_UP), ("scaleDown", _SCALE_DOWN)):
            given = {name: value for name, value in (behavior.get(field) or {}).items() if value is not None}
            behavior[field] = _copy(rules) | given


def _copy(value: JSONObject) -> JSONObject:
    """A copy of a default that is two levels deep."""
    return {
        key: dict(item) if isinstance(item, dict) else [dict(i) for i in item] if isinstance(item, list) else item
        for key, item in value.items()
    }


def _network_policy(obj: JSONObject) -> None:
    _default(obj, "policyTypes", ["Ingress", "Egress"] if obj.get("egress") else ["Ingress"])


def _subject(obj: JSONObject) -> None:
    if obj.get("kind") in ("User", "Group"):
        _default(obj, "apiGroup", _RBAC)


def _definition(obj: JSONObject) -> None:
    names = obj["spec"]["names"]
    kind = names.get("kind", "")
    if kind:
        _default(names, "singular", kind.lower())
        _default(names, "listKind", f"{kind}List")
    status = obj.setdefault("status", {})
    stored = [version["name"] for version in obj["spec"].get("versions") or () if version.get("storage")]
    if not status.get("storedVersions"):
        status["storedVersions"] = stored[:1]


def _secret(obj: JSONObject) -> None:
    """``stringData`` is for writing only."""
    texts = obj.pop("stringData", None) or {}
    if texts:
        encoded = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}
        obj["data"] = (obj.get("data") or {}) | encoded


def _namespace(obj: JSONObject) -> None:
    name = obj["metadata"].get("name")
    if name:
        obj["metadata"]["labels"] = (obj["metadata"].get("labels") or {}) | {"kubernetes.io/metadata.name": name}


def _node_status(obj: JSONObject) -> None:
    if obj.get("capacity"):
        obj.setdefault("allocatable", dict(obj["capacity"]))


HOOKS: dict[str, Callable[[JSONObject], None]] = {
    "apiextensions.v1.CustomResourceDefinition": _definition,
    "apps.v1.DaemonSet": _daemon_set,
    "apps.v1.DaemonSetUpdateStrategy": _daemon_set_strategy,
    "apps.v1.DeploymentStrategy": _deployment_strategy,
    "apps.v1.StatefulSetSpec": _claim_templates,
    "apps.v1.StatefulSetUpdateStrategy": _stateful_set_strategy,
    "autoscaling.v2.HorizontalPodAutoscalerSpec": _autoscaler,
    "batch.v1.Job": _job,
    "core.v1.Container": _container,
    "core.v1.EphemeralContainer": _container,
    "core.v1.LimitRangeItem": _limit_range_item,
    "core.v1.Namespace": _namespace,
    "core.v1.NodeStatus": _node_status,
    "core.v1.Pod": _pod,
    "core.v1.PodSpec": _pod_spec,
    "core.v1.Probe": _probe,
    "core.v1.ReplicationController": _replication_controller,
    "core.v1.ResourceRequirements": _resources,
    "core.v1.Secret": _secret,
    "core.v1.ServicePort": port_default,
    "core.v1.ServiceSpec": service_defaults,
    "core.v1.Volume": _volume,
    "networking.v1.NetworkPolicySpec": _network_policy,
    "rbac.v1.Subject": _subject,
}
"""By struct; called after its plain values are filled in, and before the structs below it."""
