"""``metadata.managedFields``: who wrote which field, kept on every write; and server-side apply, which builds on it.

The rules are those of structured-merge-diff (package ``merge``) and of apimachinery's ``util/managedfields``. One
simplification: fields that somebody wrote in another version of a kind are judged by the version at hand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import orjson

from syncd.sandbox import codec, fieldset, typed
from syncd.sandbox.errors import StatusError
from syncd.sandbox.kinds import Cause, ManagedBy
from syncd.sandbox.typed import Type

if TYPE_CHECKING:
    from syncd.model import JSONObject
    from syncd.sandbox.fieldset import FieldSet
    from syncd.sandbox.kinds import ServedKind
    from syncd.sandbox.schema import Schema

_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_MAX_ANNOTATIONS = 262144
_APPLY = "Apply"
_UPDATE = "Update"
_MAX_UPDATERS = 10
_OLD_UPDATES = "ancient-changes"
_NOT_TRACKED = fieldset.decode(
    {
        "f:apiVersion": {},
        "f:kind": {},
        "f:metadata": {
            ".": {},
            "f:name": {},
            "f:namespace": {},
            "f:creationTimestamp": {},
            "f:selfLink": {},
            "f:uid": {},
            "f:generation": {},
            "f:managedFields": {},
            "f:resourceVersion": {},
        },
    }
)


class _Manager(NamedTuple):
    """What tells one manager's entry from another's."""

    name: str
    operation: str
    api_version: str
    """Empty for appliers: they have one entry whatever version they apply in."""
    subresource: str

    def described(self) -> str:
        """The manager as conflicts name it."""
        text = orjson.dumps(self.name).decode()
        if self.subresource:
            text += f' with subresource "{self.subresource}"'
        return text if self.operation == _APPLY else f"{text} using {self.api_version}"


class _Owned(NamedTuple):
    """What a manager's entry holds."""

    fields: FieldSet
    api_version: str
    time: str


_Managers = dict[_Manager, _Owned]


class ConflictsError(Exception):
    """An apply would change fields that others own.

    Attributes:
        causes: One for each field and owner; the message names the owner.
    """

    def __init__(self, causes: list[Cause]) -> None:
        self.causes = causes
        super().__init__("; ".join(f"{cause.message}: {cause.field}" for cause in causes))


def type_of(kind: ServedKind, schema: Schema | None, metadata: Schema | None = None) -> Type:
    """The type that a kind's objects have here.

    Args:
        kind: The kind.
        schema: The schema of its objects; None when there is none.
        metadata: For custom kinds, whose schemas do not say it: the schema of ``metadata``.
    """
    found = Type(schema)
    if kind.custom and metadata is not None:
        found.with_field("metadata", Type(metadata))
    return found


def check(kind: ServedKind, applied: JSONObject, of: Type) -> None:
    """Whether a configuration is of its kind's type at all.

    Raises:
        StatusError: 500, as the real server has it: a value of the wrong type, or two list items with the same keys.
    """
    wrong = typed.problem(of, applied)
    if wrong:
        metadata = applied.get("metadata") or {}
        who = f"{metadata.get('namespace', '')}/{metadata.get('name', '')}; {kind.api_version}, Kind={kind.kind}"
        raise StatusError(500, "", f"failed to create typed patch object ({who}): {wrong}")


def update(kind: ServedKind, live: JSONObject | None, new: JSONObject, request: ManagedBy, of: Type) -> JSONObject:
    """A new or replaced object with its managers, after ``request`` has written it.

    A client that sends an empty ``managedFields`` takes all entries away, and one that sends its own replaces them.

    Args:
        kind: The kind in the version of the request.
        live: The present state; None for a create.
        new: The state to be stored, with the ``managedFields`` that the client sent.
        request: Who writes.
        of: The kind's type.
    """
    metadata = new["metadata"]
    sent = metadata.get("managedFields")
    managers = _read(sent if sent is not None or live is None else live["metadata"].get("managedFields"))
    if live is not None and (not managers or sent in ([], [{}])):
        return _with_managers(new, {})
    before = _bare(live) if live is not None else _nothing(kind, new)
    found = typed.compare(of, before, _bare(new))
    changed = fieldset.union(found.added, found.modified)
    for owner, owned in list(managers.items()):
        left = fieldset.difference(fieldset.difference(owned.fields, changed), found.removed)
        _put(managers, owner, owned._replace(fields=left))
    mine = _tracked(kind, fieldset.difference(changed, _NOT_TRACKED), request.subresource)
    if mine:
        own = _Manager(request.manager, _UPDATE, request.api_version, request.subresource)
        previous = managers[own].fields if own in managers else {}
        managers[own] = _Owned(fieldset.union(previous, mine), request.api_version, request.time)
    return _with_managers(new, _capped(managers))


