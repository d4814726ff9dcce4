"""PersistentVolumeClaims: each is bound to a volume made for it, and protected while a Pod uses it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.sandbox.controllers.base import CLAIM, MANAGER, POD, Key, is_deleting, is_kind, key_of, update_status
from syncd.sandbox.kinds import built_in

if TYPE_CHECKING:
    from collections.abc import Iterable

    from syncd.model import JSONObject
    from syncd.sandbox.kinds import Event, Objects

VOLUME = built_in("", "PersistentVolume")
_CLAIM_PROTECTION = "kubernetes.io/pvc-protection"
_VOLUME_PROTECTION = "kubernetes.io/pv-protection"


class Claims:
    """Binds claims, and gives them and their volumes free again."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def keys(self, event: Event) -> Iterable[Key]:
        """The claim itself; those of a Pod that is deleted; the claim of a volume."""
        metadata = event.object["metadata"]
        if is_kind(event, CLAIM):
            return (key_of(event.object),)
        if is_kind(event, POD) and event.type == "DELETED":
            return tuple(Key(metadata["namespace"], name) for name in _used(event.object))
        if is_kind(event, VOLUME):
            bound = event.object["spec"].get("claimRef") or {}
            return (Key(bound.get("namespace", ""), bound.get("name", "")),)
        return ()

    def reconcile(self, key: Key) -> None:
        """See :class:`~syncd.sandbox.controllers.base.Controller`."""
        claim = self._objects.find(CLAIM, *key)
        for volume in self._objects.list(VOLUME):
            self._release(volume, key, claim)
        if claim is None:
            return
        if is_deleting(claim):
            used = any(key.name in _used(pod) for pod in self._objects.list(POD, key.namespace))
            if not used:
                self._unfinalize(CLAIM.kind, claim, _CLAIM_PROTECTION)
        elif claim.get("status", {}).get("phase") != "Bound":
            self._bind(claim)

    def _bind(self, claim: JSONObject) -> None:
        metadata, spec = claim["metadata"], claim["spec"]
        name = spec.get("volumeName") or f"pvc-{metadata['uid']}"
        capacity = (spec.get("resources") or {}).get("requests") or {"storage": "1Gi"}
        if self._objects.find(VOLUME, "", name) is None:
            volume = {
                "apiVersion": "v1",
                "kind": VOLUME.kind,
                "metadata": {"name": name},
                "spec": {
                    "accessModes": spec.get("accessModes"),
                    "capacity": capacity,
                    "claimRef": {
                        "apiVersion": "v1",
                        "kind": CLAIM.kind,
                        "uid": metadata["uid"],
                        **key_of(claim)._asdict(),
                    },
                    "hostPath": {"path": f"/sandbox/{name}"},
                    "persistentVolumeReclaimPolicy": "Delete",
                    "storageClassName": spec.get("storageClassName", ""),
                },
            }
            made = self._objects.create(VOLUME, volume, manager=MANAGER)
            update_status(self._objects, VOLUME, made, {"phase": "Bound"})
        if not spec.get("volumeName"):
            bound = claim | {"spec": spec | {"volumeName": name}}
            claim = self._objects.update(CLAIM, bound, manager=MANAGER)
        status = {"phase": "Bound", "accessModes": spec.get("accessModes"), "capacity": capacity}
        update_status(self._objects, CLAIM, claim, status)

    def _release(self, volume: JSONObject, key: Key, claim: JSONObject | None) -> None:
        """Delete the volume of a claim that is gone."""
        bound = volume["spec"].get("claimRef") or {}
        if (bound.get("namespace"), bound.get("name")) != key:
            return
        if claim is not None and claim["metadata"]["uid"] == bound.get("uid"):
            return
        if volume["spec"].get("persistentVolumeReclaimPolicy") != "Delete":
            return
        if not is_deleting(volume):
            self._objects.delete(VOLUME, "", volume["metadata"]["name"], uid=volume["metadata"]["uid"])
        else:
            self._unfinalize(VOLUME.kind, volume, _VOLUME_PROTECTION)

    def _unfinalize(self, kind: str, obj: JSONObject, finalizer: str) -> None:
        finalizers = obj["metadata"].get("finalizers") or []
        if finalizer in finalizers:
            metadata = obj["metadata"] | {"finalizers": [item for item in finalizers if item != finalizer]}
            self._objects.update(built_in("", kind), obj | {"metadata": metadata}, manager=MANAGER)


def _used(pod: JSONObject) -> set[str]:
    """The names of the claims that a Pod mounts."""
    volumes = (volume.get("persistentVolumeClaim") or {} for volume in pod["spec"].get("volumes") or ())
    return {volume["claimName"] for volume in volumes if "claimName" in volume}
