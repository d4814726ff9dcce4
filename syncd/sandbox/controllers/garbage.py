"""The garbage collector: objects whose owners are gone go too, or are let go, as the deletion said."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from syncd.sandbox.controllers.base import MANAGER, Key, is_deleting

if TYPE_CHECKING:
    from collections.abc import Iterable

    from syncd.model import JSONObject
    from syncd.sandbox.kinds import Event, GroupResource, Objects, ServedKind

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"
_REMEMBERED = 10_000
"""How many deleted uids are known to be gone even when their kind is gone too."""


class _Place(NamedTuple):
    """Where an object is."""

    resource: GroupResource
    namespace: str
    name: str


class GarbageCollector:
    """Follows owner references with a graph of uids; its keys are uids."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._kinds: dict[GroupResource, ServedKind] = {}
        self._places: dict[str, _Place] = {}
        self._owners: dict[str, tuple[str, ...]] = {}
        self._dependents: dict[str, set[str]] = {}
        self._gone: dict[str, None] = {}

    def keys(self, event: Event) -> Iterable[Key]:
        """The object's uid if it has owners or waits to be collected; its dependents' when it is gone."""
        metadata = event.object["metadata"]
        uid = metadata["uid"]
        owners = tuple(reference["uid"] for reference in metadata.get("ownerReferences") or ())
        gone = event.type == "DELETED"
        self._note(event, uid, () if gone else owners, gone=gone)
        affected = [*self._dependents.get(uid, ())] if gone else [uid] if owners or is_deleting(event.object) else []
        if gone:
            affected += owners  # an owner may wait for its dependents
        return tuple(Key("", item) for item in affected)

    def _note(self, event: Event, uid: str, owners: tuple[str, ...], *, gone: bool) -> None:
        resource = event.kind.stored_in
        self._kinds[resource] = event.kind
        for owner in set(self._owners.pop(uid, ())) - set(owners):
            self._dependents[owner].discard(uid)
            if not self._dependents[owner]:
                del self._dependents[owner]
        if gone:
            self._places.pop(uid, None)
            self._gone[uid] = None
            if len(self._gone) > _REMEMBERED:
                del self._gone[next(iter(self._gone))]
            return
        metadata = event.object["metadata"]
        self._places[uid] = _Place(resource, metadata.get("namespace", ""), metadata["name"])
        if owners:
            self._owners[uid] = owners
        for owner in owners:
            self._dependents.setdefault(owner, set()).add(uid)

    def reconcile(self, key: Key) -> None:
        """See :class:`~syncd.sandbox.controllers.base.Controller`."""
        found = self._find(key.name)
        if found is None:
            return
        kind, obj = found
        finalizers = obj["metadata"].get("finalizers") or ()
        if is_deleting(obj) and ORPHAN in finalizers:
            self._let_go(kind, obj)
        elif is_deleting(obj) and FOREGROUND in finalizers:
            self._take_down(kind, obj)
        elif not is_deleting(obj):
            self._judge(kind, obj)

    def _find(self, uid: str) -> tuple[ServedKind, JSONObject] | None:
        place = self._places.get(uid)
        if place is None:
            return None
        kind = self._kinds[place.resource]
        obj = self._objects.find(kind, place.namespace, place.name)
        return (kind, obj) if obj is not None and obj["metadata"]["uid"] == uid else None

    def _dependents_of(self, obj: JSONObject) -> list[tuple[ServedKind, JSONObject]]:
        uids = self._dependents.get(obj["metadata"]["uid"], ())
        return [found for found in map(self._find, sorted(uids)) if found is not None]

    def _let_go(self, kind: ServedKind, owner: JSONObject) -> None:
        """Orphan: the dependents forget their owner, then it goes."""
        for dependent_kind, dependent in self._dependents_of(owner):
            self._forget(dependent_kind, dependent, {owner["metadata"]["uid"]})
        self._unfinalize(kind, owner, ORPHAN)

    def _take_down(self, kind: ServedKind, owner: JSONObject) -> None:
        """Foreground: the dependents go first, and those that block keep their owner waiting."""
        uid, waits = owner["metadata"]["uid"], False
        for dependent_kind, dependent in self._dependents_of(owner):
            references = dependent["metadata"].get("ownerReferences") or ()
            waits = waits or any(r["uid"] == uid and r.get("blockOwnerDeletion") for r in references)
            if not is_deleting(dependent):
                self._judge(dependent_kind, dependent, leaving=uid)
        if not waits or not self._dependents_of(owner):
            self._unfinalize(kind, owner, FOREGROUND)

    def _judge(self, kind: ServedKind, obj: JSONObject, leaving: str = "") -> None:
        """Delete an object that no owner is left of; else forget those that are gone."""
        references = obj["metadata"].get("ownerReferences") or ()
        gone = {r["uid"] for r in references if r["uid"] == leaving or self._is_gone(r, obj)}
        if not gone:
            return
        if len(gone) == len({r["uid"] for r in references}):
            foreground = leaving and self._dependents.get(obj["metadata"]["uid"])
            self._objects.delete(
                kind,
                obj["metadata"].get("namespace", ""),
                obj["metadata"]["name"],
                uid=obj["metadata"]["uid"],
                propagation="Foreground" if foreground else "Background",
            )
        elif not leaving:
            self._forget(kind, obj, gone)

    def _is_gone(self, reference: JSONObject, dependent: JSONObject) -> bool:
        """Whether an owner is not there: another uid counts as not there, an unknown kind as unknown."""
        place = self._places.get(reference["uid"])
        if place is not None:
            return place.namespace not in ("", dependent["metadata"].get("namespace", ""))
        if reference["uid"] in self._gone:
            return True
        group = reference["apiVersion"].rpartition("/")[0]
        kinds = (kind for kind in self._objects.kinds() if (kind.group, kind.kind) == (group, reference["kind"]))
        kind = next(kinds, None)
        if kind is None:
            return False
        namespace = dependent["metadata"].get("namespace", "") if kind.namespaced else ""
        owner = self._objects.find(kind, namespace, reference["name"])
        return owner is None or owner["metadata"]["uid"] != reference["uid"]

    def _forget(self, kind: ServedKind, obj: JSONObject, owners: set[str]) -> None:
        left = [r for r in obj["metadata"].get("ownerReferences") or () if r["uid"] not in owners]
        metadata = {name: value for name, value in obj["metadata"].items() if name != "ownerReferences"}
        metadata |= {"ownerReferences": left} if left else {}
        self._objects.update(kind, obj | {"metadata": metadata}, manager=MANAGER)

    def _unfinalize(self, kind: ServedKind, obj: JSONObject, finalizer: str) -> None:
        left = [item for item in obj["metadata"]["finalizers"] if item != finalizer]
        self._objects.update(kind, obj | {"metadata": obj["metadata"] | {"finalizers": left}}, manager=MANAGER)