def apply(  # what apply depends on; the names say which is which
    kind: ServedKind, live: JSONObject | None, applied: JSONObject, request: ManagedBy, of: Type, *, force: bool
) -> JSONObject:
    """The live object with an applied configuration merged in, and its managers.

    An apply that changes nothing keeps the entry's time.

    Raises:
        ConflictsError: Fields that others own would change, and ``force`` is not set.
    """
    before = _bare(live) if live is not None else _nothing(kind, applied)
    managers = _read(live["metadata"].get("managedFields") if live is not None else None)
    if live is not None and not managers:
        managers = _before_first_apply(kind, before, of, request)
    own = _Manager(request.manager, _APPLY, "", request.subresource)
    last = managers.get(own)
    config = _bare(applied)
    mine = _tracked(kind, typed.fields_of(of, config), request.subresource)
    merged: JSONObject = typed.merge(of, before, config)  # type: ignore[assignment]  # two objects make an object
    managers[own] = _Owned(mine, request.api_version, request.time)
    new = _pruned(of, merged, managers, last.fields) if last is not None else merged
    found = typed.compare(of, before, new)
    managers = _settled(managers, own, found, force=force)
    unchanged = new == before
    left = fieldset.difference(mine, _NOT_TRACKED)
    time = last.time if unchanged and last is not None else request.time
    _put(managers, own, _Owned(left, request.api_version, time))
    if request.manager == "kubectl":
        new = _with_last_applied(new, config)
    return _with_managers(new, managers)


# --- steps of an apply ---------------------------------------------------------------------------------------------


def _settled(managers: _Managers, own: _Manager, found: typed.Comparison, *, force: bool) -> _Managers:
    """The others lose what is changed or removed; a change of theirs is a conflict unless it is forced."""
    changed = fieldset.union(found.added, found.modified)
    settled: _Managers = {}
    causes: list[Cause] = []
    for owner, owned in sorted(managers.items()):
        if owner == own:
            settled[owner] = owned
            continue
        contested = fieldset.intersection(owned.fields, changed)
        causes += (
            Cause(fieldset.text(path), "FieldManagerConflict", f"conflict with {owner.described()}")
            for path in fieldset.paths(contested)
        )
        left = fieldset.difference(fieldset.difference(owned.fields, contested), found.removed)
        _put(settled, owner, owned._replace(fields=left))
    if causes and not force:
        raise ConflictsError(causes)
    return settled


def _pruned(of: Type, merged: JSONObject, managers: _Managers, last: FieldSet) -> JSONObject:
    """Take out what the manager applied last time and not now, unless somebody else has it."""
    named_last = typed.with_named(of, last)
    pruned = typed.remove(of, merged, named_last)
    owned: FieldSet = {}
    for manager in managers.values():
        owned = fieldset.union(owned, manager.fields)
    merged_set = _named_fields(of, merged)
    kept = fieldset.union(_named_fields(of, pruned), typed.with_named(of, owned))
    pruned = typed.remove(of, merged, fieldset.difference(merged_set, kept))
    gone = fieldset.intersection(fieldset.difference(merged_set, _named_fields(of, pruned)), named_last)
    result: JSONObject = typed.remove(of, merged, gone) or {}
    return result


def _named_fields(of: Type, value: JSONObject | None) -> FieldSet:
    return typed.with_named(of, typed.fields_of(of, value)) if value else {}


def _before_first_apply(kind: ServedKind, before: JSONObject, of: Type, request: ManagedBy) -> _Managers:
    """Who owns an object that nobody was noted for: all of it, by a name of its own."""
    everything = typed.compare(of, _nothing(kind, before), before)
    fields = _tracked(kind, fieldset.difference(everything.added, _NOT_TRACKED), request.subresource)
    owner = _Manager("before-first-apply", _UPDATE, request.api_version, "")
    return {owner: _Owned(fields, request.api_version, request.time)} if fields else {}


