"""Comparing what is desired with what is live before anything is merged.

Two questions that keep patches away: does live already have all that is desired (:func:`covered`), and which desired
values does live merely spell differently (:func:`aligned`)?
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.merge.jsonvalue import equal
from syncd.merge.quantity import same
from syncd.merge.rules import ATOMIC, MAP, SET, ListRule, declared
from syncd.merge.schema import ANYTHING, Field, Meaning
from syncd.merge.unions import losers
from syncd.model import ABSENT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from syncd.merge.schema import PatchSchema
    from syncd.model import JSONObject, JSONValue


def covered(modified: JSONObject, live: JSONObject, schema: PatchSchema, *, strategic: bool) -> bool:
    """Whether applying ``modified`` once more would change nothing, given that it was what was applied last.

    May answer no where a full merge then finds nothing to change, but never yes where it would.
    """
    if schema.unions and losers(schema.unions, modified, live):
        return False
    for key, new in modified.items():
        old = live.get(key, ABSENT)
        kind = type(new)
        if kind is dict or kind is list:
            field = schema.field(key)
            if type(old) is not kind or not _covered_field(new, old, field or Field(ANYTHING), strategic=strategic):
                return False
        elif new is None:
            if old is not ABSENT:
                return False
        elif type(old) is not kind or old != new:
            field = schema.field(key)
            if field is None or not same(new, old, field.schema.meaning):
                return False
    return True


def _covered_field(new: JSONValue, old: JSONValue, field: Field, *, strategic: bool) -> bool:
    if type(new) is dict:
        if field.strategy == "replace" or (field.schema.is_atomic and not strategic):
            return equal(new, old)
        if field.retain_keys and _unretained(new, old, field.schema):
            return False
        return covered(new, old, field.schema, strategic=strategic)
    rule = declared(field, strategic=strategic)
    if rule is None or rule.type == ATOMIC:
        return equal(new, old)
    return _covered_items(new, old, rule, field, strategic=strategic)


def _covered_items(
    new: list[JSONValue], old: list[JSONValue], rule: ListRule, field: Field, *, strategic: bool
) -> bool:
    """Whether live has all desired items, in the desired order."""
    items = field.schema.items
    places: Mapping[object, int] | None = None
    last = -1
    for item in new:
        place = last + 1
        if place == len(old):  # the one before is the last there
            return False
        # The usual case first, which is quick: nothing has been added or moved.
        if len(new) != len(old) or not _same_key(item, old[place], rule, items):
            places = (_places(old, rule, items) or {}) if places is None else places
            place = places.get(rule.key_of(item, items), -1)
        if place <= last:
            return False
        last = place
        if rule.type != SET and (
            (field.retain_keys and _unretained(item, old[place], items))
            or not covered(item, old[place], items, strategic=strategic)
        ):
            return False
    return True


def _same_key(item: JSONValue, other: JSONValue, rule: ListRule, schema: PatchSchema) -> bool:
    if rule.type == MAP and type(item) is type(other) is dict:
        for name in rule.keys:
            mine, its = item.get(name), other.get(name)
            if mine is None or type(mine) is not type(its) or mine != its:
                break
        else:
            return True
    key = rule.key_of(item, schema)
    return key is not None and key == rule.key_of(other, schema)


def _places(items: list[JSONValue], rule: ListRule, schema: PatchSchema) -> dict[object, int] | None:
    """Where each key stands; None when one is missing or repeats."""
    places: dict[object, int] = {rule.key_of(item, schema): index for index, item in enumerate(items)}
    return places if len(places) == len(items) and None not in places else None


def _unretained(new: JSONObject, old: JSONObject, schema: PatchSchema) -> list[str]:
    """The live fields that ``$retainKeys`` would clear; not those that the server has only filled in by default."""
    if all(value is None for value in new.values()):
        return []
    defaulted = {
        member
        for union in schema.unions
        if union.discriminator and equal(new.get(union.discriminator), old.get(union.discriminator))
        for member in union.members
    }
    return [key for key, value in old.items() if value is not None and key not in new and key not in defaulted]


def aligned(original: JSONObject, modified: JSONObject, live: JSONObject, schema: PatchSchema) -> JSONObject:
    """``modified`` with live's spelling wherever that means the same, and with what live has by default.

    The same object is returned when there is nothing to align.
    """
    result: JSONObject = modified
    for key, new in modified.items():
        old = live.get(key, ABSENT)
        if old is ABSENT or old is new:
            continue
        field = schema.field(key)
        if field is None:
            continue
        spelled = _aligned_value(original.get(key), new, old, field)
        if spelled is not new:
            if result is modified:
                result = dict(modified)
            result[key] = spelled
    return result


def _aligned_value(original: JSONValue, new: JSONValue, old: JSONValue, field: Field) -> JSONValue:
    kind = type(new)
    if kind is dict and type(old) is dict:
        former = original if type(original) is dict else {}
        if field.retain_keys:
            new = _with_defaults(former, new, old, field.schema)
        return aligned(former, new, old, field.schema)
    if kind is list and type(old) is list:
        return _aligned_list(original if type(original) is list else [], new, old, field)
    meaning = field.schema.meaning
    if meaning is not Meaning.PLAIN and not equal(new, old) and same(new, old, meaning):
        return old
    return new


def _aligned_list(
    original: list[JSONValue], new: list[JSONValue], old: list[JSONValue], field: Field
) -> list[JSONValue]:
    items = field.schema.items
    rule = declared(field, strategic=bool(field.strategy))
    if rule is None or rule.type == ATOMIC:
        # Inside an atomic list values are aligned by position, which is right only if then all of it is the same.
        spelled = [
            aligned({}, left, right, items) if type(left) is type(right) is dict else left
            for left, right in zip(new, old, strict=False)
        ]
        return old if equal(spelled, old) and len(new) == len(old) else new
    if rule.type == SET:
        return new
    places, formers = _places(old, rule, items), _places(original, rule, items) or {}
    result = []
    for item in new:
        key = rule.key_of(item, items)
        place = places.get(key) if places and key is not None else None
        if place is None:
            result.append(item)
        else:
            former = original[formers[key]] if key in formers else {}
            result.append(aligned(former, item, old[place], items))
    return new if all(map(_identical, result, new)) else result


def _identical(left: JSONValue, right: JSONValue) -> bool:
    return left is right


def _with_defaults(original: JSONObject, new: JSONObject, old: JSONObject, schema: PatchSchema) -> JSONObject:
    """Add the member of a union that the server filled in for the very choice that is desired.

    Without it, ``$retainKeys`` would clear it with each apply, and the server fill it in again.
    """
    for union in schema.unions:
        chosen = new.get(union.discriminator) if union.discriminator else None
        if chosen is not None and equal(chosen, old.get(union.discriminator)):
            added = {m: old[m] for m in union.members if m in old and m not in new and m not in original}
            new = {**new, **added} if added else new
    return new


def with_losers(
    original: JSONObject, modified: JSONObject, live: JSONObject, schema: PatchSchema, *, retain_keys: bool = False
) -> JSONObject:
    """``original`` with the live fields that must go because ``modified`` chooses another member of their union.

    A three-way patch then deletes them like everything else that was applied and is no longer desired. The same object
    is returned when there are none.
    """
    result = original
    if schema.unions and not retain_keys:
        lost = {key: live[key] for key in losers(schema.unions, modified, live) if key not in original}
        if lost:
            result = {**original, **lost}
    for key, new in modified.items():
        old = live.get(key)
        kind = type(new)
        if type(old) is not kind or (kind is not dict and kind is not list):
            continue
        field = schema.field(key)
        if field is None:
            continue
        former = original.get(key)
        former = former if type(former) is kind else kind()
        found = _field_with_losers(former, new, old, field)
        if found is not former:
            result = {**result, key: found}
    return result


def _field_with_losers(original: JSONValue, modified: JSONValue, live: JSONValue, field: Field) -> JSONValue:
    if type(modified) is dict:
        return with_losers(original, modified, live, field.schema, retain_keys=field.retain_keys)
    return _list_with_losers(original, modified, live, field)


def _list_with_losers(
    original: list[JSONValue], modified: list[JSONValue], live: list[JSONValue], field: Field
) -> list[JSONValue]:
    if field.strategy != "merge" or not field.merge_key:
        return original
    rule, items = ListRule("map", (field.merge_key,)), field.schema.items
    lives, formers = _places(live, rule, items), _places(original, rule, items)
    if lives is None or formers is None:
        return original
    result = original
    for item in modified:
        key = rule.key_of(item, items)
        if key is None or key not in lives:
            continue
        former = original[formers[key]] if key in formers else {}
        found = with_losers(former, item, live[lives[key]], items, retain_keys=field.retain_keys)
        if found is not former:
            result = list(result)
            if key in formers:
                result[formers[key]] = found
            else:
                result.append({field.merge_key: item[field.merge_key], **found})
    return result
