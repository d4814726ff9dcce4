"""Whose an object is: the marks that an owner writes onto it, and how they are read back.

The marks are not part of the last-applied configuration: that stays exactly what Git says, so that ``kubectl apply`` of
the same file changes nothing, and least of all the owner.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from syncd.inventory import names

if TYPE_CHECKING:
    from syncd.model import JSONObject


class Ownership(Enum):
    """How an object's marks look to one owner."""

    OURS = "ours"
    NOBODY = "nobody"
    """No owner is named."""
    FORMERLY_OURS = "formerly ours"
    """It names another uid, but our Sync: our apply-config object was deleted and made anew, or restored."""
    OTHER = "other"


class Owner(NamedTuple):
    """The owner of a Sync's objects."""

    uid: str
    """The uid of the apply-config object."""
    sync: str
    """``namespace/name`` of the Sync."""
    former: frozenset[str] = frozenset()
    """The uids of apply-config objects that this one has taken the list over from."""

    def mark(self, document: JSONObject) -> JSONObject:
        """A copy of the object that carries the owner's marks."""
        metadata = document["metadata"]
        annotations = {
            **(metadata.get("annotations") or {}),
            names.OWNER_ANNOTATION: self.uid,
            names.SYNC_ANNOTATION: self.sync,
        }
        labels = {**(metadata.get("labels") or {}), names.APPLY_ID_LABEL: self.uid}
        return {**document, "metadata": {**metadata, "labels": labels, "annotations": annotations}}

    def judge(self, live: JSONObject) -> Ownership:
        """Whose the live object is."""
        annotations = live["metadata"].get("annotations") or {}
        uid = annotations.get(names.OWNER_ANNOTATION, "")
        if not uid:
            return Ownership.NOBODY
        sync = annotations.get(names.SYNC_ANNOTATION, "")
        if uid == self.uid and sync in ("", self.sync):
            return Ownership.OURS
        return Ownership.FORMERLY_OURS if sync == self.sync else Ownership.OTHER

    def owns(self, live: JSONObject) -> bool:
        """Whether the live object certainly is this owner's: it names it, or one whose list it has taken over."""
        found = self.judge(live)
        if found is Ownership.FORMERLY_OURS:
            return live["metadata"]["annotations"][names.OWNER_ANNOTATION] in self.former
        return found is Ownership.OURS


def named_owner(live: JSONObject) -> str:
    """The owner that an object names, for people: its Sync if it says one, else the uid."""
    annotations = live["metadata"].get("annotations") or {}
    return str(annotations.get(names.SYNC_ANNOTATION) or annotations.get(names.OWNER_ANNOTATION, ""))


def controller(live: JSONObject) -> str:
    """``Kind name`` of the controller that made the object, or "".

    Controllers copy labels and annotations onto what they make (a Service's onto its EndpointSlices), so an object that
    has a controller is nobody else's, whatever marks it carries.
    """
    for reference in live["metadata"].get("ownerReferences") or ():
        if reference.get("controller"):
            return f"{reference.get('kind', '')} {reference.get('name', '')}"
    return ""


def release_patch(live: JSONObject) -> JSONObject:
    """The JSON merge patch that takes the marks off an object, on the condition that it has not changed since."""
    return {
        "metadata": {
            "resourceVersion": live["metadata"]["resourceVersion"],
            "labels": {names.APPLY_ID_LABEL: None},
            "annotations": {names.OWNER_ANNOTATION: None, names.SYNC_ANNOTATION: None},
        }
    }