def _with_last_applied(new: JSONObject, config: JSONObject) -> JSONObject:
    """Kubectl's annotation, where there is one, kept in step with what kubectl applies server-side."""
    annotations = new.get("metadata", {}).get("annotations") or {}
    if not annotations.get(_LAST_APPLIED):
        return new
    meta = config["metadata"]
    plain = {name: text for name, text in (meta.get("annotations") or {}).items() if name != _LAST_APPLIED}
    bare = {name: value for name, value in meta.items() if name != "annotations"}
    stamped = config | {"metadata": bare | ({"annotations": plain} if plain else {})}
    text = orjson.dumps(stamped, option=orjson.OPT_SORT_KEYS).decode() + "\n"
    rest = {name: value for name, value in annotations.items() if name != _LAST_APPLIED}
    size = sum(len(name.encode()) + len(value.encode()) for name, value in (rest | {_LAST_APPLIED: text}).items())
    if size <= _MAX_ANNOTATIONS:
        rest[_LAST_APPLIED] = text
    return new | {"metadata": new["metadata"] | {"annotations": rest}}


# --- reading and writing the entries -------------------------------------------------------------------------------


def _bare(obj: JSONObject) -> JSONObject:
    """An object without the list of who manages it."""
    metadata = {name: value for name, value in obj["metadata"].items() if name != "managedFields"}
    return obj | {"metadata": metadata}


def _nothing(kind: ServedKind, obj: JSONObject) -> JSONObject:
    """What a new object is compared with: an empty struct of its kind, with the fields that such a struct shows."""
    type_meta = {"apiVersion": obj["apiVersion"], "kind": obj["kind"]}
    if codec.struct_of(kind) is None:
        return type_meta
    return codec.empty(kind) | type_meta


def _tracked(kind: ServedKind, fields: FieldSet, subresource: str) -> FieldSet:
    """What a write through this path can own: status is another subresource's where it has its own."""
    if not subresource and "status" in kind.subresources:
        return {element: child for element, child in fields.items() if element != "f:status"}
    if subresource == "status":
        return {element: child for element, child in fields.items() if element != "f:spec"}
    return fields


def _put(managers: _Managers, owner: _Manager, owned: _Owned) -> None:
    if owned.fields:
        managers[owner] = owned
    else:
        managers.pop(owner, None)


def _read(entries: list[JSONObject] | None) -> _Managers:
    managers: _Managers = {}
    for entry in entries or ():
        operation, version = entry.get("operation", ""), entry.get("apiVersion", "")
        owner = _Manager(
            entry.get("manager", ""), operation, "" if operation == _APPLY else version, entry.get("subresource", "")
        )
        managers[owner] = _Owned(fieldset.decode(entry.get("fieldsV1") or {}), version, entry.get("time") or "")
    return managers


def _capped(managers: _Managers) -> _Managers:
    """At most ten updaters: the oldest are put together under one name."""
    updaters = sorted((owned.time, owner) for owner, owned in managers.items() if owner.operation == _UPDATE)
    if len(updaters) <= _MAX_UPDATERS:
        return managers
    for time, owner in updaters[: len(updaters) - _MAX_UPDATERS + 1]:
        owned = managers.pop(owner)
        bucket = _Manager(_OLD_UPDATES, _UPDATE, owner.api_version, "")
        fields = fieldset.union(managers[bucket].fields, owned.fields) if bucket in managers else owned.fields
        managers[bucket] = _Owned(fields, owned.api_version, time)
    return managers


def _with_managers(obj: JSONObject, managers: _Managers) -> JSONObject:
    metadata = {name: value for name, value in obj["metadata"].items() if name != "managedFields"}
    if managers:
        order = sorted(managers, key=lambda owner: (owner.operation, managers[owner].time, *owner))
        metadata["managedFields"] = [_entry(owner, managers[owner]) for owner in order]
    return obj | {"metadata": metadata}


def _entry(owner: _Manager, owned: _Owned) -> JSONObject:
    entry: JSONObject = {
        "manager": owner.name,
        "operation": owner.operation,
        "apiVersion": owned.api_version,
        "time": owned.time,
        "fieldsType": "FieldsV1",
        "fieldsV1": fieldset.encode(owned.fields),
    }
    if owner.subresource:
        entry["subresource"] = owner.subresource
    return entry
