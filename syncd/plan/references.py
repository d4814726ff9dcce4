"""Which objects an object names, so that it can come after them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from syncd.model import JSONObject, JSONValue, ObjectKey

if TYPE_CHECKING:
    from collections.abc import Iterator

_CORE: Final = ""
_RBAC: Final = "rbac.authorization.k8s.io"
_NETWORKING: Final = "networking.k8s.io"

# Fields of a Pod's spec (at any depth) that name an object of the Pod's own namespace: field, its name's field, kind.
_NAMED_IN_POD: Final = {
    "configMapRef": ("name", "ConfigMap"),
    "configMapKeyRef": ("name", "ConfigMap"),
    "configMap": ("name", "ConfigMap"),
    "secretRef": ("name", "Secret"),
    "secretKeyRef": ("name", "Secret"),
    "secret": ("secretName", "Secret"),
    "persistentVolumeClaim": ("claimName", "PersistentVolumeClaim"),
}
_POD_TEMPLATES: Final = {
    "Pod": ("spec",),
    "Job": ("spec", "template", "spec"),
    "CronJob": ("spec", "jobTemplate", "spec", "template", "spec"),
}
_DEFAULT_TEMPLATE: Final = ("spec", "template", "spec")


def references(document: JSONObject, namespace: str) -> Iterator[ObjectKey]:
    """The keys of the objects that one names; whether they exist is for the caller to see."""
    kind = document.get("kind", "")
    pod = _at(document, *_POD_TEMPLATES.get(kind, _DEFAULT_TEMPLATE))
    if isinstance(pod, dict) and isinstance(pod.get("containers"), list):
        yield from _pod_references(pod, namespace)
    if kind in ("RoleBinding", "ClusterRoleBinding"):
        yield from _binding_references(document, namespace)
    elif kind == "Ingress":
        yield from _ingress_references(document, namespace)
    elif kind == "HorizontalPodAutoscaler":
        target = _at(document, "spec", "scaleTargetRef")
        if isinstance(target, dict):
            group = str(target.get("apiVersion", "")).rpartition("/")[0]
            yield ObjectKey(namespace, group, str(target.get("kind", "")), str(target.get("name", "")))
    elif kind == "APIService":
        service = _at(document, "spec", "service")
        if isinstance(service, dict):
            yield ObjectKey(str(service.get("namespace", "")), _CORE, "Service", str(service.get("name", "")))


def _at(value: JSONValue, *path: str) -> JSONValue:
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _pod_references(pod: JSONObject, namespace: str) -> Iterator[ObjectKey]:
    yield ObjectKey(namespace, _CORE, "ServiceAccount", str(pod.get("serviceAccountName") or "default"))
    if pod.get("priorityClassName"):
        yield ObjectKey("", "scheduling.k8s.io", "PriorityClass", str(pod["priorityClassName"]))
    if pod.get("runtimeClassName"):
        yield ObjectKey("", "node.k8s.io", "RuntimeClass", str(pod["runtimeClassName"]))
    for secret in pod.get("imagePullSecrets") or ():
        yield ObjectKey(namespace, _CORE, "Secret", str(_at(secret, "name")))
    pending: list[JSONValue] = [pod]
    while pending:
        value = pending.pop()
        if isinstance(value, list):
            pending.extend(value)
        elif isinstance(value, dict):
            for field, inner in value.items():
                name_field, kind = _NAMED_IN_POD.get(field, ("", ""))
                name = _at(inner, name_field) if kind else None
                # A projected volume's "secret" has "name" where a plain volume's has "secretName".
                name = name or (_at(inner, "name") if kind else None)
                if isinstance(name, str):
                    yield ObjectKey(namespace, _CORE, kind, name)
                pending.append(inner)


def _binding_references(document: JSONObject, namespace: str) -> Iterator[ObjectKey]:
    role = document.get("roleRef") or {}
    role_namespace = namespace if role.get("kind") == "Role" else ""
    yield ObjectKey(role_namespace, _RBAC, str(role.get("kind", "")), str(role.get("name", "")))
    for subject in document.get("subjects") or ():
        if _at(subject, "kind") == "ServiceAccount":
            subject_namespace = str(subject.get("namespace") or namespace)
            yield ObjectKey(subject_namespace, _CORE, "ServiceAccount", str(subject.get("name", "")))


def _ingress_references(document: JSONObject, namespace: str) -> Iterator[ObjectKey]:
    spec = document.get("spec") or {}
    if spec.get("ingressClassName"):
        yield ObjectKey("", _NETWORKING, "IngressClass", str(spec["ingressClassName"]))
    for tls in spec.get("tls") or ():
        yield ObjectKey(namespace, _CORE, "Secret", str(_at(tls, "secretName")))
    paths = [path for rule in spec.get("rules") or () for path in _at(rule, "http", "paths") or ()]
    backends = [spec.get("defaultBackend"), *(_at(path, "backend") for path in paths)]
    for backend in backends:
        service = _at(backend, "service", "name")
        if isinstance(service, str):
            yield ObjectKey(namespace, _CORE, "Service", service)
