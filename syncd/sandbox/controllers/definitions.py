"""CustomResourceDefinitions: names accepted, established, and emptied before they go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.sandbox import crd
from syncd.sandbox.controllers.base import Key, condition, is_deleting, is_kind, key_of, update_status
from syncd.sandbox.kinds import built_in

if TYPE_CHECKING:
    from collections.abc import Iterable

    from syncd.model import JSONObject
    from syncd.sandbox.kinds import Event, Objects

DEFINITION = built_in("apiextensions.k8s.io", "CustomResourceDefinition")
_MANAGER = "kube-apiserver"
_UNIQUE_NAMES = (("plural", "Plural"), ("singular", "Singular"), ("kind", "Kind"), ("listKind", "ListKind"))


class Definitions:
    """What the apiextensions server does in the background: naming, establishing and finalizing."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def keys(self, event: Event) -> Iterable[Key]:
        """The definition itself, or that of an object that was deleted; a deletion may free names for others."""
        if is_kind(event, DEFINITION):
            if event.type != "DELETED":
                return (key_of(event.object),)
            group = event.object["spec"]["group"]
            return tuple(key_of(other) for other in self._objects.list(DEFINITION) if other["spec"]["group"] == group)
        if event.type == "DELETED" and event.kind.custom:
            return (Key("", str(event.kind.group_resource)),)
        return ()

    def reconcile(self, key: Key) -> None:
        """See :class:`~syncd.sandbox.controllers.base.Controller`."""
        definition = self._objects.find(DEFINITION, "", key.name)
        if definition is None:
            return
        if is_deleting(definition):
            self._finalize(definition)
            return
        accepted = self._names_accepted(definition)
        conditions = [accepted, _established(definition, accepted)]
        kept = [item for item in definition["status"].get("conditions") or () if item["type"] == "Terminating"]
        names = definition["spec"]["names"]
        before = definition["status"].get("acceptedNames") or {"plural": "", "kind": ""}
        status = definition["status"] | {
            "conditions": [*conditions, *kept],
            "acceptedNames": names if accepted["status"] == "True" else before,
            "storedVersions": _stored_versions(definition),
        }
        update_status(self._objects, DEFINITION, definition, status, _MANAGER)

    def _names_accepted(self, definition: JSONObject) -> JSONObject:
        names, group = definition["spec"]["names"], definition["spec"]["group"]
        for other in self._objects.list(DEFINITION):
            if other["spec"]["group"] != group or other["metadata"]["uid"] == definition["metadata"]["uid"]:
                continue
            taken = other.get("status", {}).get("acceptedNames") or {}
            for field, word in _UNIQUE_NAMES:
                if names.get(field) and names[field] == taken.get(field):
                    message = f'"{names[field]}" is already in use'
                    return condition(definition, "NamesAccepted", "False", f"{word}Conflict", message)
        return condition(definition, "NamesAccepted", "True", "NoConflicts", "no conflicts found")

    def _finalize(self, definition: JSONObject) -> None:
        finalizers = definition["metadata"].get("finalizers") or []
        if crd.CLEANUP_FINALIZER not in finalizers:
            return
        kind = crd.objects_kind(definition)
        for obj in self._objects.list(kind):
            if not is_deleting(obj):
                self._objects.delete(kind, *key_of(obj), uid=obj["metadata"]["uid"])
        if self._objects.list(kind):
            return  # they have finalizers; each one's end is an event
        left = [item for item in finalizers if item != crd.CLEANUP_FINALIZER]
        metadata = definition["metadata"] | {"finalizers": left}
        self._objects.update(DEFINITION, definition | {"metadata": metadata}, manager=_MANAGER)


def _established(definition: JSONObject, accepted: JSONObject) -> JSONObject:
    old = crd.condition(definition, "Established")
    if old is not None and old["status"] == "True":
        return old
    if accepted["status"] != "True":
        return condition(definition, "Established", "False", "NotAccepted", "not all names are accepted")
    return condition(definition, "Established", "True", "InitialNamesAccepted", "the initial names have been accepted")


def _stored_versions(definition: JSONObject) -> list[str]:
    stored = next((version["name"] for version in definition["spec"]["versions"] if version.get("storage")), "")
    before: list[str] = definition["status"].get("storedVersions") or []
    return before if stored in before else [*before, stored]
