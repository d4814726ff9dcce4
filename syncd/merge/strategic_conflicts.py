"""Whether two strategic merge patches set the same field to different values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.merge.directives import DIRECTIVE, MERGE, REPLACE
from syncd.merge.errors import MergeKeyError
from syncd.merge.jsonvalue import equal
from syncd.merge.order import deduplicated, element_type, go_text, sorted_by_text
from syncd.merge.schema import ANYTHING, Field
from syncd.merge.strategic_diff import field_for

if TYPE_CHECKING:
    from syncd.merge.schema import PatchSchema
    from syncd.model import JSONObject, JSONValue

_Path = tuple[str, ...]


def conflict(left: JSONObject, right: JSONObject, schema: PatchSchema) -> _Path | None:
    """The path of the first conflict between two patches, None when there is none."""
    return _maps(left, right, schema, "")


def _maps(left: JSONObject, right: JSONObject, schema: PatchSchema, strategy: str) -> _Path | None:
    if left.get(DIRECTIVE) != right.get(DIRECTIVE):
        return ()  # one acts on the whole map, the other on its fields or in another way
    if strategy == REPLACE:
        return None
    for key, value in left.items():
        # directives for parallel lists cannot conflict: they only ever name items, and sets merge
        if key in right and not key.startswith("$"):
            collection = type(value) in (dict, list)
            found = _values(value, right[key], field_for(schema, key, value) if collection else Field(ANYTHING))
            if found is not None:
                return (key, *found)
    return None


def _values(left: JSONValue, right: JSONValue, field: Field) -> _Path | None:
    if type(left) is not type(right):
        return ()
    if type(left) is dict:
        return _maps(left, right, field.schema, field.strategy)
    if type(left) is list:
        return _lists(left, right, field)
    return None if equal(left, right) else ()


def _lists(left: list[JSONValue], right: list[JSONValue], field: Field) -> _Path | None:
    kind = element_type(left, right)
    if field.strategy == MERGE:
        # adding to a set conflicts with nothing
        return _merging_lists(left, right, field) if kind is dict else None
    if len(left) != len(right):
        return ()
    if kind is not dict:
        left, right = sorted_by_text(deduplicated(left)), sorted_by_text(deduplicated(right))
        return None if equal(left, right) else ()
    for index, (item, other) in enumerate(zip(left, right, strict=True)):
        found = _maps(item, other, field.schema.items, "")
        if found is not None:
            return (f"[{index}]", *found)
    return None


def _merging_lists(left: list[JSONValue], right: list[JSONValue], field: Field) -> _Path | None:
    others = {go_text(_key(item, field.merge_key)): item for item in right}
    for item in left:
        text = go_text(_key(item, field.merge_key))
        found = _maps(item, others[text], field.schema.items, "") if text in others else None
        if found is not None:
            return (f"[{field.merge_key}={text}]", *found)
    return None


def _key(item: JSONObject, merge_key: str) -> JSONValue:
    if merge_key not in item:
        raise MergeKeyError(merge_key)
    return item[merge_key]
