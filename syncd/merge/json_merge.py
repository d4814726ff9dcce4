"""JSON merge patch (RFC 7386): building patches out of two or three documents, and applying them.

Documents and patches are plain JSON values and are never changed; results may share values with them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.merge.errors import MergeConflictError, NotAnObjectError, PreconditionError, bounded
from syncd.merge.jsonvalue import copy, equal
from syncd.model import ABSENT

if TYPE_CHECKING:
    from syncd.model import JSONObject, JSONValue


@bounded
def two_way_patch(original: JSONObject | None, modified: JSONObject | None) -> JSONObject:
    """The patch that makes ``modified`` of ``original``; a null in ``modified`` cannot be expressed, and deletes."""
    return _difference(_object(original), _object(modified))


@bounded
def three_way_patch(original: JSONObject | None, modified: JSONObject | None, current: JSONObject | None) -> JSONObject:
    """The patch that brings ``current`` to ``modified``, deleting what ``original`` had and ``modified`` lacks.

    As kubectl builds it for custom resources: lists are replaced as a whole, and a null in ``modified`` counts only
    where ``original`` differs.

    Raises:
        MergeConflictError: What is to be deleted and what is to be set contradict each other.
        PreconditionError: The patch would change apiVersion, kind or name.
    """
    original, modified, current = _object(original), _object(modified), _object(current)
    additions = keep_or_delete_nulls(_difference(current, modified), keep=False)
    deletions = keep_or_delete_nulls(_difference(original, modified), keep=True)
    if has_conflicts(additions, deletions):
        raise MergeConflictError("what the patch deletes and what it sets contradict each other")
    patch: JSONObject = _patched(deletions, additions)
    metadata = patch.get("metadata")
    changed = [key for key in patch if key in ("apiVersion", "kind")]
    if isinstance(metadata, dict) and "name" in metadata:
        changed.append("metadata.name")
    if changed:
        raise PreconditionError(f"a patch must not change {' or '.join(changed)}")
    return patch


@bounded
def apply_patch(document: JSONValue, patch: JSONValue) -> JSONValue:
    """The document with the patch applied."""
    return copy(_patched(document, patch))


@bounded
def has_conflicts(left: JSONValue, right: JSONValue) -> bool:
    """Whether two patches set the same field to different values."""
    if type(left) is not type(right):
        return True
    if type(left) is dict:
        return any(key in right and has_conflicts(value, right[key]) for key, value in left.items())
    if type(left) is list:
        return len(left) != len(right) or any(map(has_conflicts, left, right))
    return not equal(left, right)


def keep_or_delete_nulls(patch: JSONObject, *, keep: bool) -> JSONObject:
    """A patch's nulls only, or everything but its nulls. Empty maps count as values; lists are never looked into."""
    result: JSONObject = {}
    for key, value in patch.items():
        if value is None:
            if keep:
                result[key] = None
        elif type(value) is dict and value:
            inner = keep_or_delete_nulls(value, keep=keep)
            if inner:
                result[key] = inner
        elif not keep:
            result[key] = value
    return result


def _difference(original: JSONObject, modified: JSONObject) -> JSONObject:
    patch: JSONObject = {}
    for key, new in modified.items():
        old = original.get(key, ABSENT)
        if type(old) is dict and type(new) is dict:
            inner = _difference(old, new)
            if inner:
                patch[key] = inner
        elif old is ABSENT or not equal(old, new):
            patch[key] = new
    patch.update((key, None) for key in original if key not in modified)
    return patch


def _patched(document: JSONValue, patch: JSONValue) -> JSONValue:
    if type(patch) is not dict:
        return _without_nulls(patch) if type(patch) is list else patch
    result: JSONObject = dict(document) if type(document) is dict else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = _patched(result.get(key), value)
    return result


def _without_nulls(items: list[JSONValue]) -> list[JSONValue]:
    """A list whose maps have no null fields: RFC 7386 would keep them, the API server does not."""
    return [
        _patched({}, item) if type(item) is dict else _without_nulls(item) if type(item) is list else item
        for item in items
    ]


def _object(document: JSONObject | None) -> JSONObject:
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise NotAnObjectError("a document to merge")
    return document
