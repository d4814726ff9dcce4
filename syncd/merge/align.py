"""Bringing what is desired and what was applied closer to live before they are merged.

Values that live merely spells differently take live's spelling (:func:`aligned`), so that no patch is sent for ever;
what live must lose for the sake of a union counts as applied (:func:`with_losers`), so that a patch deletes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.merge.jsonvalue import equal
from syncd.merge.quantity import same
from syncd.merge.rules import ATOMIC, SET, ListRule, declared, places_of
from syncd.merge.schema import Meaning
from syncd.merge.unions import losers
from syncd.model import ABSENT

if TYPE_CHECKING:
    from syncd.merge.schema import Field, PatchSchema
    from syncd.model import JSONObject, JSONValue


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
    places, formers = places_of(old, rule, items), places_of(original, rule, items) or {}
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
    lives, formers = places_of(live, rule, items), places_of(original, rule, items)
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
