"""Deployments: a ReplicaSet for each pod template, and the way from the old to the new one.

The steps and the words of the conditions are those of ``pkg/controller/deployment`` of Kubernetes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from syncd.sandbox.controllers.base import (
    MANAGER,
    REPLICA_SET,
    Key,
    condition,
    is_deleting,
    key_of,
    owned_or_own,
    owner_reference,
    seconds_since,
    short_hash,
    update_status,
)
from syncd.sandbox.controllers.replicas import claim
from syncd.sandbox.kinds import built_in

if TYPE_CHECKING:
    from collections.abc import Iterable

    from syncd.model import JSONObject
    from syncd.sandbox.kinds import Event, Objects

DEPLOYMENT = built_in("apps", "Deployment")
HASH_LABEL = "pod-template-hash"
REVISION = "deployment.kubernetes.io/revision"
_DESIRED = "deployment.kubernetes.io/desired-replicas"
_MAX = "deployment.kubernetes.io/max-replicas"
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_NOT_COPIED = {REVISION, _DESIRED, _MAX, _LAST_APPLIED}
_DEADLINE = "ProgressDeadlineExceeded"


class _Sets(NamedTuple):
    """A Deployment's ReplicaSets."""

    new: JSONObject | None
    old: tuple[JSONObject, ...]

    @property
    def all(self) -> tuple[JSONObject, ...]:
        return (*self.old, self.new) if self.new is not None else self.old


