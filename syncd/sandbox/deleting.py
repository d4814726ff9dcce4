"""Deleting objects: preconditions, propagation, finalizers, namespaces."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from syncd.sandbox import errors, metadata, store, writing
from syncd.sandbox.conversion import DEFINITIONS, NAMESPACES
from syncd.sandbox.crd import CLEANUP_FINALIZER
from syncd.sandbox.kinds import GroupResource
from syncd.sandbox.pipeline import rfc3339
from syncd.sandbox.storage import Stored

if TYPE_CHECKING:
    from syncd.model import JSONObject
    from syncd.sandbox.kinds import ServedKind
    from syncd.sandbox.store import Context, Place

ORPHAN_FINALIZER = "orphan"
FOREGROUND_FINALIZER = "foregroundDeletion"

_RETURNS_OBJECT = frozenset(
    {
        ("", "Namespace"),
        ("", "PersistentVolume"),
        ("", "PersistentVolumeClaim"),
        ("", "Pod"),
        ("", "PodTemplate"),
        ("", "ResourceQuota"),
        ("", "Service"),
        ("", "ServiceAccount"),
        ("resource.k8s.io", "DeviceClass"),
        ("resource.k8s.io", "ResourceClaim"),
        ("resource.k8s.io", "ResourceClaimTemplate"),
        ("resource.k8s.io", "ResourceSlice"),
        ("storage.k8s.io", "CSIDriver"),
        ("storage.k8s.io", "CSINode"),
        ("storage.k8s.io", "StorageClass"),
        ("storage.k8s.io", "VolumeAttachment"),
        ("storage.k8s.io", "VolumeAttributesClass"),
    }
)
"""The kinds whose deletion answers the object and not a Status (``ReturnDeletedObject`` in their registries)."""


class DeleteOptions(NamedTuple):
    """How a deletion is to be done, as its body and query parameters say."""

    uid: str = ""
    resource_version: str = ""
    propagation: str = ""
    """``Background``, ``Foreground``, ``Orphan``, or "" for the kind's default, which is Background."""
    dry_run: bool = False

    @classmethod
    def parse(cls, body: JSONObject, *, propagation: str = "", dry_run: bool = False) -> DeleteOptions:
        """Read a ``DeleteOptions`` object; the query parameters go before it.

        Raises:
            StatusError: 422, it contradicts itself.
        """
        policy = propagation or body.get("propagationPolicy") or ""
        orphan = body.get("orphanDependents")
        if orphan is not None and policy:
            raise errors.invalid_delete_options(
                "propagationPolicy",
                f'Invalid value: "{policy}": orphanDependents and deletionPropagation cannot be both set',
            )
        if policy not in ("", "Background", "Foreground", "Orphan"):
            raise errors.invalid_delete_options(
                "propagationPolicy",
                f'Unsupported value: "{policy}": supported values: "Foreground", "Background", "Orphan", "nil"',
            )
        if orphan:
            policy = "Orphan"
        conditions = body.get("preconditions") or {}
        return cls(
            uid=conditions.get("uid") or "",
            resource_version=conditions.get("resourceVersion") or "",
            propagation=policy,
            dry_run=dry_run or bool(body.get("dryRun")),
        )


class Deleted(NamedTuple):
    """What came of a deletion."""

    stored: Stored
    gone: bool
    """False when the object waits for finalizers."""
    returns_object: bool
    """Whether the answer is the object, and not a Status."""


def delete(context: Context, place: Place, options: DeleteOptions) -> Deleted:
    """Delete an object, or mark it as being deleted when something must happen before.

    Raises:
        StatusError: 404, or 409 when a precondition does not hold.
    """
    kind = place.kind
    with context.storage.lock:
        stored = store.get(context, place)
        old = stored.object
        _check_preconditions(kind, old, options)
        _check_protected(kind, place.name)
        marked = _marked(context, kind, old, options)
        returns_object = (kind.group, kind.kind) in _RETURNS_OBJECT
        if writing.is_finished(marked):
            if not options.dry_run:
                stored = writing.remove(context, kind.stored_in, old)
            return Deleted(stored, gone=True, returns_object=returns_object)
        if not metadata.same(marked, old):
            marked = _count_generation(kind, marked, old)
            stored = Stored(marked, 0) if options.dry_run else writing.put(context, kind.stored_in, marked)
        return Deleted(stored, gone=False, returns_object=True)


