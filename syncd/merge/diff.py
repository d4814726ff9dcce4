"""What differs between two states of an object, field by field, for people."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from syncd.merge.errors import bounded
from syncd.merge.jsonvalue import equal
from syncd.merge.last_applied import ANNOTATION
from syncd.merge.order import go_text
from syncd.merge.rules import ATOMIC, SET, Guide, Key, ListRule
from syncd.model import ABSENT, FieldChange

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from syncd.merge.rules import UserRule
    from syncd.merge.schema import PatchSchema
    from syncd.model import JSONObject, JSONValue

_PLAIN_NAME = re.compile(r"[A-Za-z0-9_$-]+\Z")
_ANNOTATIONS = "metadata.annotations"


@bounded
def changes(
    before: JSONObject, after: JSONObject, schema: PatchSchema | None = None, rules: Sequence[UserRule] = ()
) -> tuple[FieldChange, ...]:
    """The fields that differ, in the order in which they stand in the documents.

    A subtree that only one side has is one change. Items of lists that merge are named by their key, and a different
    order of the same items is a change of ``list[order]``. The last-applied annotation is left out: it always changes
    with everything else. Values are not masked.
    """
    found = map(_without_last_applied, _maps("", before, after, Guide(schema, rules)))
    return tuple(change for change in found if change.before is not ABSENT or change.after is not ABSENT)


def _without_last_applied(change: FieldChange) -> FieldChange:
    """The change, of which nothing is left if it is about that annotation alone."""
    if change.path == f"{_ANNOTATIONS}[{ANNOTATION}]":
        return FieldChange(change.path, ABSENT, ABSENT)
    if change.path == _ANNOTATIONS:  # only one side has any
        return FieldChange(change.path, _others(change.before), _others(change.after))
    return change


def _others(annotations: JSONValue) -> JSONValue:
    if not isinstance(annotations, dict) or ANNOTATION not in annotations:
        return annotations
    return {name: text for name, text in annotations.items() if name != ANNOTATION} or ABSENT


def _maps(path: str, before: JSONObject, after: JSONObject, guide: Guide) -> Iterator[FieldChange]:
    for key in [*before, *(key for key in after if key not in before)]:
        old, new = before.get(key, ABSENT), after.get(key, ABSENT)
        if not equal(old, new):
            yield from _values(_joined(path, key), key, old, new, guide)


def _values(path: str, key: str, old: JSONValue, new: JSONValue, guide: Guide) -> Iterator[FieldChange]:
    if type(old) is type(new) is dict:
        yield from _maps(path, old, new, guide.into(key, new))
    elif type(old) is type(new) is list:
        yield from _lists(path, old, new, guide.list_rule(key, old, new), guide.into(key, new))
    else:
        yield FieldChange(path, old, new)


def _lists(
    path: str, old: list[JSONValue], new: list[JSONValue], rule: ListRule, guide: Guide
) -> Iterator[FieldChange]:
    olds, news = _by_key(old, rule, guide), _by_key(new, rule, guide)
    if olds is None or news is None:
        yield from _atomic(path, old, new, guide)
        return
    for key in [*olds, *(key for key in news if key not in olds)]:
        before, after = olds.get(key, ABSENT), news.get(key, ABSENT)
        if equal(before, after):
            continue
        item = f"{path}[{_item_name(before if after is ABSENT else after, rule)}]"
        if type(before) is type(after) is dict:
            yield from _maps(item, before, after, guide)
        else:
            yield FieldChange(item, before, after)
    if [key for key in olds if key in news] != [key for key in news if key in olds]:
        yield FieldChange(
            f"{path}[order]", [_item_name(item, rule) for item in old], [_item_name(item, rule) for item in new]
        )


def _atomic(path: str, old: list[JSONValue], new: list[JSONValue], guide: Guide) -> Iterator[FieldChange]:
    """Lists of maps of the same length differ item by item; everything else as a whole."""
    if len(old) == len(new) and all(type(item) is dict for item in old + new):
        for index, (before, after) in enumerate(zip(old, new, strict=True)):
            yield from _maps(f"{path}[{index}]", before, after, guide)
    else:
        yield FieldChange(path, old, new)


def _by_key(items: list[JSONValue], rule: ListRule, guide: Guide) -> dict[Key, JSONValue] | None:
    """Items by key; None when the list is atomic, or a key is missing or repeats."""
    if rule.type == ATOMIC:
        return None
    found = {rule.key_of(item, guide.schema): item for item in items}
    if len(found) != len(items) or None in found:
        return None
    return {key: item for key, item in found.items() if key is not None}


def _item_name(item: JSONValue, rule: ListRule) -> str:
    if rule.type == SET:
        return go_text(item)
    return ",".join(f"{key}={go_text(item[key])}" for key in rule.keys if key in item)


def _joined(path: str, key: str) -> str:
    if not _PLAIN_NAME.match(key):
        return f"{path}[{key}]"
    return f"{path}.{key}" if path else key
