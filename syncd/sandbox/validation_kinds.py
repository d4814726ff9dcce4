"""Rules of single kinds for what a spec must and may not say, as ``pkg/apis/*/validation`` of Kubernetes words them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.sandbox import causes, names
from syncd.sandbox.labels import matches
from syncd.sandbox.validation_pods import PROTOCOLS, non_negative, pod_spec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from syncd.model import JSONObject
    from syncd.sandbox.kinds import Cause

_RBAC = "rbac.authorization.k8s.io"
_STRATEGIES = ("Recreate", "RollingUpdate")
_SERVICE_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")
_POLICY_TYPES = ("Ingress", "Egress")
_MAX_DATA = 1024 * 1024
_MAX_CRON_JOB_NAME = 52
_CRON_FIELDS = 5


def _pod(obj: JSONObject) -> Iterator[Cause]:
    return pod_spec(obj["spec"], "spec")


def _workload(obj: JSONObject, named: str) -> Iterator[Cause]:
    """What Deployments, ReplicaSets, StatefulSets and DaemonSets have in common."""
    spec = obj["spec"]
    yield from non_negative(spec, "spec", "replicas")
    selector = spec.get("selector")
    template = spec.get("template") or {}
    labels = (template.get("metadata") or {}).get("labels") or {}
    if selector is None:
        yield causes.required("spec.selector")
    elif not selector.get("matchLabels") and not selector.get("matchExpressions"):
        yield causes.invalid("spec.selector", selector, f"empty selector is invalid for {named}")
    if not matches(selector, labels):
        path = "spec.template.metadata.labels"
        yield causes.invalid(path, labels or None, "`selector` does not match template `labels`")
    yield from pod_spec(template.get("spec") or {}, "spec.template.spec")
    policy = (template.get("spec") or {}).get("restartPolicy")
    if policy in ("OnFailure", "Never"):
        yield causes.not_supported("spec.template.spec.restartPolicy", policy, ["Always"])


def _deployment(obj: JSONObject) -> Iterator[Cause]:
    spec = obj["spec"]
    yield from _workload(obj, "deployment")
    strategy = spec.get("strategy") or {}
    rolling = strategy.get("rollingUpdate")
    if strategy.get("type") not in _STRATEGIES:
        go_value = causes.Struct(Type=strategy.get("type"), RollingUpdate=rolling)
        yield causes.not_supported("spec.strategy", go_value, _STRATEGIES)
    elif strategy["type"] == "Recreate" and rolling is not None:
        words = "may not be specified when strategy `type` is 'Recreate'"
        yield causes.forbidden("spec.strategy.rollingUpdate", words)
    elif rolling is not None and {_zero(rolling.get("maxUnavailable")), _zero(rolling.get("maxSurge"))} == {True}:
        path = "spec.strategy.rollingUpdate.maxUnavailable"
        yield causes.invalid(path, rolling["maxUnavailable"], "may not be 0 when `maxSurge` is 0")
    yield from non_negative(spec, "spec", "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds")
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is not None and deadline <= spec.get("minReadySeconds", 0):
        yield causes.invalid("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds")


def _zero(value: int | str | None) -> bool:
    return value in (0, "0%")


def _replica_set(obj: JSONObject) -> Iterator[Cause]:
    return _workload(obj, "deployment")


def _stateful_set(obj: JSONObject) -> Iterator[Cause]:
    spec = obj["spec"]
    claims = [{"name": claim["metadata"]["name"], "emptyDir": {}} for claim in spec.get("volumeClaimTemplates") or ()]
    if claims:  # the Pods will have these volumes
        template = spec["template"]
        own = {claim["name"] for claim in claims}
        kept = [volume for volume in template["spec"].get("volumes") or () if volume.get("name") not in own]
        pod = template | {"spec": template["spec"] | {"volumes": [*claims, *kept]}}
        obj = obj | {"spec": spec | {"template": pod}}
    return _workload(obj, "statefulset")


def _daemon_set(obj: JSONObject) -> Iterator[Cause]:
    return _workload(obj, "daemonset")


def _job(obj: JSONObject) -> Iterator[Cause]:
    return _job_spec(obj["spec"], "spec")


def _job_spec(spec: JSONObject, path: str) -> Iterator[Cause]:
    yield from non_negative(
        spec, path, "parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished"
    )
    pod = (spec.get("template") or {}).get("spec") or {}
    yield from pod_spec(pod, f"{path}.template.spec")
    if pod.get("restartPolicy") not in ("OnFailure", "Never"):
        yield causes.required(f"{path}.template.spec.restartPolicy", 'valid values: "OnFailure", "Never"')


def _cron_job(obj: JSONObject) -> Iterator[Cause]:
    spec, name = obj["spec"], obj["metadata"].get("name", "")
    if len(name) > _MAX_CRON_JOB_NAME:
        yield causes.invalid("metadata.name", name, f"must be no more than {_MAX_CRON_JOB_NAME} characters")
    schedule = spec.get("schedule", "")
    if not schedule:
        yield causes.required("spec.schedule")
    elif not schedule.startswith("@") and len(schedule.split()) != _CRON_FIELDS:
        found = len(schedule.split())
        words = f"expected exactly {_CRON_FIELDS} fields, found {found}: {_go_list(schedule.split())}"
        yield causes.invalid("spec.schedule", schedule, words)
    if spec.get("concurrencyPolicy") not in ("Allow", "Forbid", "Replace"):
        policies = ("Allow", "Forbid", "Replace")
        yield causes.not_supported("spec.concurrencyPolicy", spec.get("concurrencyPolicy"), policies)
    yield from _job_spec((spec.get("jobTemplate") or {}).get("spec") or {}, "spec.jobTemplate.spec")


def _go_list(texts: list[str]) -> str:
    return "[" + " ".join(texts) + "]"


def _service(obj: JSONObject) -> Iterator[Cause]:
    spec = obj["spec"]
    kind, ports = spec.get("type"), spec.get("ports") or []
    if kind == "ExternalName":
        if not spec.get("externalName"):
            yield causes.required("spec.externalName")
    elif not ports and spec.get("clusterIP") != "None":
        yield causes.required("spec.ports")
    used: set[str] = set()
    numbers: set[tuple[str, int]] = set()
    for index, port in enumerate(ports):
        path = f"spec.ports[{index}]"
        yield from _service_port(port, path, used, several=len(ports) > 1)
        number = (port.get("protocol", ""), port.get("port", 0))
        if number in numbers:
            yield causes.duplicate(path, {"protocol": number[0], "port": number[1]})
        numbers.add(number)
    if kind not in _SERVICE_TYPES:
        yield causes.not_supported("spec.type", kind, _SERVICE_TYPES)
    if spec.get("sessionAffinity") not in ("ClientIP", "None"):
        yield causes.not_supported("spec.sessionAffinity", spec.get("sessionAffinity"), ("ClientIP", "None"))
    if kind == "LoadBalancer" and spec.get("clusterIP") == "None":
        yield causes.invalid("spec.clusterIPs[0]", "None", "may not be set to 'None' for LoadBalancer services")


def _service_port(port: JSONObject, path: str, used: set[str], *, several: bool) -> Iterator[Cause]:
    name = port.get("name", "")
    if not name and several:
        yield causes.required(f"{path}.name")
    for words in names.label(name) if name else ():
        yield causes.invalid(f"{path}.name", name, words)
    if name and name in used:
        yield causes.duplicate(f"{path}.name", name)
    used.add(name)
    for words in names.port_number(port.get("port", 0)):
        yield causes.invalid(f"{path}.port", port.get("port", 0), words)
    if port.get("protocol") not in PROTOCOLS:
        yield causes.not_supported(f"{path}.protocol", port.get("protocol"), PROTOCOLS)
    target = port.get("targetPort", 0)
    for words in names.port_number(target) if isinstance(target, int) else names.port_name(target):
        yield causes.invalid(f"{path}.targetPort", target, words)


def _configuration(obj: JSONObject) -> Iterator[Cause]:
    """Keys of ConfigMaps and Secrets, and how much they hold."""
    for field in ("data", "binaryData"):
        for key in sorted(obj.get(field) or {}):
            for words in names.config_key(key):
                yield causes.invalid(f"{field}[{key}]", key, words)
    for key in sorted((obj.get("binaryData") or {}).keys() & (obj.get("data") or {}).keys()):
        yield causes.invalid(f"data[{key}]", key, "duplicate of key present in binaryData")
    secret = obj["kind"] == "Secret"
    texts, encoded = ({}, obj.get("data")) if secret else (obj.get("data"), obj.get("binaryData"))
    size = sum(len(value.encode()) for value in (texts or {}).values())
    size += sum(len(value.rstrip("=")) * 3 // 4 for value in (encoded or {}).values())
    if size > _MAX_DATA:
        yield causes.too_long("data" if secret else "[]", _MAX_DATA)


def _role(obj: JSONObject) -> Iterator[Cause]:
    namespaced = obj["kind"] == "Role"
    for index, rule in enumerate(obj.get("rules") or ()):
        path = f"rules[{index}]"
        if not rule.get("verbs"):
            yield causes.required(f"{path}.verbs", "verbs must contain at least one value")
        if rule.get("nonResourceURLs"):
            if namespaced:
                words = "namespaced rules cannot apply to non-resource URLs"
                yield causes.invalid(f"{path}.nonResourceURLs", rule["nonResourceURLs"], words)
            if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
                words = "rules cannot apply to both regular resources and non-resource URLs"
                yield causes.invalid(f"{path}.nonResourceURLs", rule["nonResourceURLs"], words)
            continue
        if not rule.get("apiGroups"):
            yield causes.required(f"{path}.apiGroups", "resource rules must supply at least one api group")
        if not rule.get("resources"):
            yield causes.required(f"{path}.resources", "resource rules must supply at least one resource")


def _binding(obj: JSONObject) -> Iterator[Cause]:
    reference = obj.get("roleRef") or {}
    kinds = ("Role", "ClusterRole") if obj["kind"] == "RoleBinding" else ("ClusterRole",)
    if reference.get("apiGroup") != _RBAC:
        yield causes.not_supported("roleRef.apiGroup", reference.get("apiGroup"), [_RBAC])
    if reference.get("kind") not in kinds:
        yield causes.not_supported("roleRef.kind", reference.get("kind", ""), kinds)
    if not reference.get("name"):
        yield causes.required("roleRef.name")
    for index, subject in enumerate(obj.get("subjects") or ()):
        path, kind = f"subjects[{index}]", subject.get("kind", "")
        if not subject.get("name"):
            yield causes.required(f"{path}.name")
        if kind not in ("ServiceAccount", "User", "Group"):
            yield causes.not_supported(f"{path}.kind", kind, ("ServiceAccount", "User", "Group"))
        elif kind == "ServiceAccount" and not subject.get("namespace") and obj["kind"] == "ClusterRoleBinding":
            yield causes.required(f"{path}.namespace")


def _ingress(obj: JSONObject) -> Iterator[Cause]:
    spec = obj["spec"]
    if not spec.get("rules") and spec.get("defaultBackend") is None:
        yield causes.invalid("spec", None, "either `defaultBackend` or `rules` must be specified")
    if spec.get("defaultBackend") is not None:
        yield from _backend(spec["defaultBackend"], "spec.defaultBackend")
    for number, rule in enumerate(spec.get("rules") or ()):
        http = rule.get("http")
        if http is None:
            continue
        if not http.get("paths"):
            yield causes.required(f"spec.rules[{number}].http.paths")
        for index, entry in enumerate(http.get("paths") or ()):
            path = f"spec.rules[{number}].http.paths[{index}]"
            kind, place = entry.get("pathType"), entry.get("path", "")
            if kind is None:
                yield causes.required(f"{path}.pathType", "pathType must be specified")
                continue
            if kind not in _PATH_TYPES:
                yield causes.not_supported(f"{path}.pathType", kind, _PATH_TYPES)
            elif not place.startswith("/") and (place or kind != "ImplementationSpecific"):
                yield causes.invalid(f"{path}.path", place, "must be an absolute path")
            yield from _backend(entry.get("backend") or {}, f"{path}.backend")


def _backend(backend: JSONObject, path: str) -> Iterator[Cause]:
    service, resource = backend.get("service"), backend.get("resource")
    if service is not None and resource is not None:
        yield causes.invalid(path, "", "cannot set both resource and service backends")
    elif service is not None:
        if not service.get("name"):
            yield causes.required(f"{path}.service.name")
        port = service.get("port") or {}
        if port.get("name") and port.get("number"):
            yield causes.invalid(path, "", "cannot set both port name & port number")
        elif not port.get("name") and not port.get("number"):
            yield causes.required(path, "port name or number is required")
    elif resource is None:
        yield causes.invalid(path, "", "resource or service backend is required")


def _network_policy(obj: JSONObject) -> Iterator[Cause]:
    for index, kind in enumerate(obj["spec"].get("policyTypes") or ()):
        if kind not in _POLICY_TYPES:
            yield causes.not_supported(f"spec.policyTypes[{index}]", kind, _POLICY_TYPES)


def _autoscaler(obj: JSONObject) -> Iterator[Cause]:
    spec = obj["spec"]
    least, most = spec.get("minReplicas"), spec.get("maxReplicas", 0)
    if least is not None and least < 1:
        yield causes.invalid("spec.minReplicas", least, "must be greater than or equal to 1")
    if most == 0:
        yield causes.required("spec.maxReplicas", "must be set and greater than 0")
    elif most < 0:
        yield causes.invalid("spec.maxReplicas", most, "must be greater than or equal to 1")
    if least is not None and most < least:
        yield causes.invalid("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`")
    target = spec.get("scaleTargetRef") or {}
    for field in ("kind", "name"):
        if not target.get(field):
            yield causes.required(f"spec.scaleTargetRef.{field}")
    if "/" not in target.get("apiVersion", ""):
        path, words = "spec.scaleTargetRef.apiVersion", "apiVersion must specify API group"
        if (target.get("apiVersion"), target.get("kind")) != ("v1", "ReplicationController"):
            yield causes.invalid(path, target.get("apiVersion", ""), words)


def _budget(obj: JSONObject) -> Iterator[Cause]:
    spec = obj["spec"]
    if spec.get("minAvailable") is not None and spec.get("maxUnavailable") is not None:
        go_value = causes.Struct(
            MinAvailable=spec["minAvailable"],
            Selector=spec.get("selector"),
            MaxUnavailable=spec["maxUnavailable"],
            UnhealthyPodEvictionPolicy=spec.get("unhealthyPodEvictionPolicy"),
        )
        yield causes.invalid("spec", go_value, "minAvailable and maxUnavailable cannot be both set")


def _claim(obj: JSONObject) -> Iterator[Cause]:
    spec = obj["spec"]
    if not spec.get("accessModes"):
        yield causes.required("spec.accessModes", "at least 1 access mode is required")
    if "storage" not in ((spec.get("resources") or {}).get("requests") or {}):
        yield causes.required("spec.resources[storage]")


RULES: dict[tuple[str, str], Callable[[JSONObject], Iterator[Cause]]] = {
    ("", "ConfigMap"): _configuration,
    ("", "PersistentVolumeClaim"): _claim,
    ("", "Pod"): _pod,
    ("", "Secret"): _configuration,
    ("", "Service"): _service,
    ("apps", "DaemonSet"): _daemon_set,
    ("apps", "Deployment"): _deployment,
    ("apps", "ReplicaSet"): _replica_set,
    ("apps", "StatefulSet"): _stateful_set,
    ("autoscaling", "HorizontalPodAutoscaler"): _autoscaler,
    ("batch", "CronJob"): _cron_job,
    ("batch", "Job"): _job,
    ("networking.k8s.io", "Ingress"): _ingress,
    ("networking.k8s.io", "NetworkPolicy"): _network_policy,
    ("policy", "PodDisruptionBudget"): _budget,
    (_RBAC, "ClusterRole"): _role,
    (_RBAC, "ClusterRoleBinding"): _binding,
    (_RBAC, "Role"): _role,
    (_RBAC, "RoleBinding"): _binding,
}
"""For new objects and new states alike."""
