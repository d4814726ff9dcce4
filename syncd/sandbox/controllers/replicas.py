"""ReplicaSets, and what all controllers of Pods share: making, choosing and deleting them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.sandbox.controllers.base import (
    MANAGER,
    POD,
    REPLICA_SET,
    Key,
    controller_of,
    is_controlled_by,
    is_deleting,
    is_kind,
    key_of,
    owned_or_own,
    owner_reference,
    update_status,
)
from syncd.sandbox.controllers.pods import is_ready
from syncd.sandbox.labels import matches

if TYPE_CHECKING:
    from collections.abc import Iterable

    from syncd.model import JSONObject
    from syncd.sandbox.kinds import Event, Objects, ServedKind


def pod_from(template: JSONObject, owner: JSONObject, name: str = "") -> JSONObject:
    """A Pod of a workload's template; its name is generated from the owner's unless it is given."""
    metadata = template.get("metadata") or {}
    identity = {"name": name} if name else {"generateName": f"{owner['metadata']['name']}-"}
    made: JSONObject = {
        field: metadata[field] for field in ("labels", "annotations", "finalizers") if field in metadata
    }
    made |= identity | {
        "namespace": owner["metadata"]["namespace"],
        "ownerReferences": [owner_reference(owner)],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": made, "spec": template["spec"]}


def claim(objects: Objects, kind: ServedKind, owner: JSONObject) -> list[JSONObject]:
    """The objects of a kind that ``owner`` controls; those that its selector chooses and nobody controls become its."""
    claimed = []
    selector = owner["spec"].get("selector")
    for obj in objects.list(kind, owner["metadata"]["namespace"]):
        if is_controlled_by(obj, owner):
            claimed.append(obj)
        elif _is_orphan(obj) and matches(selector, obj["metadata"].get("labels") or {}) and not is_deleting(owner):
            references = [*(obj["metadata"].get("ownerReferences") or ()), owner_reference(owner)]
            metadata = obj["metadata"] | {"ownerReferences": references}
            claimed.append(objects.update(kind, obj | {"metadata": metadata}, manager=MANAGER))
    return claimed


def _is_orphan(obj: JSONObject) -> bool:
    return controller_of(obj) is None and not is_deleting(obj)


def is_active(pod: JSONObject) -> bool:
    """Whether a Pod counts as a replica."""
    return not is_deleting(pod) and pod.get("status", {}).get("phase") not in ("Succeeded", "Failed")


def delete_pod(objects: Objects, pod: JSONObject) -> None:
    """Delete exactly this Pod."""
    objects.delete(POD, *key_of(pod), uid=pod["metadata"]["uid"])


class ReplicaSets:
    """Keeps as many Pods as each ReplicaSet says."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def keys(self, event: Event) -> Iterable[Key]:
        """The ReplicaSet itself, or that of one of its Pods."""
        if is_kind(event, POD) and controller_of(event.object) is None:
            return self._adopters(event.object)
        return owned_or_own(event, REPLICA_SET, POD)

    def _adopters(self, pod: JSONObject) -> tuple[Key, ...]:
        labels = pod["metadata"].get("labels")
        if not labels:
            return ()
        sets = self._objects.list(REPLICA_SET, pod["metadata"]["namespace"])
        return tuple(key_of(owner) for owner in sets if matches(owner["spec"].get("selector"), labels))

    def reconcile(self, key: Key) -> None:
        """See :class:`~syncd.sandbox.controllers.base.Controller`."""
        owner = self._objects.find(REPLICA_SET, *key)
        if owner is None:
            return
        pods = [pod for pod in claim(self._objects, POD, owner) if is_active(pod)]
        if not is_deleting(owner):
            wanted = owner["spec"].get("replicas", 1)
            template = pod_from(owner["spec"]["template"], owner)
            pods += [self._objects.create(POD, template, manager=MANAGER) for _ in range(wanted - len(pods))]
            for pod in sorted(pods, key=is_ready)[: max(0, len(pods) - wanted)]:
                delete_pod(self._objects, pod)
                pods.remove(pod)
        ready = sum(map(is_ready, pods))
        status = {
            "replicas": len(pods),
            "fullyLabeledReplicas": len(pods),
            "readyReplicas": ready,
            "availableReplicas": ready,
            "observedGeneration": owner["metadata"].get("generation", 0),
        }
        status = {field: value for field, value in status.items() if value or field == "replicas"}
        update_status(self._objects, REPLICA_SET, owner, status | {"terminatingReplicas": 0})
