"""DaemonSets: one Pod on each node that the template fits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.sandbox.controllers import revisions
from syncd.sandbox.controllers.base import (
    MANAGER,
    NODE,
    POD,
    Key,
    is_deleting,
    is_kind,
    key_of,
    owned_or_own,
    update_status,
)
from syncd.sandbox.controllers.pods import is_ready
from syncd.sandbox.controllers.replicas import claim, delete_pod, is_active, pod_from
from syncd.sandbox.kinds import built_in

if TYPE_CHECKING:
    from collections.abc import Iterable

    from syncd.model import JSONObject
    from syncd.sandbox.kinds import Event, Objects

DAEMON_SET = built_in("apps", "DaemonSet")


class DaemonSets:
    """Runs DaemonSets."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def keys(self, event: Event) -> Iterable[Key]:
        """The DaemonSet itself, or that of one of its Pods; all of them when nodes come and go."""
        if is_kind(event, NODE) and event.type != "MODIFIED":
            return tuple(key_of(item) for item in self._objects.list(DAEMON_SET))
        return owned_or_own(event, DAEMON_SET, POD)

    def reconcile(self, key: Key) -> None:
        """See :class:`~syncd.sandbox.controllers.base.Controller`."""
        owner = self._objects.find(DAEMON_SET, *key)
        if owner is None:
            return
        revision = revisions.label_of(revisions.current(self._objects, owner))
        pods = [pod for pod in claim(self._objects, POD, owner) if is_active(pod)]
        nodes = [node["metadata"]["name"] for node in self._objects.list(NODE) if _fits(owner, node)]
        if not is_deleting(owner):
            pods = self._step(owner, pods, nodes, revision)
        ready = sum(map(is_ready, pods))
        status = {
            "observedGeneration": owner["metadata"].get("generation", 0),
            "desiredNumberScheduled": len(nodes),
            "currentNumberScheduled": len(pods),
            "updatedNumberScheduled": sum(_revision(pod) == revision for pod in pods),
            "numberReady": ready,
            "numberAvailable": ready,
            "numberUnavailable": len(nodes) - ready,
            "numberMisscheduled": 0,
        }
        update_status(self._objects, DAEMON_SET, owner, status)

    def _step(self, owner: JSONObject, pods: list[JSONObject], nodes: list[str], revision: str) -> list[JSONObject]:
        rolling = owner["spec"]["updateStrategy"]["type"] == "RollingUpdate"
        kept = []
        for pod in pods:
            old = rolling and _revision(pod) != revision
            if pod["spec"].get("nodeName", nodes[:1] and nodes[0]) not in nodes or old:
                delete_pod(self._objects, pod)
            else:
                kept.append(pod)
        for node in {*nodes} - {pod["spec"].get("nodeName") for pod in kept}:
            pod = pod_from(revisions.marked(owner["spec"]["template"], revision), owner)
            bound = pod | {"spec": pod["spec"] | {"nodeName": node}}
            kept.append(self._objects.create(POD, bound, manager=MANAGER))
        return kept


def _fits(owner: JSONObject, node: JSONObject) -> bool:
    selector = owner["spec"]["template"]["spec"].get("nodeSelector") or {}
    labels = node["metadata"].get("labels") or {}
    return all(labels.get(name) == value for name, value in selector.items())


def _revision(pod: JSONObject) -> str:
    return str(pod["metadata"].get("labels", {}).get(revisions.HASH_LABEL, ""))
