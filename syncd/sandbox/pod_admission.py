"""What a server adds to a Pod, but not to the pod template it came from.

That is the work of the Pod registry (phase, quality of service) and of the admission plugins ServiceAccount, Priority
and DefaultTolerationSeconds, which are on by default. Every function changes the Pod it gets.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from syncd.sandbox import quantity

if TYPE_CHECKING:
    from syncd.model import JSONObject

_TOKEN_MOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"  # noqa: S105 - a path, not a secret
_TOKEN_SECONDS = 3607
_TOLERATION_SECONDS = 300
_NO_EXECUTE = "NoExecute"
_NODE_CONDITIONS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_COMPUTE = ("cpu", "memory")


def admit_pod(pod: JSONObject, *, new: bool) -> None:
    """Fill a Pod; ``new`` says whether it is being created."""
    spec = pod["spec"]
    containers = [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]
    if new:
        _service_account(pod, containers)
        _tolerations(spec)
    if not spec.get("priorityClassName"):
        spec.setdefault("priority", 0)
    spec.setdefault("preemptionPolicy", "PreemptLowerPriority")
    status = pod.setdefault("status", {})
    status.setdefault("phase", "Pending")
    status.setdefault("qosClass", quality_of_service(pod))


def _service_account(pod: JSONObject, containers: list[JSONObject]) -> None:
    spec = pod["spec"]
    account = spec.get("serviceAccountName") or "default"
    spec |= {"serviceAccountName": account, "serviceAccount": account}
    if spec.get("automountServiceAccountToken") is False:
        return
    volumes = spec.get("volumes") or []
    volume = next((v["name"] for v in volumes if v["name"].startswith("kube-api-access-")), "")
    bare = [c for c in containers if all(m.get("mountPath") != _TOKEN_MOUNT for m in c.get("volumeMounts") or ())]
    if not bare:
        return
    if not volume:
        volume = f"kube-api-access-{_suffix(pod)}"
        spec["volumes"] = [*volumes, _token_volume(volume)]
    for container in bare:
        mount = {"name": volume, "readOnly": True, "mountPath": _TOKEN_MOUNT}
        container["volumeMounts"] = [*(container.get("volumeMounts") or ()), mount]


def _suffix(pod: JSONObject) -> str:
    """Five characters that look random, and are the same each time."""
    metadata = pod["metadata"]
    digest = hashlib.sha256(f"{metadata.get('uid')}/{metadata.get('namespace')}/{metadata.get('name')}".encode())
    return "".join(_ALPHABET[byte % len(_ALPHABET)] for byte in digest.digest()[:5])


def _token_volume(name: str) -> JSONObject:
    namespace = {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
    return {
        "name": name,
        "projected": {
            "defaultMode": 0o644,
            "sources": [
                {"serviceAccountToken": {"expirationSeconds": _TOKEN_SECONDS, "path": "token"}},
                {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
                {"downwardAPI": {"items": [namespace]}},
            ],
        },
    }


def _tolerations(spec: JSONObject) -> None:
    tolerations = spec.get("tolerations") or []
    for condition in _NODE_CONDITIONS:
        if any(_tolerates(toleration, condition) for toleration in tolerations):
            continue
        own = {"key": condition, "operator": "Exists", "effect": _NO_EXECUTE, "tolerationSeconds": _TOLERATION_SECONDS}
        tolerations = [*tolerations, own]
    spec["tolerations"] = tolerations


def _tolerates(toleration: JSONObject, condition: str) -> bool:
    return toleration.get("key", "") in ("", condition) and toleration.get("effect", "") in ("", _NO_EXECUTE)


def quality_of_service(pod: JSONObject) -> str:
    """``Guaranteed``, ``Burstable`` or ``BestEffort``, by what the containers request and limit."""
    spec = pod["spec"]
    resources = [c["resources"] for c in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ()))]
    asked = [_compute(r.get(field)) for r in resources for field in ("requests", "limits")]
    if not any(asked):
        return "BestEffort"
    guaranteed = all(
        len(_compute(r.get("limits"))) == len(_COMPUTE) and _compute(r.get("requests")) == _compute(r.get("limits"))
        for r in resources
    )
    return "Guaranteed" if guaranteed else "Burstable"


def _compute(amounts: JSONObject | None) -> JSONObject:
    parsed = {name: quantity.parse(amount) for name, amount in (amounts or {}).items() if name in _COMPUTE}
    return {name: amount for name, amount in parsed.items() if amount}
