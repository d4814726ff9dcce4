"""Namespaces: what each one has from the start, and how one ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.sandbox.controllers.base import (
    CONFIG_MAP,
    MANAGER,
    NAMESPACE,
    Key,
    condition,
    is_deleting,
    is_kind,
    update_status,
)
from syncd.sandbox.kinds import built_in

if TYPE_CHECKING:
    from collections.abc import Iterable

    from syncd.model import JSONObject
    from syncd.sandbox.kinds import Event, Objects

SERVICE_ACCOUNT = built_in("", "ServiceAccount")
ROOT_CERTIFICATE = "kube-root-ca.crt"
_FINALIZER = "kubernetes"
_PLACEHOLDER = "The sandbox speaks plain HTTP: there is no certificate to trust.\n"


class Namespaces:
    """The service account ``default`` and the root certificate in every namespace; everything gone before it goes."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._ending: set[str] = set()

    def keys(self, event: Event) -> Iterable[Key]:
        """The namespace itself; that of what it must have; and while it ends, that of any object in it."""
        metadata = event.object["metadata"]
        if is_kind(event, NAMESPACE):
            return (Key("", metadata["name"]),)
        namespace = metadata.get("namespace", "")
        starts = is_kind(event, CONFIG_MAP, SERVICE_ACCOUNT) and metadata["name"] in ("default", ROOT_CERTIFICATE)
        return (Key("", namespace),) if namespace in self._ending or (starts and event.type != "ADDED") else ()

    def reconcile(self, key: Key) -> None:
        """See :class:`~syncd.sandbox.controllers.base.Controller`."""
        namespace = self._objects.find(NAMESPACE, "", key.name)
        if namespace is None:
            self._ending.discard(key.name)
        elif is_deleting(namespace):
            self._ending.add(key.name)
            self._end(namespace)
        else:
            self._begin(key.name)

    def _begin(self, name: str) -> None:
        if self._objects.find(SERVICE_ACCOUNT, name, "default") is None:
            account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": _metadata(name, "default")}
            self._objects.create(SERVICE_ACCOUNT, account, manager=MANAGER)
        if self._objects.find(CONFIG_MAP, name, ROOT_CERTIFICATE) is None:
            description = {
                "kubernetes.io/description": "Contains a CA bundle that can be used to verify the kube-apiserver when "
                "using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage "
                "is guaranteed across distributions of Kubernetes clusters."
            }
            certificate = {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": _metadata(name, ROOT_CERTIFICATE) | {"annotations": description},
                "data": {"ca.crt": _PLACEHOLDER},
            }
            self._objects.create(CONFIG_MAP, certificate, manager=MANAGER)

    def _end(self, namespace: JSONObject) -> None:
        """Delete what is there; when nothing is left, give the namespace up."""
        name = namespace["metadata"]["name"]
        remaining: list[tuple[str, JSONObject]] = []
        for kind in self._objects.kinds():
            if not kind.namespaced or "delete" not in kind.verbs:
                continue
            for obj in self._objects.list(kind, name):
                if not is_deleting(obj):
                    self._objects.delete(kind, name, obj["metadata"]["name"], uid=obj["metadata"]["uid"])
            remaining += ((str(kind.group_resource), obj) for obj in self._objects.list(kind, name))
        if remaining:
            update_status(self._objects, NAMESPACE, namespace, _status(namespace, remaining))
        elif _FINALIZER in (namespace.get("spec", {}).get("finalizers") or ()):
            left = [item for item in namespace["spec"]["finalizers"] if item != _FINALIZER]
            spec = namespace["spec"] | {"finalizers": left}
            self._objects.update(NAMESPACE, namespace | {"spec": spec}, manager=MANAGER, subresource="finalize")


def _metadata(namespace: str, name: str) -> JSONObject:
    return {"name": name, "namespace": namespace}


def _status(namespace: JSONObject, remaining: list[tuple[str, JSONObject]]) -> JSONObject:
    """What keeps a namespace from ending, in the words of the namespace controller."""
    kinds: dict[str, int] = {}
    finalizers: dict[str, int] = {}
    for resource, obj in remaining:
        kinds[resource] = kinds.get(resource, 0) + 1
        for finalizer in obj["metadata"].get("finalizers") or ():
            finalizers[finalizer] = finalizers.get(finalizer, 0) + 1
    content = ", ".join(f"{resource} has {count} resource instances" for resource, count in sorted(kinds.items()))
    waiting = ", ".join(f"{finalizer} in {count} resource instances" for finalizer, count in sorted(finalizers.items()))
    done = "All legacy kube types successfully parsed"
    found = (
        ("NamespaceDeletionDiscoveryFailure", "False", "ResourcesDiscovered", "All resources successfully discovered"),
        ("NamespaceDeletionGroupVersionParsingFailure", "False", "ParsedGroupVersions", done),
        (
            "NamespaceDeletionContentFailure",
            "False",
            "ContentDeleted",
            "All content successfully deleted, may be waiting on finalization",
        ),
        ("NamespaceContentRemaining", "True", "SomeResourcesRemain", f"Some resources are remaining: {content}"),
        (
            "NamespaceFinalizersRemaining",
            str(bool(finalizers)),
            "SomeFinalizersRemain" if finalizers else "ContentHasNoFinalizers",
            f"Some content in the namespace has finalizers remaining: {waiting}"
            if finalizers
            else "All content-preserving finalizers finished",
        ),
    )
    return {"phase": "Terminating", "conditions": [condition(namespace, *item) for item in found]}
