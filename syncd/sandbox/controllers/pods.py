"""Scheduler and kubelet in one: a Pod is bound to the one node and runs at once, unless its image cannot be pulled.

An image cannot be pulled when its name ends in ``:bad`` or holds ``does-not-exist``: a way to show a Degraded workload.
Containers of a Pod that a Job controls end at once, and successfully.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from syncd.sandbox.controllers.base import (
    KUBELET,
    NODE,
    NODE_NAME,
    POD,
    Key,
    condition,
    controller_of,
    is_deleting,
    is_kind,
    key_of,
    timestamp,
    update_status,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from syncd.model import JSONObject
    from syncd.sandbox.kinds import Event, Objects

_NODE_ADDRESS = "192.168.0.10"
_CAPACITY = {"cpu": "16", "memory": "64Gi", "pods": "1000", "ephemeral-storage": "1Ti"}
_PULL_REASON = "ImagePullBackOff"
_GENERATION = "observedGeneration"


def create_node(objects: Objects) -> None:
    """Create the node that all Pods run on, unless it is there."""
    if objects.find(NODE, "", NODE_NAME) is not None:
        return
    labels = {"kubernetes.io/hostname": NODE_NAME, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
    node: JSONObject = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE_NAME, "labels": labels}}
    created = objects.create(NODE, node, manager=KUBELET)
    status: JSONObject = {
        "capacity": _CAPACITY,
        "allocatable": _CAPACITY,
        "addresses": [{"type": "InternalIP", "address": _NODE_ADDRESS}, {"type": "Hostname", "address": NODE_NAME}],
        "conditions": [condition(created, "Ready", "True", "KubeletReady", "kubelet is posting ready status")],
        "nodeInfo": {"kubeletVersion": "v1.36.0-sandbox", "operatingSystem": "linux", "architecture": "amd64"},
    }
    update_status(objects, NODE, created, status, KUBELET)


class Pods:
    """Runs Pods."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def keys(self, event: Event) -> Iterable[Key]:
        """A Pod that is there."""
        return (key_of(event.object),) if is_kind(event, POD) and event.type != "DELETED" else ()

    def reconcile(self, key: Key) -> None:
        """See :class:`~syncd.sandbox.controllers.base.Controller`."""
        pod = self._objects.find(POD, *key)
        if pod is None or is_deleting(pod) or pod.get("status", {}).get("phase") in ("Succeeded", "Failed"):
            return
        if not pod["spec"].get("nodeName"):
            spec = pod["spec"] | {"nodeName": NODE_NAME}
            pod = self._objects.update(POD, pod | {"spec": spec}, manager="kube-scheduler", subresource="binding")
        update_status(self._objects, POD, pod, _status(pod), KUBELET)


def image_is_bad(image: str) -> bool:
    """Whether the sandbox pretends that an image cannot be pulled."""
    return image.endswith(":bad") or "does-not-exist" in image


def is_ready(pod: JSONObject) -> bool:
    """Whether a Pod's condition Ready holds."""
    conditions = pod.get("status", {}).get("conditions") or ()
    return any(item["type"] == "Ready" and item["status"] == "True" for item in conditions)


def _status(pod: JSONObject) -> JSONObject:
    old, spec = pod.get("status", {}), pod["spec"]
    containers = spec.get("containers") or []
    pulled = not any(image_is_bad(c.get("image", "")) for c in (*containers, *(spec.get("initContainers") or ())))
    owner = controller_of(pod)
    done = pulled and owner is not None and owner["kind"] == "Job"
    ready = pulled and not done
    started = old.get("startTime") or timestamp()
    address = _address(pod)
    statuses = {item["name"]: item for item in old.get("containerStatuses") or ()}
    status: JSONObject = {
        "phase": "Succeeded" if done else "Running" if pulled else "Pending",
        "qosClass": old.get("qosClass", "BestEffort"),
        "startTime": started,
        "hostIP": _NODE_ADDRESS,
        "hostIPs": [{"ip": _NODE_ADDRESS}],
        "podIP": address,
        "podIPs": [{"ip": address}],
        "conditions": _conditions(pod, ready=ready, done=done),
        "containerStatuses": [_container(c, started, statuses.get(c["name"]), done=done) for c in containers],
    }
    if _GENERATION in old or "generation" in pod["metadata"]:
        status[_GENERATION] = pod["metadata"].get("generation", 0)
    if spec.get("initContainers"):
        status["initContainerStatuses"] = [
            _container(c, started, None, done=pulled and c.get("restartPolicy") != "Always")
            for c in spec["initContainers"]
        ]
    return status


def _conditions(pod: JSONObject, *, ready: bool, done: bool) -> list[JSONObject]:
    names = ", ".join(c["name"] for c in pod["spec"].get("containers") or ())
    why = ("PodCompleted", "") if done else ("ContainersNotReady", f"containers with unready status: [{names}]")
    found = (
        ("PodReadyToStartContainers", "True", "", ""),
        ("Initialized", "True", "PodCompleted" if done else "", ""),
        ("Ready", "True", "", "") if ready else ("Ready", "False", *why),
        ("ContainersReady", "True", "", "") if ready else ("ContainersReady", "False", *why),
        ("PodScheduled", "True", "", ""),
    )
    generation = {_GENERATION: pod["metadata"]["generation"]} if "generation" in pod["metadata"] else {}
    made = (condition(pod, *item) | generation for item in found)
    return [{name: value for name, value in item.items() if value != ""} for item in made]


def _container(container: JSONObject, started: str, old: JSONObject | None, *, done: bool) -> JSONObject:
    image = container.get("image", "")
    status: JSONObject = {
        "name": container["name"],
        "image": image,
        "restartCount": 0,
        "imageID": "",
        "ready": False,
        "started": False,
        "lastState": {},
    }
    if image_is_bad(image):
        waiting = {"reason": _PULL_REASON, "message": f'Back-off pulling image "{image}"'}
        return status | {"state": {"waiting": waiting}}
    identity = hashlib.sha256(f"{container['name']}/{image}".encode()).hexdigest()
    status |= {"imageID": f"{image}@sha256:{identity}", "containerID": f"sandbox://{identity}"}
    if done:
        ended = {"exitCode": 0, "reason": "Completed", "startedAt": started, "finishedAt": started}
        return status | {"state": {"terminated": ended | {"containerID": status["containerID"]}}}
    since = ((old or {}).get("state", {}).get("running") or {}).get("startedAt") or timestamp()
    return status | {"ready": True, "started": True, "state": {"running": {"startedAt": since}}}


def _address(pod: JSONObject) -> str:
    digest = hashlib.sha256(pod["metadata"]["uid"].encode()).digest()
    return f"10.244.{digest[0]}.{digest[1] % 254 + 1}"
