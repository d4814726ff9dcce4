"""Fields that a Sync leaves to named field managers: those that ``metadata.managedFields`` says are theirs.

The format is that of sigs.k8s.io/structured-merge-diff: ``f:name`` a field, ``k:{...}`` the list item with these keys,
``v:...`` the item of a set, ``i:0`` an index, and ``.`` the thing itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson
from pydantic import TypeAdapter, ValidationError

from syncd.merge.order import go_text
from syncd.spec import Pointer

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from syncd.model import JSONObject

_POINTER: TypeAdapter[str] = TypeAdapter(Pointer)


def managed_paths(live: JSONObject, managers: Collection[str]) -> tuple[str, ...]:
    """The fields of a live object that these managers own, as JSON pointers; but for what says whose the object is.

    An item of a set, or of a list without keys, has no place of its own and is left out. So is the status, which is
    none of Git's.
    """
    if not managers:
        return ()
    entries = live["metadata"].get("managedFields") or ()
    found = (
        pointer
        for entry in entries
        if entry.get("manager") in managers and entry.get("subresource") != "status"
        for pointer in _pointers(entry.get("fieldsV1") or {}, "")
    )
    return tuple(dict.fromkeys(filter(_may_be_left, found)))


def _pointers(fields: JSONObject, above: str) -> Iterator[str]:
    below = {part: inner for name, inner in fields.items() if (part := _part(name))}
    if not below and above:
        yield above
    for part, inner in below.items():
        yield from _pointers(inner, f"{above}/{part}")


def _part(name: str) -> str:
    """One step as a part of a JSON pointer; "" for one that has no such form."""
    kind, _, text = name.partition(":")
    if kind == "f":
        return text.replace("~", "~0").replace("/", "~1")
    if kind != "k":
        return ""
    pairs = ",".join(f"{key}={go_text(value)}" for key, value in orjson.loads(text).items())
    return f"[{pairs}]".replace("~", "~0").replace("/", "~1")


def _may_be_left(pointer: str) -> bool:
    try:
        _POINTER.validate_python(pointer)
    except ValidationError:
        return False
    return True
