"""Applying strategic merge patches to documents, and to other patches.

This follows ``mergeMap`` and its helpers in k8s.io/apimachinery/pkg/util/strategicpatch. Their results depend on what
Go's slices share: an item that is deleted from a live list moves the others up in the very array that is then taken for
the live order, and an item that is added overwrites its tail. :class:`_LiveList` does the same on purpose.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.merge.directives import (
    DELETE,
    DELETE_FROM_LIST,
    DIRECTIVE,
    MERGE,
    REPLACE,
    RETAIN_KEYS,
    SET_ORDER,
    cleaned,
    field_of,
)
from syncd.merge.errors import DirectiveError, FieldTypeError, MergeError, MergeKeyError
from syncd.merge.jsonvalue import copy, equal, token
from syncd.merge.order import arranged, check_order, deduplicated, element_type, interleaved, key_of
from syncd.merge.strategic_diff import field_for
from syncd.model import ABSENT

if TYPE_CHECKING:
    from collections.abc import Hashable

    from syncd.merge.schema import Field, PatchSchema
    from syncd.model import JSONObject, JSONValue


def merge(document: JSONObject, patch: JSONObject, schema: PatchSchema, *, carry_out: bool) -> JSONObject:
    """Merge a patch into a document, which is changed; the patch is not.

    Args:
        document: Must share nothing with anything that is still needed.
        patch: The patch.
        schema: How the document's fields merge.
        carry_out: Whether directives act and nulls delete. If not, the document is a patch itself, and directives and
            nulls are kept for whoever applies the result.
    """
    return _Merger(carry_out=carry_out).map(document, patch, schema)


class _LiveList:
    """A list as Go has it: items in an array that other views of the list go on looking at.

    Attributes:
        items: The list as it is now.
        seen: What a view taken at the start sees now: the same number of items, out of the changed array.
    """

    def __init__(self, items: list[JSONValue]) -> None:
        self.items = items
        self.seen = list(items)

    def delete(self, index: int) -> None:
        """Take an item out: the ones behind it move up, and the array's tail keeps what it had."""
        del self.items[index]
        self.seen[index : len(self.items)] = self.items[index:]

    def append(self, item: JSONValue) -> None:
        """Add an item, which overwrites what is left of the array's tail."""
        if len(self.items) < len(self.seen):
            self.seen[len(self.items)] = item
        self.items.append(item)


