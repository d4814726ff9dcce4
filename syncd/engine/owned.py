"""Finding and marking what a Sync owns, whatever its inventory says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.cluster.errors import ConflictError, NotFoundError
from syncd.engine.kinds import require_kind
from syncd.inventory import Ownership, names
from syncd.inventory.ownership import controller, release_patch
from syncd.model import ObjectKey, SyncdError, Write, WriteMethod

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from syncd.cluster import Cluster, Resource
    from syncd.engine.deadline import Deadline
    from syncd.inventory import Owner
    from syncd.model import JSONObject

_ATTEMPTS = 5
_MINE = (Ownership.OURS, Ownership.FORMERLY_OURS)


class IncompleteSearchError(SyncdError):
    """Not every kind of the cluster could be looked through."""

    reason = "IncompleteSearch"


def find_owned(cluster: Cluster, owner: Owner, deadline: Deadline) -> dict[ObjectKey, JSONObject]:
    """The metadata of every object that says that it belongs to this Sync, now or by a former apply-config object.

    Costs one list for each kind that the cluster serves. An object that is served in several groups is found once.

    Raises:
        ApiError: A kind could not be listed.
        IncompleteSearchError: It is not known which kinds there are.
    """
    resources = cluster.discovery.refresh()
    if not resources.complete:
        raise IncompleteSearchError(f"discovery failed for {', '.join(resources.failed)}")
    found: dict[ObjectKey, JSONObject] = {}
    uids: set[str] = set()
    for kind in sorted({resource.group_kind for resource in resources if "list" in resource.verbs}):
        resource = require_kind(cluster.discovery, kind)
        for item in cluster.client.list_metadata(resource, selector=names.APPLY_ID_LABEL, timeout=deadline.request):
            uid = item["metadata"]["uid"]
            if owner.judge(item) in _MINE and not controller(item) and uid not in uids:
                uids.add(uid)
                found[_key(resource, item)] = item
    return found


def claim(cluster: Cluster, key: ObjectKey, owner: Owner, deadline: Deadline, *, known: bool = False) -> None:
    """Write the owner's marks onto an object that bears those of a former apply-config object of the same Sync.

    Args:
        cluster: Where it is.
        key: The object.
        owner: Whose marks it gets.
        deadline: When to give up.
        known: Only if it is one that the owner is known to have taken the list over from.

    Raises:
        ApiError: It could not be written.
    """
    marks = owner.mark({"metadata": {}})["metadata"]

    def patch_for(live: JSONObject) -> JSONObject | None:
        former = _judged(owner, live, Ownership.FORMERLY_OURS) and (owner.owns(live) or not known)
        return _patch(live, marks) if former else None

    change(cluster, key, patch_for, deadline)


def release(cluster: Cluster, key: ObjectKey, owner: Owner, deadline: Deadline) -> None:
    """Take the marks off an object if they are this owner's.

    Raises:
        ApiError: It could not be written.
    """
    change(cluster, key, lambda live: release_patch(live) if _judged(owner, live, *_MINE) else None, deadline)


def change(
    cluster: Cluster, key: ObjectKey, patch_for: Callable[[JSONObject], JSONObject | None], deadline: Deadline
) -> None:
    """Patch an object as it is now, again when somebody else was faster; nothing to do if it is gone.

    Raises:
        ApiError: It could not be written.
    """
    resource = require_kind(cluster.discovery, key.group_kind)
    for _ in range(_ATTEMPTS):
        deadline.check(f"changing {key.display()}")
        try:
            live = cluster.client.get(resource, key.namespace, key.name, timeout=deadline.request)
            patch = patch_for(live)
            if patch is not None:
                write = Write(WriteMethod.JSON_MERGE_PATCH, patch)
                cluster.client.patch(resource, key.namespace, key.name, write, timeout=deadline.request)
        except NotFoundError:
            return
        except ConflictError:
            continue
        else:
            return
    raise ConflictError(f"somebody else kept changing {key.display()}")


def _judged(owner: Owner, live: JSONObject, *wanted: Ownership) -> bool:
    return owner.judge(live) in wanted


def _patch(live: JSONObject, marks: JSONObject) -> JSONObject:
    return {"metadata": {**marks, "resourceVersion": live["metadata"]["resourceVersion"]}}


def _key(resource: Resource, item: JSONObject) -> ObjectKey:
    metadata = item["metadata"]
    return ObjectKey(metadata.get("namespace") or "", resource.group, resource.kind, metadata["name"])


def release_all(cluster: Cluster, keys: Iterable[ObjectKey], owner: Owner, deadline: Deadline) -> None:
    """Take the marks off all these objects.

    Raises:
        ApiError: One of them could not be written.
    """
    for key in sorted(keys):
        if cluster.discovery.resources().find(key.group_kind) is not None:
            release(cluster, key, owner, deadline)
