"""StatefulSets: Pods with names and claims of their own, one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.sandbox.controllers import revisions
from syncd.sandbox.controllers.base import (
    CLAIM,
    MANAGER,
    POD,
    Key,
    is_controlled_by,
    is_deleting,
    key_of,
    owned_or_own,
    update_status,
)
from syncd.sandbox.controllers.pods import is_ready
from syncd.sandbox.controllers.replicas import delete_pod, pod_from
from syncd.sandbox.kinds import built_in

if TYPE_CHECKING:
    from collections.abc import Iterable

    from syncd.model import JSONObject
    from syncd.sandbox.kinds import Event, Objects

STATEFUL_SET = built_in("apps", "StatefulSet")


class StatefulSets:
    """Runs StatefulSets."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def keys(self, event: Event) -> Iterable[Key]:
        """The StatefulSet itself, or that of one of its Pods."""
        return owned_or_own(event, STATEFUL_SET, POD)

    def reconcile(self, key: Key) -> None:
        """See :class:`~syncd.sandbox.controllers.base.Controller`."""
        owner = self._objects.find(STATEFUL_SET, *key)
        if owner is None:
            return
        revision = revisions.label_of(revisions.current(self._objects, owner))
        pods = {
            _ordinal(pod): pod
            for pod in self._objects.list(POD, key.namespace)
            if is_controlled_by(pod, owner) and not is_deleting(pod)
        }
        if not is_deleting(owner):
            self._step(owner, pods, revision)
        self._report(owner, pods, revision)

    def _step(self, owner: JSONObject, pods: dict[int, JSONObject], revision: str) -> None:
        """Create what is missing, delete what is too much or old; in order, one at a time where that is asked for."""
        spec = owner["spec"]
        first = (spec.get("ordinals") or {}).get("start", 0)
        wanted = range(first, first + spec["replicas"])
        ordered = spec["podManagementPolicy"] == "OrderedReady"
        for ordinal in wanted:
            if ordinal not in pods:
                pods[ordinal] = self._create(owner, ordinal, revision)
            if ordered and not is_ready(pods[ordinal]):
                return
        for ordinal in sorted(pods.keys() - set(wanted), reverse=True):
            delete_pod(self._objects, pods.pop(ordinal))
            if ordered:
                return
        if spec["updateStrategy"]["type"] != "RollingUpdate" or not all(map(is_ready, pods.values())):
            return
        partition = (spec["updateStrategy"].get("rollingUpdate") or {}).get("partition", 0)
        for ordinal in sorted(pods, reverse=True):
            if ordinal - first >= partition and _revision(pods[ordinal]) != revision:
                delete_pod(self._objects, pods.pop(ordinal))
                return

    def _create(self, owner: JSONObject, ordinal: int, revision: str) -> JSONObject:
        name = f"{owner['metadata']['name']}-{ordinal}"
        labels = {"statefulset.kubernetes.io/pod-name": name, "apps.kubernetes.io/pod-index": str(ordinal)}
        pod = pod_from(revisions.marked(owner["spec"]["template"], revision, **labels), owner, name)
        spec = pod["spec"] | {"hostname": name, "subdomain": owner["spec"].get("serviceName", "")}
        volumes = list(spec.get("volumes") or ())
        for template in owner["spec"].get("volumeClaimTemplates") or ():
            claim = self._claim(owner, template, name)
            volumes.append({"name": template["metadata"]["name"], "persistentVolumeClaim": {"claimName": claim}})
        return self._objects.create(POD, pod | {"spec": spec | {"volumes": volumes}}, manager=MANAGER)

    def _claim(self, owner: JSONObject, template: JSONObject, pod: str) -> str:
        name = f"{template['metadata']['name']}-{pod}"
        namespace = owner["metadata"]["namespace"]
        if self._objects.find(CLAIM, namespace, name) is None:
            labels = owner["spec"]["selector"].get("matchLabels", {}) | template["metadata"].get("labels", {})
            metadata = template["metadata"] | {"name": name, "namespace": namespace, "labels": labels}
            claim = {"apiVersion": "v1", "kind": CLAIM.kind, "metadata": metadata, "spec": template["spec"]}
            self._objects.create(CLAIM, claim, manager=MANAGER)
        return name

    def _report(self, owner: JSONObject, pods: dict[int, JSONObject], revision: str) -> None:
        name, old = owner["metadata"]["name"], owner.get("status", {})
        updated = [pod for pod in pods.values() if _revision(pod) == revision]
        ready = sum(map(is_ready, pods.values()))
        update = f"{name}-{revision}"
        done = len(updated) == len(pods) == owner["spec"]["replicas"] and ready == len(pods)
        current = update if done else old.get("currentRevision") or update
        status = {
            "observedGeneration": owner["metadata"].get("generation", 0),
            "replicas": len(pods),
            "readyReplicas": ready,
            "availableReplicas": ready,
            "currentReplicas": sum(f"{name}-{_revision(pod)}" == current for pod in pods.values()),
            "updatedReplicas": len(updated),
            "currentRevision": current,
            "updateRevision": update,
            "collisionCount": 0,
        }
        update_status(self._objects, STATEFUL_SET, owner, status)


def _ordinal(pod: JSONObject) -> int:
    return int(key_of(pod).name.rpartition("-")[2])


def _revision(pod: JSONObject) -> str:
    return str(pod["metadata"]["labels"].get(revisions.HASH_LABEL, ""))