class _Merger:
    def __init__(self, *, carry_out: bool) -> None:
        self._carry_out = carry_out

    def map(self, document: JSONObject, patch: JSONObject, schema: PatchSchema) -> JSONObject:
        """Merge two maps."""
        if DIRECTIVE in patch:
            return _replaced(patch)
        if RETAIN_KEYS in patch:
            self._retain_keys(document, patch)
        done = {RETAIN_KEYS}
        for key in patch:
            if key.startswith(SET_ORDER):
                done.add(key)
                field = field_of(key, SET_ORDER)
                try:
                    if self._ordered_list(document, patch, key, field, schema):
                        done.add(field)
                except MergeError as error:
                    error.under(field)
                    raise
        for key, value in patch.items():
            if key not in done:
                try:
                    self._field(document, key, value, schema)
                except MergeError as error:
                    error.under(key)
                    raise
        return document

    def _field(self, document: JSONObject, key: str, value: JSONValue, schema: PatchSchema) -> None:
        """Merge one field of a patch into the map that has it or not."""
        deletes = key.startswith(DELETE_FROM_LIST)
        if deletes and not self._carry_out:
            document[key] = value
            return
        name = field_of(key, DELETE_FROM_LIST) if deletes else key
        if value is None:
            document.pop(name, None)
            if self._carry_out:
                return
        old = document.get(name, ABSENT)
        kind = type(value)
        if type(old) is kind and (kind is dict or kind is list):
            field = field_for(schema, name, value)
            if kind is dict:
                document[name] = value if field.strategy == REPLACE else self.map(old, value, field.schema)
            elif deletes or field.strategy == MERGE:
                document[name] = self._list(_LiveList(old), value, field, deletes=deletes)
            else:
                document[name] = value
        elif not deletes or type(old) is kind:
            new = cleaned(value, drop_nulls=self._carry_out)
            if new is ABSENT:
                document.pop(name, None)
            else:
                document[name] = new

    def _retain_keys(self, document: JSONObject, patch: JSONObject) -> None:
        """Clear what ``$retainKeys`` does not name; or hand the directive on, where it must not contradict itself."""
        retained = patch[RETAIN_KEYS]
        if not self._carry_out:
            if RETAIN_KEYS in document and not equal(document[RETAIN_KEYS], retained):
                raise DirectiveError("two $retainKeys lists for the same map differ")
            document[RETAIN_KEYS] = retained
            return
        kept = {item for item in retained if isinstance(item, str)} if isinstance(retained, list) else None
        for key, value in patch.items():
            exempt = value is None or key == RETAIN_KEYS or key.startswith((DELETE_FROM_LIST, SET_ORDER))
            if kept is None or (not exempt and key not in kept):
                raise DirectiveError("invalid patch format of retainKeys: it must be a list of all fields in the patch")
        for key in [key for key in document if kept is not None and key not in kept]:
            del document[key]

    def _ordered_list(self, document: JSONObject, patch: JSONObject, key: str, name: str, schema: PatchSchema) -> bool:
        """Merge a list that has a ``$setElementOrder`` list, and put it in order; whether there was such a list."""
        order = patch[key]
        if not self._carry_out:
            if key in document and not equal(document[key], order):
                raise DirectiveError("invalid patch format of setElementOrder list: two for the same list differ")
            document[key] = order
        live, patched = document.get(name, ABSENT), patch.get(name, ABSENT)
        for items in (order, live, patched):
            if items is not ABSENT and not isinstance(items, list):
                raise DirectiveError(f"expected a list, but received a {type(items).__name__}")
        field = field_for(schema, name, order)
        check_order([] if patched is ABSENT else patched, order, field.merge_key)
        if live is ABSENT and patched is ABSENT:
            return False
        array = _LiveList([] if live is ABSENT else live)
        if patched is ABSENT:
            merged = array.items
        elif live is ABSENT:
            found = (cleaned(item, drop_nulls=False) for item in patched)
            merged = [item for item in found if item is not ABSENT]
        elif field.strategy == MERGE:
            merged = self._list(array, patched, field)
        else:
            merged = patched
        element_type(array.seen, [] if patched is ABSENT else patched)
        document[name] = _in_order(merged, order, array.seen, field.merge_key)
        return True

    def _list(self, live: _LiveList, patch: list[JSONValue], field: Field, *, deletes: bool = False) -> list[JSONValue]:
        """Merge two lists, of maps by their key or of scalars by themselves."""
        if not live.items and not patch:
            return live.items
        if element_type(live.items, patch) is dict:
            if not field.merge_key:
                raise MergeKeyError("")
            return self._maps_in_list(live, patch, field)
        if deletes and self._carry_out:
            unwanted = {token(item) for item in patch}
            return [item for item in live.items if token(item) not in unwanted]
        if field.merge_key:
            raise FieldTypeError("the items of a list with a merge key must be maps")
        return _in_order(deduplicated(live.items + patch), patch, live.items, "")

    def _maps_in_list(self, live: _LiveList, patch: list[JSONValue], field: Field) -> list[JSONValue]:
        merge_key = field.merge_key
        items, replaces = self._special_items(live, patch, merge_key)
        if replaces:
            replacement = _LiveList(items)
            return _in_order(replacement.items, [], items, merge_key)
        order = list(live.items)
        places: dict[tuple[type, Hashable], int] = {}
        for index, item in enumerate(live.items):
            if not isinstance(item, dict):
                raise FieldTypeError("an item of a merging list is no map")
            if merge_key in item:
                places.setdefault(token(item[merge_key]), index)
        for item in items:
            key = key_of(item, merge_key)
            place = places.get(key)
            if place is None:
                places[key] = len(live.items)
                live.append(copy(item))
            else:
                try:
                    live.items[place] = self.map(live.items[place], item, field.schema.items)
                except MergeError as error:
                    error.under(f"[{merge_key}={item[merge_key]}]")
                    raise
        return _in_order(live.items, items, order, merge_key)

    def _special_items(self, live: _LiveList, patch: list[JSONValue], merge_key: str) -> tuple[list[JSONValue], bool]:
        """Carry out the deletions in a list of a patch; its ordinary items, and whether they replace the live ones."""
        ordinary = []
        replaces = False
        for item in patch:
            directive = item.get(DIRECTIVE, ABSENT)
            if directive is ABSENT:
                ordinary.append(item)
            elif directive == DELETE:
                key = key_of(item, merge_key)
                index = 0
                while index < len(live.items):
                    old = live.items[index]
                    if merge_key in old and token(old[merge_key]) == key:
                        live.delete(index)
                    else:
                        index += 1
            elif directive == REPLACE:
                replaces = True
            elif directive == MERGE:
                raise DirectiveError("merging lists cannot yet be specified in the patch")
            else:
                raise DirectiveError(f"unknown patch type in {DIRECTIVE}")
        return ordinary, replaces


def _replaced(patch: JSONObject) -> JSONObject:
    """What a map becomes whose patch has a directive."""
    directive = patch[DIRECTIVE]
    if directive == REPLACE:
        return {key: value for key, value in patch.items() if key != DIRECTIVE}
    if directive == DELETE:
        return {}
    raise DirectiveError(f"unknown patch type in {DIRECTIVE}")


def _in_order(
    merged: list[JSONValue], order: list[JSONValue], live_order: list[JSONValue], merge_key: str
) -> list[JSONValue]:
    """The merged items in order: those that the patch orders as it says, between them the others as they were live."""
    ordered = {key_of(item, merge_key) for item in order}
    patched = [item for item in merged if key_of(item, merge_key) in ordered]
    others = [item for item in merged if key_of(item, merge_key) not in ordered]
    return interleaved(
        arranged(others, live_order, merge_key), arranged(patched, order, merge_key), live_order, merge_key
    )
