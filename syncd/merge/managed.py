"""What a field manager applied, read out of ``metadata.managedFields``.

An object that is applied server-side has no last-applied annotation; the API server remembers which fields each manager
owns instead, in the format of sigs.k8s.io/structured-merge-diff: ``f:name`` a field, ``k:{...}`` the list item with
these keys, ``v:...`` the item of a set, ``i:0`` an index, and ``.`` the thing itself.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from syncd.merge.errors import bounded
from syncd.merge.jsonvalue import equal
from syncd.merge.last_applied import ANNOTATION

if TYPE_CHECKING:
    from syncd.model import JSONObject, JSONValue


@bounded
def owned(live: JSONObject, manager: str) -> JSONObject | None:
    """The part of a live object that a manager has applied server-side; None when it has applied nothing."""
    metadata = live.get("metadata")
    entries = metadata.get("managedFields") if isinstance(metadata, dict) else None
    for entry in entries or ():
        if _is_apply(entry, manager):
            part = _part(live, entry.get("fieldsV1") or {})
            return part if isinstance(part, dict) else None
    return None


@bounded
def migrated(live: JSONObject, manager: str) -> list[JSONObject] | None:
    """``managedFields`` in which a manager has applied server-side what was applied client-side before.

    Server-side apply takes away only what the same manager applied server-side. As kubectl does it, every manager that
    wrote the last-applied annotation counts as one that applied, if it wrote in the version of ``live``; and so does
    this manager itself.

    Returns:
        The new list; None when there is nothing to migrate.
    """
    entries = live["metadata"].get("managedFields") or []
    old = [entry for entry in entries if _applied_client_side(entry, manager)]
    if not old:
        return None
    mine = next((entry for entry in entries if _is_apply(entry, manager)), None)
    fields = mine.get("fieldsV1") or {} if mine else {}
    for entry in old:
        if entry.get("apiVersion") == live.get("apiVersion"):
            fields = _union(fields, entry.get("fieldsV1") or {})
    whole = {**(mine or old[0]), "manager": manager, "operation": "Apply", "fieldsV1": fields}
    return [whole, *(entry for entry in entries if entry is not mine and entry not in old)]


def _is_apply(entry: JSONObject, manager: str) -> bool:
    return bool(entry.get("manager") == manager and entry.get("operation") == "Apply" and not entry.get("subresource"))


def _applied_client_side(entry: JSONObject, manager: str) -> bool:
    if entry.get("operation") != "Update" or entry.get("subresource"):
        return False
    annotations = (entry.get("fieldsV1") or {}).get("f:metadata", {}).get("f:annotations", {})
    return entry.get("manager") == manager or f"f:{ANNOTATION}" in annotations


def _union(left: JSONObject, right: JSONObject) -> JSONObject:
    return {**left, **{name: _union(left.get(name, {}), inner) for name, inner in right.items()}}


def _part(value: JSONValue, fields: JSONObject) -> JSONValue:
    """The part of a value that a set of fields names; all of it when the set names nothing below."""
    below = {name: inner for name, inner in fields.items() if name != "."}
    if not below:
        return value if "." not in fields or not isinstance(value, dict | list) else type(value)()
    if isinstance(value, dict):
        names = {name.removeprefix("f:"): inner for name, inner in below.items() if name.startswith("f:")}
        return {name: _part(item, names[name]) for name, item in value.items() if name in names}
    if isinstance(value, list):
        return [_part(item, inner) for index, item in enumerate(value) for inner in _selecting(below, index, item)]
    return value


def _selecting(fields: JSONObject, index: int, item: JSONValue) -> list[JSONObject]:
    """The set below the first name that selects an item of a list; nothing when none does."""
    for name, inner in fields.items():
        kind, _, text = name.partition(":")
        if kind == "i" and text == str(index):
            return [inner]
        if kind == "v" and equal(json.loads(text), item):
            return [inner]
        if kind == "k" and isinstance(item, dict) and _has_keys(item, json.loads(text)):
            return [inner]
    return []


def _has_keys(item: JSONObject, keys: JSONObject) -> bool:
    return all(key in item and equal(item[key], wanted) for key, wanted in keys.items())
