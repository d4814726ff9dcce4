"""Whether live already has all that is desired: the question that keeps most merges away.

What is to be compared how depends on the schema alone. It is worked out once for each place in a schema, when an object
first has something there, and kept with the schema; a comparison then only walks two documents.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.merge.jsonvalue import equal
from syncd.merge.quantity import same
from syncd.merge.rules import ATOMIC, MAP, SET, ListRule, declared, places_of
from syncd.merge.schema import ANYTHING, Field, Shape
from syncd.merge.unions import losers
from syncd.model import ABSENT

if TYPE_CHECKING:
    from collections.abc import Callable

    from syncd.merge.schema import PatchSchema
    from syncd.model import JSONObject, JSONValue

    Comparison = Callable[[JSONValue, JSONValue], bool]


def covered(modified: JSONObject, live: JSONObject, schema: PatchSchema, *, strategic: bool) -> bool:
    """Whether applying ``modified`` once more would change nothing, given that it was what was applied last.

    May answer no where a full merge then finds nothing to change, but never yes where it would.
    """
    return _maps(schema, strategic=strategic).cover(modified, live)


def _maps(schema: PatchSchema, *, strategic: bool) -> _Maps:
    known: _Maps | None = schema.memo.get((_Maps, strategic))
    if known is None:
        known = schema.memo.setdefault((_Maps, strategic), _Maps(schema, strategic=strategic))
    return known


class _Maps:
    """Compares maps that one schema describes: the desired one first, the live one second."""

    __slots__ = ("_below", "_schema", "_strategic")

    def __init__(self, schema: PatchSchema, *, strategic: bool) -> None:
        self._schema = schema
        self._strategic = strategic
        self._below: dict[type, dict[str, Comparison]] = {dict: {}, list: {}}

    def cover(self, new: JSONObject, old: JSONObject) -> bool:
        """Whether live has all that is desired."""
        below = self._below
        for key, mine in new.items():
            its = old.get(key, ABSENT)
            kind = type(mine)
            if kind is str:  # first, because most are
                if mine != its and not self._same_scalar(key, mine, its):
                    return False
            elif kind is dict or kind is list:
                if type(its) is not kind or not (below[kind].get(key) or self._find(kind, key))(mine, its):
                    return False
            elif not self._same_scalar(key, mine, its):
                return False
        unions = self._schema.unions
        return not unions or old.keys() <= new.keys() or not losers(unions, new, old)

    def cover_all(self, new: JSONObject, old: JSONObject) -> bool:
        """The same where ``$retainKeys`` would clear what else live has."""
        return not _unretained(new, old, self._schema) and self.cover(new, old)

    def _same_scalar(self, key: str, mine: JSONValue, its: JSONValue) -> bool:
        if mine is None:
            return its is ABSENT
        if type(its) is type(mine) and its == mine:
            return True
        field = self._schema.field(key)
        return field is not None and same(mine, its, field.schema.meaning)

    def _find(self, kind: type, key: str) -> Comparison:
        """How the map or the list in a field is compared."""
        if self._schema.shape is not Shape.OBJECT:
            key = ""  # what names no fields has the same in each of them, of which there may be any number
        known = self._below[kind].get(key)
        if known is None:
            field = self._schema.field(key) or Field(ANYTHING)
            made = (_map_in if kind is dict else _list_in)(field, strategic=self._strategic)
            known = self._below[kind].setdefault(key, made)
        return known


def _map_in(field: Field, *, strategic: bool) -> Comparison:
    if field.strategy == "replace" or (field.schema.is_atomic and not strategic):
        return equal
    maps = _maps(field.schema, strategic=strategic)
    return maps.cover_all if field.retain_keys else maps.cover


def _list_in(field: Field, *, strategic: bool) -> Comparison:
    rule = declared(field, strategic=strategic)
    if rule is None or rule.type == ATOMIC:
        return equal
    return _Lists(field, rule, strategic=strategic).cover


class _Lists:
    """Compares lists whose items are told apart by a key."""

    __slots__ = ("_item", "_items", "_rule")

    def __init__(self, field: Field, rule: ListRule, *, strategic: bool) -> None:
        self._rule = rule
        self._items = field.schema.items
        maps = _maps(self._items, strategic=strategic)
        self._item: Comparison | None = maps.cover_all if field.retain_keys else maps.cover
        if rule.type == SET:
            self._item = None  # an item is its own key

    def cover(self, new: list[JSONValue], old: list[JSONValue]) -> bool:
        """Whether live has all desired items, in the desired order."""
        item = self._item
        start = 0
        if len(new) == len(old):  # the usual case, which is quick: nothing has been added or moved
            for mine, its in zip(new, old, strict=True):
                if not self._same_key(mine, its):
                    break
                if item and not item(mine, its):
                    return False
                start += 1
            else:
                return True
        return self._cover_moved(new, old, start)

    def _cover_moved(self, new: list[JSONValue], old: list[JSONValue], start: int) -> bool:
        """The same from the first item on that stands somewhere else."""
        places = places_of(old, self._rule, self._items) or {}
        last = start - 1
        for mine in new[start:]:
            place = places.get(self._rule.key_of(mine, self._items), -1)
            if place <= last:
                return False
            last = place
            if self._item and not self._item(mine, old[place]):
                return False
        return True

    def _same_key(self, mine: JSONValue, its: JSONValue) -> bool:
        if type(mine) is type(its) is dict:
            for name in self._rule.keys:
                value = mine.get(name)
                if value is None or value != (other := its.get(name)) or type(value) is not type(other):
                    break
            else:
                return self._rule.type == MAP
        key = self._rule.key_of(mine, self._items)
        return key is not None and key == self._rule.key_of(its, self._items)


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
