"""The decision what to send to the API server for one object, and what will come of it.

See docs/decisions/0003-merge.md for why there are three ways to write.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from syncd.merge import json_merge, last_applied, managed, strategic, three_way
from syncd.merge.align import aligned, with_losers
from syncd.merge.covered import covered
from syncd.merge.diff import changes
from syncd.merge.directives import decoded
from syncd.merge.errors import FieldTypeError, MergeError, UnknownFieldError, bounded
from syncd.merge.jsonvalue import equal
from syncd.merge.rules import Guide, Mode, UserRule, repeats_keys
from syncd.merge.schema import ANYTHING, PatchSchema, Shape
from syncd.model import SERVER_METADATA, FieldChange, Write, WriteMethod

if TYPE_CHECKING:
    from collections.abc import Sequence

    from syncd.model import JSONObject

FIELD_MANAGER: Final = "syncd"


class Merge(NamedTuple):
    """What to send, and what will come of it."""

    write: Write | None
    """The request; None when live is already as it should be."""
    merged: JSONObject
    """The object as it will be, before the server fills in defaults; live itself when there is nothing to send."""
    changes: tuple[FieldChange, ...]
    """What changes, from live to merged, without the last-applied annotation; not masked."""


def merge(
    *,
    original: JSONObject | None,
    modified: JSONObject,
    live: JSONObject,
    schema: PatchSchema | None,
    rules: Sequence[UserRule] = (),
) -> Merge:
    """Decide how to bring a live object to what is desired.

    Args:
        original: The configuration that was applied last; None when there is none, and then nothing is deleted.
        modified: The desired object, with owner marks and last-applied annotation written in.
        live: The object as the API server has it, in the version of ``modified``.
        schema: The schema of the kind in that version; None when nothing is known of it.
        rules: How the user wants certain lists to merge.

    Raises:
        MergeError: The documents cannot be merged; names the object, the field and the rule.
    """
    try:
        return _merge(original, modified, live, schema or ANYTHING, rules)
    except MergeError as error:
        error.about = _name(modified)
        raise


@bounded
def _merge(
    original: JSONObject | None,
    modified: JSONObject,
    live: JSONObject,
    schema: PatchSchema,
    rules: Sequence[UserRule],
) -> Merge:
    modified = _ours(modified, schema)
    if (
        not rules
        and _applied_before(modified, live)
        and covered(modified, live, schema, strategic=schema.accepts_strategic)
    ):
        return Merge(None, live, ())
    if original is None:  # a large object's last configuration is what it was applied with server-side
        original = managed.owned(live, FIELD_MANAGER)
    former = _known(_ours(original, schema), modified, schema) if original else {}
    if last_applied.fits(modified):
        modified = aligned(former, modified, live, schema)
        write, merged = _patch(former, modified, live, schema, rules)
    else:
        write, merged = _server_side(former, modified, live, schema, rules)
    if equal(merged, live) or equal(merged, decoded(live)):
        return Merge(None, live, ())
    return Merge(write, merged, changes(live, merged, schema, rules))


def _patch(
    former: JSONObject, modified: JSONObject, live: JSONObject, schema: PatchSchema, rules: Sequence[UserRule]
) -> tuple[Write, JSONObject]:
    """A strategic merge patch where the server takes one and it loses nothing, else a JSON merge patch."""
    damaged = any(repeats_keys(document, schema) for document in (former, modified, live))
    if schema.accepts_strategic and not rules and not damaged:
        try:
            former = with_losers(former, modified, live, schema)
            patch = strategic.three_way_patch(former, modified, live, schema)
            return Write(WriteMethod.STRATEGIC_MERGE_PATCH, patch), decoded(strategic.apply_patch(live, patch, schema))
        except (UnknownFieldError, FieldTypeError):
            pass  # the schema ends in maps that strategic merge cannot follow, a CRD's for one; kubectl does the same
    merged = three_way.merge(former, modified, live, Guide(schema, rules))
    patch = json_merge.two_way_patch(live, merged)
    if version := _version(live):
        patch["metadata"] = {**patch.get("metadata", {}), **version}
    return Write(WriteMethod.JSON_MERGE_PATCH, patch), merged


def _version(live: JSONObject) -> JSONObject:
    """The precondition of a patch that must not meet anything else than what was read."""
    version = live.get("metadata", {}).get("resourceVersion")
    return {"resourceVersion": version} if version else {}


def _server_side(
    former: JSONObject, modified: JSONObject, live: JSONObject, schema: PatchSchema, rules: Sequence[UserRule]
) -> tuple[Write, JSONObject]:
    """A server-side apply, for an object that is too large to carry its last-applied annotation.

    What it deletes is what syncd has applied this way before; the API server remembers that.
    """
    body = json_merge.apply_patch({}, last_applied.without(modified))
    bare = last_applied.without(live)
    former = managed.owned(live, FIELD_MANAGER) or former
    merged = three_way.merge(former, body, bare, Guide(schema, rules, Mode.DECLARED))
    fields = managed.migrated(live, FIELD_MANAGER)
    if fields is None and bare is live:
        return Write(WriteMethod.SERVER_SIDE_APPLY, body), merged
    # The first of two writes: the server gets to know what was applied, and the annotation goes before it is stale.
    metadata = {"managedFields": fields} if fields is not None else {}
    patch = {"metadata": {**metadata, "annotations": {last_applied.ANNOTATION: None}, **_version(live)}}
    return Write(WriteMethod.JSON_MERGE_PATCH, patch), merged


def _applied_before(modified: JSONObject, live: JSONObject) -> bool:
    """Whether this very configuration was the last that was applied, so that it has nothing to delete."""
    text = last_applied.text_of(modified)
    return text is not None and text == last_applied.text_of(live)


def _ours(document: JSONObject, schema: PatchSchema) -> JSONObject:
    """A configuration without what only the server writes: its metadata, and status where that is written apart."""
    document = last_applied.folded(document)
    if "status" in document and (schema.has_status or schema.shape is Shape.ANY):
        document = {key: value for key, value in document.items() if key != "status"}
    metadata = document.get("metadata")
    if isinstance(metadata, dict) and not SERVER_METADATA.isdisjoint(metadata):
        metadata = {key: value for key, value in metadata.items() if key not in SERVER_METADATA}
        document = {**document, "metadata": metadata}
    return document


def _known(original: JSONObject, modified: JSONObject, schema: PatchSchema) -> JSONObject:
    """What was applied last, without what the desired version of the kind does not have under that name.

    When a kind's new version renames a field, the old name is nothing to delete: the server has converted it.
    """
    if original.get("apiVersion") == modified.get("apiVersion"):
        return original
    return _known_fields(original, schema)


def _known_fields(document: JSONObject, schema: PatchSchema) -> JSONObject:
    result = {}
    for key, value in document.items():
        field = schema.field(key)
        if field is not None:
            result[key] = _known_fields(value, field.schema) if isinstance(value, dict) else value
    return result


def _name(document: JSONObject) -> str:
    metadata = document.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    name = "/".join(str(metadata[key]) for key in ("namespace", "name") if metadata.get(key))
    return f"{document.get('kind', 'object')} {name}"
