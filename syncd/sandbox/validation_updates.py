"""What may not change in an object that is there, as ``pkg/apis/*/validation`` of Kubernetes words it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.sandbox import causes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from syncd.model import JSONObject
    from syncd.sandbox.kinds import Cause

_RBAC = "rbac.authorization.k8s.io"
_WHEN_IMMUTABLE = "field is immutable when `immutable` is set"
_STATEFUL_SET_MAY = (
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
)
_JOB_MAY_NOT = ("selector", "completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy")
_POD_MAY = (
    "`spec.containers[*].image`",
    "`spec.initContainers[*].image`",
    "`spec.activeDeadlineSeconds`",
    "`spec.tolerations` (only additions to existing tolerations)",
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
)


def _immutable(new: JSONObject, old: JSONObject, path: str, *fields: str) -> Iterator[Cause]:
    """Fields that never change."""
    for field in fields:
        if new.get(field) != old.get(field):
            yield causes.immutable(f"{path}.{field}" if path else field, new.get(field))


def _selector(new: JSONObject, old: JSONObject) -> Iterator[Cause]:
    return _immutable(new["spec"], old["spec"], "spec", "selector")


def _stateful_set(new: JSONObject, old: JSONObject) -> Iterator[Cause]:
    rest = [{k: v for k, v in obj["spec"].items() if k not in _STATEFUL_SET_MAY} for obj in (new, old)]
    if rest[0] != rest[1]:
        yield causes.forbidden(
            "spec",
            "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
            "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
        )


def _job(new: JSONObject, old: JSONObject) -> Iterator[Cause]:
    if new["spec"].get("completionMode") != "Indexed":
        yield from _immutable(new["spec"], old["spec"], "spec", "completions")
    yield from _immutable(new["spec"], old["spec"], "spec", *_JOB_MAY_NOT)
    yield from _immutable(new["spec"]["template"], old["spec"]["template"], "spec.template", "metadata", "spec")


def _service(new: JSONObject, old: JSONObject) -> Iterator[Cause]:
    spec, before = new["spec"], old["spec"]
    if "ExternalName" in (spec.get("type"), before.get("type")):
        return
    first, was = (spec.get("clusterIPs") or [""])[0], (before.get("clusterIPs") or [""])[0]
    if was and first != was:
        yield causes.invalid("spec.clusterIPs[0]", spec.get("clusterIPs"), "may not change once set")
    elif was and spec.get("clusterIP") != first:
        yield causes.invalid("spec.clusterIPs", spec.get("clusterIPs"), "first value must match `clusterIP`")
    families, had = spec.get("ipFamilies") or [], before.get("ipFamilies") or []
    if families and had and families[0] != had[0]:
        yield causes.invalid("spec.ipFamilies[0]", families, "may not change once set")


def _claim(new: JSONObject, old: JSONObject) -> Iterator[Cause]:
    spec, before = dict(new["spec"]), dict(old["spec"])
    if not before.get("volumeName"):
        spec.pop("volumeName", None)
        before.pop("volumeName", None)
    if (new.get("status") or {}).get("phase") == "Bound":
        for field in ("resources", "volumeAttributesClassName"):
            spec.pop(field, None)
            before.pop(field, None)
    if spec != before:
        words = (
            "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
        )
        yield causes.forbidden("spec", words)


def _configuration(new: JSONObject, old: JSONObject) -> Iterator[Cause]:
    if old["kind"] == "Secret":
        yield from _immutable(new, old, "", "type")
    if not old.get("immutable"):
        return
    if not new.get("immutable"):
        yield causes.forbidden("immutable", _WHEN_IMMUTABLE)
    for field in ("data", "binaryData"):
        if (new.get(field) or {}) != (old.get(field) or {}):
            yield causes.forbidden(field, _WHEN_IMMUTABLE)


def _binding(new: JSONObject, old: JSONObject) -> Iterator[Cause]:
    if new["roleRef"] != old["roleRef"]:
        reference = new["roleRef"]
        names = (("APIGroup", "apiGroup"), ("Kind", "kind"), ("Name", "name"))
        go_value = causes.Struct({go: reference.get(name) for go, name in names})
        yield causes.invalid("roleRef", go_value, "cannot change roleRef")


def _storage_class(new: JSONObject, old: JSONObject) -> Iterator[Cause]:
    return _immutable(new, old, "", "parameters", "provisioner", "reclaimPolicy", "volumeBindingMode")


def _priority_class(new: JSONObject, old: JSONObject) -> Iterator[Cause]:
    if new.get("value") != old.get("value"):
        yield causes.forbidden("value", "may not be changed in an update.")
    yield from _immutable(new, old, "", "preemptionPolicy")


def _pod(new: JSONObject, old: JSONObject) -> Iterator[Cause]:
    spec, before = _pod_rest(new["spec"]), _pod_rest(old["spec"])
    if not old["spec"].get("nodeName"):  # what binding does
        spec.pop("nodeName", None)
    if spec != before:
        yield causes.forbidden("spec", f"pod updates may not change fields other than {','.join(_POD_MAY)}")


def _pod_rest(spec: JSONObject) -> JSONObject:
    rest = {field: value for field, value in spec.items() if field not in ("activeDeadlineSeconds", "tolerations")}
    for field in ("containers", "initContainers"):
        rest[field] = [{k: v for k, v in item.items() if k != "image"} for item in spec.get(field) or ()]
    return rest


UPDATE_RULES: dict[tuple[str, str], Callable[[JSONObject, JSONObject], Iterator[Cause]]] = {
    ("", "ConfigMap"): _configuration,
    ("", "PersistentVolumeClaim"): _claim,
    ("", "Pod"): _pod,
    ("", "Secret"): _configuration,
    ("", "Service"): _service,
    ("apps", "DaemonSet"): _selector,
    ("apps", "Deployment"): _selector,
    ("apps", "ReplicaSet"): _selector,
    ("apps", "StatefulSet"): _stateful_set,
    ("batch", "Job"): _job,
    (_RBAC, "ClusterRoleBinding"): _binding,
    (_RBAC, "RoleBinding"): _binding,
    ("scheduling.k8s.io", "PriorityClass"): _priority_class,
    ("storage.k8s.io", "StorageClass"): _storage_class,
}
