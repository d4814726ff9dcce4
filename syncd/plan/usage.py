"""Who uses which ConfigMaps and Secrets: the Pods of a namespace, and the revisions that may still make Pods."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.plan.references import references

if TYPE_CHECKING:
    from collections.abc import Iterable

    from syncd.model import JSONObject, ObjectKey

KINDS = (("", "Pod"), ("apps", "ReplicaSet"), ("apps", "StatefulSet"), ("apps", "ControllerRevision"))
"""Group and kind of all that has to be read in a namespace to know.

A DaemonSet's Pods are made from its newest revision only, so of its older ones the Pods that are there say enough.
"""


def users(objects: Iterable[JSONObject], namespace: str) -> dict[ObjectKey, str]:
    """What these objects of one namespace name, each with one that does.

    Args:
        objects: All of the kinds above.
        namespace: Where they are.
    """
    objects = tuple(objects)
    statuses = [item.get("status") or {} for item in objects if item["kind"] == "StatefulSet"]
    in_rollout = {status.get(name) for status in statuses for name in ("currentRevision", "updateRevision")}
    found: dict[ObjectKey, str] = {}
    for item in objects:
        if _makes_or_is_a_pod(item, in_rollout):
            document = {**item["data"], "kind": "StatefulSet"} if item["kind"] == "ControllerRevision" else item
            who = f"{item['kind']} {item['metadata']['name']}"
            for key in references(document, namespace):
                found.setdefault(key, who)
    return found


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
