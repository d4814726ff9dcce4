"""Strategic merge patch: building patches out of two or three documents, and applying them.

Documents and patches are plain JSON values and are never changed; results may share values with them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.merge import strategic_apply, strategic_conflicts, strategic_diff
from syncd.merge.errors import MergeConflictError, NotAnObjectError, bounded
from syncd.merge.jsonvalue import copy

if TYPE_CHECKING:
    from syncd.merge.schema import PatchSchema
    from syncd.model import JSONObject


@bounded
def two_way_patch(original: JSONObject | None, modified: JSONObject | None, schema: PatchSchema) -> JSONObject:
    """The patch that makes ``modified`` of ``original``.

    Raises:
        MergeError: A list that merges is malformed, or fields that differ are unknown to the schema.
    """
    return strategic_diff.diff(_object(original), _object(modified), schema, strategic_diff.EVERYTHING)


@bounded
def three_way_patch(
    original: JSONObject | None,
    modified: JSONObject | None,
    current: JSONObject | None,
    schema: PatchSchema,
    overwrite: bool = True,  # noqa: FBT001, FBT002 - upstream's parameter, kept in its place
) -> JSONObject:
    """The patch that brings ``current`` to ``modified``, deleting what ``original`` had and ``modified`` lacks.

    Args:
        original: The configuration that was applied last, None when there was none.
        modified: The configuration to apply.
        current: The live object.
        schema: How the kind's fields merge.
        overwrite: Whether changes that others made to the same fields are overwritten.

    Raises:
        MergeConflictError: Not ``overwrite``, and current was changed in a field that the patch sets differently.
        MergeError: A list that merges is malformed, or fields that differ are unknown to the schema.
    """
    original, modified, current = _object(original), _object(modified), _object(current)
    additions = strategic_diff.diff(current, modified, schema, strategic_diff.ADDITIONS)
    deletions = strategic_diff.diff(original, modified, schema, strategic_diff.DELETIONS)
    patch = strategic_apply.merge(deletions, additions, schema, carry_out=False)
    if not overwrite:
        changed = strategic_diff.diff(original, current, schema, strategic_diff.CHANGES_ONLY)
        path = strategic_conflicts.conflict(patch, changed, schema)
        if path is not None:
            error = MergeConflictError("the patch conflicts with changes made from original to current")
            error.path = path
            raise error
    return patch


@bounded
def apply_patch(document: JSONObject | None, patch: JSONObject | None, schema: PatchSchema) -> JSONObject:
    """The document with the patch applied, as the API server does it.

    Raises:
        MergeError: A directive is malformed, or contradicts the patch, or the patch does not fit the schema.
    """
    return strategic_apply.merge(copy(_object(document)), _object(patch), schema, carry_out=True)


def _object(document: JSONObject | None) -> JSONObject:
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise NotAnObjectError("a document to merge")
    return document
