"""Sets of fields, as ``metadata.managedFields`` holds them (FieldsV1), and what can be done with two of them.

A set is a tree of dicts by path element: ``f:NAME`` a field or map key, ``k:{...}`` a list item by its keys,
``v:VALUE`` an item of a set. A path belongs to the set when its node has the mark ``.``; on the wire the mark of a node
without children is left out. Sets are never changed in place but by who makes them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from syncd.model import JSONObject, JSONValue

FieldSet = dict[str, Any]
MEMBER = "."


def field(name: str) -> str:
    """The path element of a field or map key."""
    return f"f:{name}"


def item_by_keys(keys: JSONObject) -> str:
    """The path element of an item of a list of type map."""
    return "k:" + orjson.dumps(keys, option=orjson.OPT_SORT_KEYS).decode()


def item_by_value(value: JSONValue) -> str:
    """The path element of an item of a set."""
    return "v:" + orjson.dumps(value).decode()


def insert(into: FieldSet, path: Sequence[str]) -> None:
    """Add a path to a set that is being made."""
    node = into
    for element in path:
        node = node.setdefault(element, {})
    node[MEMBER] = None


def decode(fields: JSONObject) -> FieldSet:
    """Read ``fieldsV1``."""
    return {
        element: None if element == MEMBER else decode(child) or {MEMBER: None} for element, child in fields.items()
    }


def encode(fields: FieldSet) -> JSONObject:
    """Write ``fieldsV1``: ordered as the real server writes it."""
    if fields.keys() == {MEMBER}:
        return {}
    return {element: {} if element == MEMBER else encode(fields[element]) for element in sorted(fields)}


def union(left: FieldSet, right: FieldSet) -> FieldSet:
    """The paths of either."""
    out = dict(left)
    for element, child in right.items():
        mine = out.get(element)
        out[element] = union(mine, child) if mine and child else mine or child
    return out


def difference(left: FieldSet, right: FieldSet) -> FieldSet:
    """The paths of the left that are not in the right one; what is below a path is another path."""
    out: FieldSet = {}
    for element, child in left.items():
        if element not in right:
            out[element] = child
        elif element != MEMBER:
            rest = difference(child, right[element])
            if rest:
                out[element] = rest
    return out


def intersection(left: FieldSet, right: FieldSet) -> FieldSet:
    """The paths of both."""
    out: FieldSet = {}
    for element in left.keys() & right.keys():
        if element == MEMBER:
            out[element] = None
        else:
            both = intersection(left[element], right[element])
            if both:
                out[element] = both
    return out


def paths(fields: FieldSet, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The paths of a set, in the order of their text."""
    for element in sorted(fields):
        if element == MEMBER:
            yield above
        else:
            yield from paths(fields[element], (*above, element))


def text(path: Sequence[str]) -> str:
    """A path as conflicts name it: ``.spec.template.spec.containers[name="web"].image``."""
    return "".join(map(_text, path))


def _text(element: str) -> str:
    kind, rest = element[0], element[2:]
    if kind == "f":
        return f".{rest}"
    if kind == "v":
        return f"[={rest}]"
    keys = orjson.loads(rest)
    return "[" + ",".join(f"{name}={orjson.dumps(value).decode()}" for name, value in sorted(keys.items())) + "]"
