"""Building strategic merge patches: what differs between two documents, as a patch.

This follows ``diffMaps`` and its helpers in k8s.io/apimachinery/pkg/util/strategicpatch, so that the patches equal
those of kubectl. Patches share values with the documents they come from; nothing here changes either.
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from syncd.merge.directives import DELETE, DELETE_FROM_LIST, DIRECTIVE, MERGE, REPLACE, RETAIN_KEYS, SET_ORDER
from syncd.merge.errors import DirectiveError, FieldTypeError, MergeError, MergeKeyError, UnknownFieldError
from syncd.merge.jsonvalue import equal
from syncd.merge.order import arranged, deduplicated, element_type, go_text, key_of, sorted_by_text
from syncd.merge.schema import ANYTHING, Field, Shape
from syncd.model import ABSENT

if TYPE_CHECKING:
    from collections.abc import Hashable

    from syncd.merge.schema import PatchSchema
    from syncd.model import JSONObject, JSONValue


class Wanted(NamedTuple):
    """Which part of a difference goes into the patch."""

    additions: bool = True
    """Fields that are new or changed."""
    deletions: bool = True
    """Fields that are gone."""
    order: bool = True
    """The order of merging lists."""


EVERYTHING = Wanted()
ADDITIONS = Wanted(deletions=False)
DELETIONS = Wanted(additions=False)
CHANGES_ONLY = Wanted(order=False)


def field_for(schema: PatchSchema, key: str, value: JSONValue) -> Field:
    """How a field whose value is a map or list merges.

    Raises:
        UnknownFieldError: The schema does not have the field.
        FieldTypeError: It has it with another type, or names no fields at all.
    """
    field = schema.field(key) if schema.shape is Shape.OBJECT else None
    if field is not None and (type(value) is dict or field.schema.shape is Shape.LIST):
        return field
    if schema.shape is Shape.ANY:
        return Field(ANYTHING)
    if schema.shape is not Shape.OBJECT:
        raise FieldTypeError(f"expected an object with named fields, but the schema has a {schema.shape.value}")
    if field is None:
        raise UnknownFieldError(key)
    if field.schema.shape in (Shape.MAP, Shape.SCALAR):
        raise FieldTypeError(f"expected a list, but the schema has a {field.schema.shape.value}")
    return field


def diff(original: JSONObject, modified: JSONObject, schema: PatchSchema, wanted: Wanted) -> JSONObject:
    """The patch that makes ``modified`` of ``original``, or the wanted part of it."""
    return _Difference(wanted).of_maps(original, modified, schema, retain_keys=False)


class _Difference:
    """Builds one patch."""

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted

    def of_maps(
        self, original: JSONObject, modified: JSONObject, schema: PatchSchema, *, retain_keys: bool
    ) -> JSONObject:
        """The patch for a map; with ``$retainKeys`` if asked."""
        wanted = self._wanted
        patch: JSONObject = {}
        for key, new in modified.items():
            old = original.get(key, ABSENT)
            kind = type(new)
            if kind is str and new == old:
                continue  # most fields; a directive that says the same as before is none of the patch's business either
            if key == DIRECTIVE and old is not ABSENT:
                patch.update(_directive(old, new))
            elif type(old) is not kind or (kind is not dict and kind is not list and old != new):
                if wanted.additions:
                    patch[key] = new
            elif kind is dict or kind is list:
                try:
                    self._field(key, old, new, schema, patch)
                except MergeError as error:
                    error.under(key)
                    raise
        if wanted.deletions:
            _delete_missing(original, modified, patch)
        if retain_keys:
            _retain_keys(original, modified, patch)
        return patch

    def _field(self, key: str, old: JSONValue, new: JSONValue, schema: PatchSchema, patch: JSONObject) -> None:
        """Put the difference of two maps or two lists into the patch."""
        try:
            field = field_for(schema, key, new)
        except (UnknownFieldError, FieldTypeError):
            if equal(old, new):
                return
            raise
        if type(new) is list and field.strategy == MERGE:
            self._merging_list(key, old, new, field, patch)
        elif type(new) is list:
            if self._wanted.additions and not equal(old, new):
                patch[key] = new
        elif field.strategy != REPLACE:
            inner = self.of_maps(old, new, field.schema, retain_keys=field.retain_keys)
            if inner:
                patch[key] = inner
        elif self._wanted.additions:
            patch[key] = new  # as kubectl does, even if they are equal

    def _merging_list(
        self, key: str, old: list[JSONValue], new: list[JSONValue], field: Field, patch: JSONObject
    ) -> None:
        if not old:
            if new and self._wanted.additions:
                patch[key] = new
            return
        removed: list[JSONValue] = []
        if element_type(old, new) is dict:
            changes, order = self._maps_in_list(old, new, field)
        else:
            changes, removed, order = self._scalars_in_list(old, new)
        if changes:
            patch[key] = changes
        if removed:
            patch[f"{DELETE_FROM_LIST}/{key}"] = removed
        if order and self._wanted.order:
            patch[f"{SET_ORDER}/{key}"] = order

    def _maps_in_list(
        self, old: list[JSONValue], new: list[JSONValue], field: Field
    ) -> tuple[list[JSONValue], list[JSONValue]]:
        """The patch for a list of maps, and the order to set."""
        merge_key = field.merge_key
        if not merge_key:
            raise MergeKeyError("")
        old_keys = [key_of(item, merge_key) for item in old]
        new_keys = [key_of(item, merge_key) for item in new]
        deletions: list[JSONValue] = []
        if old_keys == new_keys and len(set(new_keys)) == len(new_keys):  # most often
            changes = [item for pair in zip(old, new, strict=True) if (item := self._item(*pair, field))]
        else:
            changes, deletions = self._walk(_by_text(old, old_keys), _by_text(new, new_keys), field)
        if len(changes) > 1 or (changes and DIRECTIVE in changes[0]):
            changes = arranged(changes, new, merge_key)
        changes += deletions
        if changes or (self._wanted.additions and old_keys != new_keys):
            return changes, [{merge_key: item[merge_key]} for item in new]
        return changes, []

    def _walk(
        self, olds: list[tuple[str, JSONObject]], news: list[tuple[str, JSONObject]], field: Field
    ) -> tuple[list[JSONValue], list[JSONValue]]:
        """Compare lists of maps side by side, sorted by key: items to merge, and directives to delete items."""
        merge_key, wanted = field.merge_key, self._wanted
        changes: list[JSONValue] = []
        deletions: list[JSONValue] = []
        i = j = 0
        while i < len(olds) or j < len(news):
            if j == len(news) or (i < len(olds) and olds[i][0] < news[j][0]):
                if wanted.deletions:
                    deletions.append({merge_key: olds[i][1][merge_key], DIRECTIVE: DELETE})
                i += 1
            elif i == len(olds) or olds[i][0] > news[j][0]:
                if wanted.additions:
                    changes.append(news[j][1])
                j += 1
            else:
                if inner := self._item(olds[i][1], news[j][1], field):
                    changes.append(inner)
                i += 1
                j += 1
        return changes, deletions

    def _item(self, old: JSONObject, new: JSONObject, field: Field) -> JSONObject:
        """The patch for an item that both lists have, with its key; empty when there is no difference."""
        merge_key = field.merge_key
        try:
            patch = self.of_maps(old, new, field.schema.items, retain_keys=field.retain_keys)
        except MergeError as error:
            error.under(f"[{merge_key}={go_text(new[merge_key])}]")
            raise
        if patch:
            patch[merge_key] = new[merge_key]
        return patch

    def _scalars_in_list(
        self, old: list[JSONValue], new: list[JSONValue]
    ) -> tuple[list[JSONValue], list[JSONValue], list[JSONValue]]:
        """What to add to a list of scalars, what to remove from it, and the order to set."""
        olds, news = sorted_by_text(old), sorted_by_text(new)
        added: list[JSONValue] = []
        removed: list[JSONValue] = []
        i = j = 0
        while i < len(olds) or j < len(news):
            left = go_text(olds[i]) if i < len(olds) else None
            right = go_text(news[j]) if j < len(news) else None
            if right is None or (left is not None and left < right):
                removed.append(olds[i])
                i += 1
            elif left is None or left > right:
                added.append(news[j])
                j += 1
            else:
                i += 1
                j += 1
        added = arranged(added, new, "") if self._wanted.additions else []
        removed = deduplicated(removed) if self._wanted.deletions else []
        # kubectl compares with the sorted list, so finalizers that are not sorted get their order set each time
        reordered = self._wanted.additions and not equal(olds, new)
        return added, removed, new if removed or reordered else []


def _by_text(items: list[JSONValue], keys: list[tuple[type, Hashable]]) -> list[tuple[str, JSONObject]]:
    """Items with the text of their keys, sorted by it; equal ones reversed."""
    pairs = [(go_text(key), item) for (_, key), item in zip(keys, items, strict=True)]
    if len(pairs) > 1:
        pairs.reverse()
        pairs.sort(key=itemgetter(0))
    return pairs


def _directive(old: JSONValue, new: JSONValue) -> JSONObject:
    """A directive that the user wrote stays in the patch when it is another one than before."""
    if not isinstance(old, str) or not isinstance(new, str):
        raise DirectiveError(f"invalid value for special key: {DIRECTIVE}")
    return {DIRECTIVE: new} if old != new else {}


def _delete_missing(original: JSONObject, modified: JSONObject, patch: JSONObject) -> None:
    for key in original:
        if key not in modified:
            patch[key] = None


def _retain_keys(original: JSONObject, modified: JSONObject, patch: JSONObject) -> None:
    """Name the fields to keep, when the patch changes anything or the original has others."""
    retained = sorted(key for key, value in modified.items() if value is not None)
    if retained and (patch or any(value is not None and key not in modified for key, value in original.items())):
        patch[RETAIN_KEYS] = retained
