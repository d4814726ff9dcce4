"""The directives of a strategic merge patch: keys in a patch that say what to do instead of what to set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from syncd.merge.errors import DirectiveError
from syncd.model import ABSENT, Absent

if TYPE_CHECKING:
    from syncd.model import JSONValue

DIRECTIVE: Final = "$patch"
DELETE: Final = "delete"
REPLACE: Final = "replace"
MERGE: Final = "merge"
RETAIN_KEYS: Final = "$retainKeys"
DELETE_FROM_LIST: Final = "$deleteFromPrimitiveList"
SET_ORDER: Final = "$setElementOrder"


def field_of(key: str, prefix: str) -> str:
    """The field that a key such as ``$setElementOrder/containers`` is about.

    Raises:
        DirectiveError: The key names no field.
    """
    directive, slash, field = key.partition("/")
    if directive != prefix or not slash:
        what = "primitive list" if prefix == DELETE_FROM_LIST else "setElementOrder list"
        raise DirectiveError(f"invalid patch format of {what}: {prefix} must be followed by / and a field")
    return field


def cleaned(value: JSONValue, *, drop_nulls: bool) -> JSONValue | Absent:
    """A value of a patch as it enters a document that does not have it yet.

    Maps with a ``$patch`` directive are left out, for there is nothing that it could act upon, and so are nulls in maps
    if asked. The value itself is returned when there is nothing to leave out.
    """
    if type(value) is dict:
        if DIRECTIVE in value:
            return ABSENT
        changed = False
        fields = {}
        for key, item in value.items():
            if type(item) is dict or type(item) is list:
                new = cleaned(item, drop_nulls=drop_nulls)
                changed = changed or new is not item
                if new is not ABSENT:
                    fields[key] = new
            elif item is None and drop_nulls:
                changed = True
            else:
                fields[key] = item
        return fields if changed else value
    if type(value) is list:
        items = [cleaned(item, drop_nulls=drop_nulls) for item in value]
        if all(new is old for new, old in zip(items, value, strict=True)):
            return value
        return [item for item in items if item is not ABSENT]
    return value


def decoded(value: JSONValue) -> JSONValue:
    """A merged document as the API server reads it: without nulls in maps, and without directives that found no field.

    Upstream leaves both behind where a patch adds a map or list that live does not have. The value itself is returned
    when there is nothing to leave out.
    """
    if type(value) is dict:
        fields = {
            key: decoded(item) if type(item) is dict or type(item) is list else item
            for key, item in value.items()
            if item is not None and not key.startswith((RETAIN_KEYS, DELETE_FROM_LIST, SET_ORDER))
        }
        if len(fields) == len(value) and all(fields[key] is item for key, item in value.items()):
            return value
        return fields
    if type(value) is list:
        items = [decoded(item) if type(item) is dict or type(item) is list else item for item in value]
        return value if all(new is old for new, old in zip(items, value, strict=True)) else items
    return value