def _check_preconditions(kind: ServedKind, old: JSONObject, options: DeleteOptions) -> None:
    meta = old["metadata"]
    resource = GroupResource(kind.group, kind.kind)  # the real server names the kind here, not the plural
    if options.uid and options.uid != meta["uid"]:
        why = (
            f"the UID in the precondition ({options.uid}) does not match the UID in record ({meta['uid']}). "
            "The object might have been deleted and then recreated"
        )
        raise errors.conflict(resource, meta["name"], why)
    if options.resource_version and options.resource_version != meta["resourceVersion"]:
        why = (
            f"the ResourceVersion in the precondition ({options.resource_version}) does not match the ResourceVersion "
            f"in record ({meta['resourceVersion']}). The object might have been modified"
        )
        raise errors.conflict(resource, meta["name"], why)


def _check_protected(kind: ServedKind, name: str) -> None:
    if kind.stored_in == NAMESPACES and name in ("default", "kube-system", "kube-public"):
        raise errors.forbidden(kind.group_resource, name, "this namespace may not be deleted")


def _marked(context: Context, kind: ServedKind, old: JSONObject, options: DeleteOptions) -> JSONObject:
    """The object as being deleted: time, finalizers for its propagation, phase of a namespace."""
    meta = dict(old["metadata"])
    finalizers = [f for f in meta.get("finalizers", ()) if f not in (ORPHAN_FINALIZER, FOREGROUND_FINALIZER)]
    if options.propagation == "Orphan":
        finalizers.append(ORPHAN_FINALIZER)
    elif options.propagation == "Foreground":
        finalizers.append(FOREGROUND_FINALIZER)
    elif not options.propagation:
        finalizers = list(meta.get("finalizers", ()))
    if kind.stored_in == DEFINITIONS and "deletionTimestamp" not in meta and CLEANUP_FINALIZER not in finalizers:
        finalizers.append(CLEANUP_FINALIZER)
    if finalizers:
        meta["finalizers"] = finalizers
    else:
        meta.pop("finalizers", None)
    if "deletionTimestamp" not in meta:
        meta["deletionTimestamp"] = rfc3339(context.clock())
        meta["deletionGracePeriodSeconds"] = 0
    marked = old | {"metadata": meta}
    if kind.stored_in == NAMESPACES:
        meta.pop("deletionGracePeriodSeconds", None)
        marked["status"] = old.get("status", {}) | {"phase": "Terminating"}
    if kind.stored_in == DEFINITIONS and finalizers:
        meta.pop("deletionGracePeriodSeconds", None)
        marked["status"] = _terminating(old.get("status", {}), meta["deletionTimestamp"])
    return marked


def _terminating(status: JSONObject, since: str) -> JSONObject:
    """The status of a CustomResourceDefinition whose objects are to be deleted before it."""
    conditions = status.get("conditions") or []
    if any(condition["type"] == "Terminating" for condition in conditions):
        return status
    condition = {
        "type": "Terminating",
        "status": "True",
        "lastTransitionTime": since,
        "reason": "InstanceDeletionPending",
        "message": "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
    }
    return status | {"conditions": [*conditions, condition]}


def _count_generation(kind: ServedKind, marked: JSONObject, old: JSONObject) -> JSONObject:
    counts = metadata.counts_generations(kind) and kind.stored_in != DEFINITIONS
    if not counts or "deletionTimestamp" in old["metadata"]:
        return marked
    generation = old["metadata"].get("generation", 0) + 1
    return marked | {"metadata": marked["metadata"] | {"generation": generation}}
