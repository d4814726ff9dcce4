"""Giving up fields of one object: out of last applied, and unchanged in the cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from syncd.engine.kinds import require_kind
from syncd.engine.owned import change
from syncd.inventory.ownership import named_owner
from syncd.merge import last_applied
from syncd.model import InvalidInputError, ObjectKey, SyncdError
from syncd.plan.annotations import RELEASE
from syncd.plan.fields import checked_paths, marked_paths, without

if TYPE_CHECKING:
    from collections.abc import Sequence

    from syncd.cluster import Cluster
    from syncd.engine.deadline import Deadline
    from syncd.model import JSONObject


class NotReleasableError(SyncdError):
    """What was to be given up is not syncd's."""

    reason = "NotReleasable"


def find_key(cluster: Cluster, text: str, namespace: str) -> ObjectKey:
    """The key of the object that a person means by ``kind/name``, ``kind.group/name``, or a whole key.

    A kind may be written like the resource (``deployments``), and in any case.

    Raises:
        InvalidInputError: There is no such kind, or there are several.
    """
    if text.count(":") >= 3:
        return _parse_key(text)
    word, slash, name = text.partition("/")
    if not slash or not name:
        raise InvalidInputError(f"{text!r} names no object; write it like deployment/web or deployment.apps/web")
    kind, _, group = word.lower().partition(".")
    kinds = {
        resource.group_kind: resource
        for resource in cluster.discovery.resources()
        if kind in (resource.kind.lower(), resource.plural) and group in ("", resource.group)
    }
    if not kinds:
        raise InvalidInputError(f"the API server serves no kind {word}")
    if len(kinds) > 1:
        raise InvalidInputError(f"{word} may be {' or '.join(sorted(map(str, kinds)))}; write which")
    ((group_kind, resource),) = kinds.items()
    return ObjectKey(namespace if resource.namespaced else "", group_kind.group, group_kind.kind, name)


def _parse_key(text: str) -> ObjectKey:
    try:
        return ObjectKey.parse(text)
    except ValueError as error:
        raise InvalidInputError(str(error)) from None


def give_up(cluster: Cluster, key: ObjectKey, paths: Sequence[str], deadline: Deadline) -> None:
    """Take fields out of what was applied last, and note on the object that Git's values are not to be written.

    Args:
        cluster: Where the object is.
        key: The object.
        paths: JSON pointers.
        deadline: When to give up trying.

    Raises:
        InvalidInputError: A path is no pointer.
        NotReleasableError: syncd does not manage the object, or did not apply one of the fields.
        ApiError: It is not there, or could not be written.
    """
    paths = checked_paths(paths)
    resource = require_kind(cluster.discovery, key.group_kind)
    cluster.client.get(resource, key.namespace, key.name, timeout=deadline.request)  # for its error if it is not there
    change(cluster, key, lambda live: _patch(key, live, paths), deadline)


def _patch(key: ObjectKey, live: JSONObject, paths: Sequence[str]) -> JSONObject:
    original = last_applied.read(live)
    if not named_owner(live):
        raise NotReleasableError(f"{key.display()} belongs to no Sync")
    if original is None:
        raise NotReleasableError(
            f"{key.display()} is applied server-side, for want of room for its last-applied annotation; "
            "name the fields in the Sync's release instead"
        )
    missing = [path for path in paths if without(original, (path,)) is original]
    if missing:
        raise NotReleasableError(f"{key.display()}: {', '.join(missing)} was not applied by syncd")
    listed = [*dict.fromkeys((*marked_paths(live), *paths))]
    annotations = {
        last_applied.ANNOTATION: last_applied.text_for(without(original, paths)),
        RELEASE: orjson.dumps(listed).decode(),
    }
    return {"metadata": {"annotations": annotations, "resourceVersion": live["metadata"]["resourceVersion"]}}
