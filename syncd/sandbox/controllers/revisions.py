"""ControllerRevisions: the history of the pod templates of StatefulSets and DaemonSets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.sandbox.controllers.base import MANAGER, REVISION, is_controlled_by, key_of, owner_reference, short_hash

if TYPE_CHECKING:
    from syncd.model import JSONObject
    from syncd.sandbox.kinds import Objects

HASH_LABEL = "controller-revision-hash"
"""Marks a Pod with its revision, and a DaemonSet's revision itself."""
_STATEFUL_SET_LABEL = "controller.kubernetes.io/hash"


def current(objects: Objects, owner: JSONObject) -> JSONObject:
    """The revision of the owner's present template; made if need be. Revisions beyond the history limit are deleted.

    Its labels are those of the template and its annotations those of the owner, as the real controllers do it.
    """
    template, metadata = owner["spec"]["template"], owner["metadata"]
    digest = short_hash(template)
    revisions = [item for item in objects.list(REVISION, metadata["namespace"]) if is_controlled_by(item, owner)]
    revisions.sort(key=lambda item: int(item["revision"]))
    newest = int(revisions[-1]["revision"]) if revisions else 0
    found = next((item for item in revisions if label_of(item) == digest), None)
    if found is None:
        limit = owner["spec"].get("revisionHistoryLimit", 10)
        for item in revisions[: max(0, len(revisions) - limit)]:
            objects.delete(REVISION, *key_of(item), uid=item["metadata"]["uid"])
        made: JSONObject = {
            "apiVersion": "apps/v1",
            "kind": "ControllerRevision",
            "metadata": {
                "name": f"{metadata['name']}-{digest}",
                "namespace": metadata["namespace"],
                "labels": template["metadata"].get("labels", {}) | {_label(owner["kind"]): digest},
                "annotations": metadata.get("annotations"),
                "ownerReferences": [owner_reference(owner)],
            },
            "data": {"spec": {"template": template | {"$patch": "replace"}}},
            "revision": newest + 1,
        }
        return objects.create(REVISION, made, manager=MANAGER)
    if int(found["revision"]) < newest:
        return objects.update(REVISION, found | {"revision": newest + 1}, manager=MANAGER)
    return found


def label_of(revision: JSONObject) -> str:
    """The value that marks the revision's Pods."""
    owner = revision["metadata"]["ownerReferences"][0]["kind"]
    return str(revision["metadata"]["labels"][_label(owner)])


def _label(owner: str) -> str:
    return _STATEFUL_SET_LABEL if owner == "StatefulSet" else HASH_LABEL


def marked(template: JSONObject, digest: str, **labels: str) -> JSONObject:
    """The template with the labels that its Pods get."""
    metadata = template.get("metadata") or {}
    return template | {"metadata": metadata | {"labels": metadata.get("labels", {}) | {HASH_LABEL: digest} | labels}}