class Deployments:
    """Rolls out Deployments."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def keys(self, event: Event) -> Iterable[Key]:
        """The Deployment itself, or that of one of its ReplicaSets."""
        return owned_or_own(event, DEPLOYMENT, REPLICA_SET)

    def reconcile(self, key: Key) -> float | None:
        """See :class:`~syncd.sandbox.controllers.base.Controller`."""
        deployment = self._objects.find(DEPLOYMENT, *key)
        if deployment is None:
            return None
        sets = _told_apart(deployment, claim(self._objects, REPLICA_SET, deployment))
        if not is_deleting(deployment):
            if not deployment["spec"].get("paused"):
                sets = self._with_new(deployment, sets)
                deployment = self._with_revision(deployment, sets)
            sets = self._scaled(deployment, sets)
            self._forget_history(deployment, sets)
        return self._report(deployment, sets)

    def _with_new(self, deployment: JSONObject, sets: _Sets) -> _Sets:
        """Create the ReplicaSet of the present template, or let it be the newest again."""
        revision = max((_revision(item) for item in sets.old), default=0) + 1
        if sets.new is None:
            return sets._replace(new=self._create(deployment, sets, revision))
        if _revision(sets.new) < revision:
            annotations = sets.new["metadata"].get("annotations", {}) | {REVISION: str(revision)}
            return sets._replace(new=self._update(sets.new, annotations=annotations))
        return sets

    def _create(self, deployment: JSONObject, sets: _Sets, revision: int) -> JSONObject:
        spec, template = deployment["spec"], deployment["spec"]["template"]
        digest = short_hash(template)
        labels = template["metadata"]["labels"] | {HASH_LABEL: digest}
        selector = spec["selector"]
        annotations = {k: v for k, v in deployment["metadata"].get("annotations", {}).items() if k not in _NOT_COPIED}
        wanted, surge, _ = _limits(spec)
        new: JSONObject = {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {
                "name": f"{deployment['metadata']['name']}-{digest}",
                "namespace": deployment["metadata"]["namespace"],
                "labels": labels,
                "annotations": annotations
                | {REVISION: str(revision), _DESIRED: str(wanted), _MAX: str(wanted + surge)},
                "ownerReferences": [owner_reference(deployment)],
            },
            "spec": {
                "replicas": _new_replicas(deployment, sets),
                "selector": selector | {"matchLabels": selector.get("matchLabels", {}) | {HASH_LABEL: digest}},
                "template": template | {"metadata": template["metadata"] | {"labels": labels}},
            },
        }
        if spec.get("minReadySeconds"):
            new["spec"]["minReadySeconds"] = spec["minReadySeconds"]
        return self._objects.create(REPLICA_SET, new, manager=MANAGER)

    def _with_revision(self, deployment: JSONObject, sets: _Sets) -> JSONObject:
        annotations = deployment["metadata"].get("annotations", {})
        if sets.new is None or annotations.get(REVISION) == str(_revision(sets.new)):
            return deployment
        metadata = deployment["metadata"] | {"annotations": annotations | {REVISION: str(_revision(sets.new))}}
        changed = deployment | {"metadata": metadata}
        return self._objects.update(DEPLOYMENT, changed, manager=MANAGER, subresource="status")  # as the real one does

    def _update(
        self, item: JSONObject, *, replicas: int | None = None, annotations: JSONObject | None = None
    ) -> JSONObject:
        changed = item
        if replicas is not None:
            changed = changed | {"spec": changed["spec"] | {"replicas": replicas}}
        if annotations is not None:
            changed = changed | {"metadata": changed["metadata"] | {"annotations": annotations}}
        return item if changed == item else self._objects.update(REPLICA_SET, changed, manager=MANAGER)

    def _scaled(self, deployment: JSONObject, sets: _Sets) -> _Sets:
        """One step of the rollout, or of scaling."""
        if sets.new is None:
            return sets
        wanted, surge, _ = _limits(deployment["spec"])
        size = {_DESIRED: str(wanted), _MAX: str(wanted + surge)}
        annotations = sets.new["metadata"].get("annotations", {}) | size
        if deployment["spec"].get("paused"):
            replicas = wanted if not any(map(_replicas, sets.old)) else _replicas(sets.new)
        else:
            replicas = _new_replicas(deployment, sets)
        new = self._update(sets.new, replicas=replicas, annotations=annotations)
        if deployment["spec"].get("paused"):
            return sets._replace(new=new)
        sets = sets._replace(new=new)
        old = tuple(
            self._update(item, replicas=replicas)
            for item, replicas in zip(sets.old, _old_replicas(deployment, sets), strict=True)
        )
        return sets._replace(old=old)

    def _forget_history(self, deployment: JSONObject, sets: _Sets) -> None:
        """Delete old ReplicaSets that are empty, beyond those that are to be kept."""
        limit = deployment["spec"].get("revisionHistoryLimit", 10)
        empty = [item for item in sets.old if not _replicas(item) and not _status(item, "replicas")]
        for item in sorted(empty, key=_revision)[: max(0, len(sets.old) - limit)]:
            if not is_deleting(item):
                self._objects.delete(REPLICA_SET, *key_of(item), uid=item["metadata"]["uid"])

    def _report(self, deployment: JSONObject, sets: _Sets) -> float | None:
        """Write the status; seconds until the rollout counts as stuck."""
        wanted, _, unavailable = _limits(deployment["spec"])
        total = sum(_status(item, "replicas") for item in sets.all)
        available = sum(_status(item, "availableReplicas") for item in sets.all)
        updated = _status(sets.new, "replicas") if sets.new is not None else 0
        progressing, again = _progressing(deployment, sets, total, available, updated)
        if available >= wanted - unavailable:
            enough = ("True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
        else:
            enough = ("False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability.")
        status = {
            "observedGeneration": deployment["metadata"].get("generation", 0),
            "replicas": total,
            "updatedReplicas": updated,
            "readyReplicas": sum(_status(item, "readyReplicas") for item in sets.all),
            "availableReplicas": available,
            "unavailableReplicas": max(0, max(total, wanted) - available),
            "conditions": [condition(deployment, "Available", *enough, updates=True), progressing],
        }
        status = {field: value for field, value in status.items() if value} | {"terminatingReplicas": 0}
        update_status(self._objects, DEPLOYMENT, deployment, status)
        return again


def _told_apart(deployment: JSONObject, sets: list[JSONObject]) -> _Sets:
    digest = short_hash(deployment["spec"]["template"])
    sets = sorted(sets, key=_revision)
    new = next((item for item in sets if item["metadata"].get("labels", {}).get(HASH_LABEL) == digest), None)
    return _Sets(new, tuple(item for item in sets if item is not new))


def _revision(item: JSONObject) -> int:
    return int(item["metadata"].get("annotations", {}).get(REVISION, "0"))


def _replicas(item: JSONObject) -> int:
    return int(item["spec"].get("replicas", 1))


def _status(item: JSONObject, field: str) -> int:
    return int(item.get("status", {}).get(field, 0))


def _limits(spec: JSONObject) -> tuple[int, int, int]:
    """Replicas wanted, how many more there may be meanwhile, and how many fewer available."""
    wanted = int(spec.get("replicas", 1))
    if spec["strategy"]["type"] == "Recreate":
        return wanted, 0, wanted
    rolling = spec["strategy"].get("rollingUpdate", {})
    surge = _part(rolling.get("maxSurge", 0), wanted, up=True)
    unavailable = _part(rolling.get("maxUnavailable", 0), wanted, up=False)
    return wanted, surge, min(wanted, unavailable if surge or unavailable else 1)


def _part(value: int | str, of: int, *, up: bool) -> int:
    if isinstance(value, int):
        return value
    share = int(value.rstrip("%")) * of
    return -(-share // 100) if up else share // 100


def _new_replicas(deployment: JSONObject, sets: _Sets) -> int:
    """How many replicas the new ReplicaSet is to have now."""
    wanted, surge, _ = _limits(deployment["spec"])
    if deployment["spec"]["strategy"]["type"] == "Recreate":
        return 0 if any(_status(item, "replicas") or _replicas(item) for item in sets.old) else wanted
    now = _replicas(sets.new) if sets.new is not None else 0
    if now >= wanted:
        return wanted
    room = wanted + surge - now - sum(map(_replicas, sets.old))
    return min(wanted, now + max(0, room))


def _old_replicas(deployment: JSONObject, sets: _Sets) -> list[int]:
    """How many replicas each old ReplicaSet is to have now: those that are not available go first, then the oldest."""
    wanted, _, unavailable = _limits(deployment["spec"])
    if deployment["spec"]["strategy"]["type"] == "Recreate" or sets.new is None:
        return [0] * len(sets.old)
    waiting = _replicas(sets.new) - _status(sets.new, "availableReplicas")
    spare = sum(map(_replicas, sets.all)) - (wanted - unavailable) - waiting
    if spare <= 0:  # new Pods that do not get ready keep the old ones
        return [_replicas(item) for item in sets.old]
    sizes = []
    for item in sets.old:
        broken = min(max(0, _replicas(item) - _status(item, "availableReplicas")), max(0, spare))
        sizes.append(_replicas(item) - broken)
        spare -= broken
    available = sum(_status(item, "availableReplicas") for item in sets.all)
    healthy = available - (wanted - unavailable)
    for index, size in enumerate(sizes):
        step = min(size, max(0, healthy))
        sizes[index] -= step
        healthy -= step
    return sizes


def _progressing(
    deployment: JSONObject, sets: _Sets, total: int, available: int, updated: int
) -> tuple[JSONObject, float | None]:
    spec, conditions = deployment["spec"], deployment.get("status", {}).get("conditions") or ()
    old = next((item for item in conditions if item["type"] == "Progressing"), None)
    name = sets.new["metadata"]["name"] if sets.new is not None else ""
    if spec.get("paused"):
        paused = ("Unknown", "DeploymentPaused", "Deployment is paused")
        return condition(deployment, "Progressing", *paused, updates=True), None
    if updated == spec["replicas"] == total == available:
        done = ("True", "NewReplicaSetAvailable", f'ReplicaSet "{name}" has successfully progressed.')
        return condition(deployment, "Progressing", *done, updates=True), None
    running = ("True", "ReplicaSetUpdated", f'ReplicaSet "{name}" is progressing.')
    before = deployment.get("status", {})
    moved = (before.get("updatedReplicas", 0), before.get("replicas", 0), before.get("availableReplicas", 0)) != (
        updated,
        total,
        available,
    )
    if old is None or moved or name not in old["message"] or old["reason"] not in (running[1], _DEADLINE):
        fresh = condition(deployment, "Progressing", *running, updates=True)
        return fresh, float(spec["progressDeadlineSeconds"])
    left = spec["progressDeadlineSeconds"] - seconds_since(old["lastUpdateTime"])
    if old["reason"] == _DEADLINE or left <= 0:
        late = ("False", _DEADLINE, f'ReplicaSet "{name}" has timed out progressing.')
        return condition(deployment, "Progressing", *late, updates=True), None
    return old, left
