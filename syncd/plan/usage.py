"""Who uses which ConfigMaps and Secrets: the Pods of a namespace, and the revisions that may still make Pods."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from syncd.plan.references import references

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from syncd.model import JSONObject, ObjectKey

KINDS = (("", "Pod"), ("apps", "ReplicaSet"), ("apps", "StatefulSet"), ("apps", "ControllerRevision"))
"""Group and kind of all that has to be read in a namespace to know.

A DaemonSet's Pods are made from its newest revision only, so of its older ones the Pods that are there say enough.
"""


class User(NamedTuple):
    """Something that uses an object."""

    name: str
    """Kind and name."""
    root: str
    """The uid of the outermost controller that made it, as far as that is known; its own if nobody did."""


def users(
    objects: Iterable[JSONObject], namespace: str, controllers: dict[str, str]
) -> dict[ObjectKey, tuple[User, ...]]:
    """What these objects of one namespace name, each with those that do.

    Args:
        objects: All of the kinds above.
        namespace: Where they are.
        controllers: Who controls whom, by uid, as known from earlier looks: a ReplicaSet may go before its Pods. What
            these objects say is added.
    """
    objects = tuple(objects)
    statuses = [item.get("status") or {} for item in objects if item["kind"] == "StatefulSet"]
    in_rollout = {status.get(name) for status in statuses for name in ("currentRevision", "updateRevision")}
    found: dict[ObjectKey, tuple[User, ...]] = {}
    controllers.update((item["metadata"]["uid"], uid) for item in objects if (uid := _controller(item)))
    for item in objects:
        if _makes_or_is_a_pod(item, in_rollout):
            document = {**item["data"], "kind": "StatefulSet"} if item["kind"] == "ControllerRevision" else item
            user = User(f"{item['kind']} {item['metadata']['name']}", _root(item["metadata"]["uid"], controllers))
            for key in references(document, namespace):
                found[key] = (*found.get(key, ()), user)
    return found


def _controller(item: JSONObject) -> str:
    owners = item["metadata"].get("ownerReferences") or ()
    return next((str(owner.get("uid", "")) for owner in owners if owner.get("controller")), "")


def _root(uid: str, controllers: Mapping[str, str]) -> str:
    seen = {uid}
    while (above := controllers.get(uid, "")) and above not in seen:
        seen.add(uid := above)
    return uid


def _makes_or_is_a_pod(item: JSONObject, in_rollout: set[str | None]) -> bool:
    status = item.get("status") or {}
    match item["kind"]:
        case "Pod":
            ended = status.get("phase") in ("Succeeded", "Failed") or item["metadata"].get("deletionTimestamp")
            return not ended
        case "ReplicaSet":
            return bool((item.get("spec") or {}).get("replicas", 1) or status.get("replicas"))
        case "ControllerRevision":
            return item["metadata"]["name"] in in_rollout and isinstance(item.get("data"), dict)
        case _:
            return True
