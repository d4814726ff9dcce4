"""Endpoints and EndpointSlices of Services.

Both get the labels of their Service, as the real controllers do it: a mark on a Service turns up on objects that nobody
applied.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.sandbox.controllers.base import (
    MANAGER,
    NODE_NAME,
    POD,
    SERVICE,
    Key,
    controller_of,
    is_controlled_by,
    is_deleting,
    is_kind,
    key_of,
    owner_reference,
    timestamp,
)
from syncd.sandbox.controllers.pods import is_ready
from syncd.sandbox.kinds import built_in

if TYPE_CHECKING:
    from collections.abc import Iterable

    from syncd.model import JSONObject
    from syncd.sandbox.kinds import Event, Objects

ENDPOINTS = built_in("", "Endpoints")
SLICE = built_in("discovery.k8s.io", "EndpointSlice")
_HEADLESS = "service.kubernetes.io/headless"
_NAME_LABEL = "kubernetes.io/service-name"
_TRIGGER = "endpoints.kubernetes.io/last-change-trigger-time"
_OLD_MANAGED = {"endpoints.kubernetes.io/managed-by": "endpoint-controller"}
_MANAGED = {"endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io"}


class ServiceEndpoints:
    """Says where the Pods of each Service are."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def keys(self, event: Event) -> Iterable[Key]:
        """The Service itself; that of its endpoints; those that choose a Pod."""
        metadata = event.object["metadata"]
        if is_kind(event, SERVICE):
            return (key_of(event.object),)
        if is_kind(event, ENDPOINTS):
            return (key_of(event.object),)
        if is_kind(event, SLICE):
            owner = controller_of(event.object)
            return (Key(metadata["namespace"], owner["name"]),) if owner is not None else ()
        if not is_kind(event, POD):
            return ()
        labels = metadata.get("labels") or {}
        services = self._objects.list(SERVICE, metadata["namespace"])
        return tuple(key_of(service) for service in services if _chooses(service, labels))

    def reconcile(self, key: Key) -> None:
        """See :class:`~syncd.sandbox.controllers.base.Controller`."""
        service = self._objects.find(SERVICE, *key)
        endpoints = self._objects.find(ENDPOINTS, *key)
        if service is None:
            if endpoints is not None and _OLD_MANAGED.items() <= endpoints["metadata"].get("labels", {}).items():
                self._objects.delete(ENDPOINTS, *key, uid=endpoints["metadata"]["uid"])
            return
        if is_deleting(service) or not service["spec"].get("selector") or service["spec"]["type"] == "ExternalName":
            return
        pods = [
            pod
            for pod in self._objects.list(POD, key.namespace)
            if _chooses(service, pod["metadata"].get("labels") or {}) and pod.get("status", {}).get("podIP")
        ]
        pods = [pod for pod in pods if not is_deleting(pod) and pod["status"]["phase"] not in ("Succeeded", "Failed")]
        self._write_endpoints(service, endpoints, pods)
        self._write_slice(service, pods)

    def _write_endpoints(self, service: JSONObject, old: JSONObject | None, pods: list[JSONObject]) -> None:
        metadata = service["metadata"]
        headless = {_HEADLESS: ""} if service["spec"].get("clusterIP") == "None" else {}
        labels = (metadata.get("labels") or {}) | _OLD_MANAGED | headless
        subset: JSONObject = {}
        for field, ready in (("addresses", True), ("notReadyAddresses", False)):
            addresses = [_address(pod) for pod in pods if is_ready(pod) is ready]
            subset |= {field: addresses} if addresses else {}
        ports = [{k: v for k, v in port.items() if v != ""} for port in _ports(service, pods)]
        if ports:
            subset["ports"] = ports
        subsets = [subset] if pods else []
        if old is None:
            made = {
                "apiVersion": "v1",
                "kind": ENDPOINTS.kind,
                "metadata": _marked({"name": metadata["name"], "namespace": metadata["namespace"]}, labels),
                "subsets": subsets,
            }
            self._objects.create(ENDPOINTS, made, manager=MANAGER)
        elif old["metadata"].get("labels") != labels or (old.get("subsets") or []) != subsets:
            changed = old | {"metadata": _marked(old["metadata"], labels), "subsets": subsets}
            self._objects.update(ENDPOINTS, changed, manager=MANAGER)

    def _write_slice(self, service: JSONObject, pods: list[JSONObject]) -> None:
        metadata = service["metadata"]
        headless = {_HEADLESS: ""} if service["spec"].get("clusterIP") == "None" else {}
        labels = (metadata.get("labels") or {}) | {_NAME_LABEL: metadata["name"]} | _MANAGED | headless
        content = {"endpoints": [_endpoint(pod) for pod in pods] or None, "ports": _ports(service, pods) or None}
        slices = self._objects.list(SLICE, metadata["namespace"], f"{_NAME_LABEL}={metadata['name']}")
        old = next((item for item in slices if is_controlled_by(item, service)), None)
        if old is None:
            made = {
                "apiVersion": SLICE.api_version,
                "kind": SLICE.kind,
                "metadata": _marked(
                    {
                        "generateName": f"{metadata['name']}-",
                        "namespace": metadata["namespace"],
                        "ownerReferences": [owner_reference(service)],
                    },
                    labels,
                ),
                "addressType": "IPv4",
                **content,
            }
            self._objects.create(SLICE, made, manager=MANAGER)
        elif old["metadata"].get("labels") != labels or any(old.get(k) != v for k, v in content.items()):
            changed = old | content | {"metadata": _marked(old["metadata"], labels)}
            self._objects.update(SLICE, changed, manager=MANAGER)


def _marked(metadata: JSONObject, labels: JSONObject) -> JSONObject:
    """Metadata with these labels, and with the time of the change."""
    return metadata | {"labels": labels, "annotations": (metadata.get("annotations") or {}) | {_TRIGGER: timestamp()}}


def _chooses(service: JSONObject, labels: JSONObject) -> bool:
    selector = service["spec"].get("selector")
    return bool(selector) and all(labels.get(name) == value for name, value in selector.items())


def _ports(service: JSONObject, pods: list[JSONObject]) -> list[JSONObject]:
    """The Service's ports as the Pods have them; a port by name is looked up in the first Pod."""
    ports = []
    for port in service["spec"].get("ports") or ():
        target = port["targetPort"]
        number = target if isinstance(target, int) else _named_port(pods, target)
        if number is not None:
            ports.append({"name": port.get("name", ""), "port": number, "protocol": port["protocol"]})
    return ports


def _named_port(pods: list[JSONObject], name: str) -> int | None:
    for pod in pods[:1]:
        for container in pod["spec"]["containers"]:
            for port in container.get("ports") or ():
                if port.get("name") == name:
                    return int(port["containerPort"])
    return None


def _target(pod: JSONObject) -> JSONObject:
    metadata = pod["metadata"]
    return {"kind": "Pod", "name": metadata["name"], "namespace": metadata["namespace"], "uid": metadata["uid"]}


def _address(pod: JSONObject) -> JSONObject:
    return {"ip": pod["status"]["podIP"], "nodeName": NODE_NAME, "targetRef": _target(pod)}


def _endpoint(pod: JSONObject) -> JSONObject:
    ready = is_ready(pod)
    return {
        "addresses": [pod["status"]["podIP"]],
        "conditions": {"ready": ready, "serving": ready, "terminating": False},
        "nodeName": NODE_NAME,
        "targetRef": _target(pod),
    }
