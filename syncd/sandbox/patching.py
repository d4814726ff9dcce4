"""The four patch types, each made into a function from an object's present state to the next."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import jsonpatch
import orjson

from syncd.merge import json_merge, schema, strategic
from syncd.merge.errors import MergeError
from syncd.sandbox import errors

if TYPE_CHECKING:
    from collections.abc import Callable

    from syncd.model import JSONObject, JSONValue
    from syncd.sandbox.kinds import ServedKind

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"

_ALL = (JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, APPLY_PATCH)
_MAX_OPERATIONS = 10_000


def media_types(kind: ServedKind) -> tuple[str, ...]:
    """The patch types that a kind accepts: strategic merge patches need Go types, which custom kinds have not."""
    if kind.custom:
        return (JSON_PATCH, MERGE_PATCH, APPLY_PATCH)
    return _ALL


class Patch(NamedTuple):
    """A patch that is no server-side apply."""

    apply: Callable[[JSONObject], JSONObject]
    """Makes an object's next state of its present one."""
    described: Callable[[JSONObject], str]
    """The value that an error names when the next state is no object of its kind."""


def read(kind: ServedKind, media_type: str, body: bytes) -> Patch:
    """Read a patch.

    Raises:
        StatusError: 400, the patch cannot be parsed; 415, the kind does not take its type.
    """
    if media_type not in media_types(kind):
        raise errors.unsupported_media_type(media_types(kind)) if kind.custom else errors.wrong_patch_type()
    if media_type == JSON_PATCH:
        return Patch(_json_patcher(body), _as_json)
    patch = _read(body)
    if not isinstance(patch, dict):
        prefix = "" if media_type == STRATEGIC_MERGE_PATCH else "error decoding patch: "
        go_type = {list: "array", str: "string", bool: "bool"}.get(type(patch), "number")
        raise errors.bad_request(
            f"{prefix}json: cannot unmarshal {go_type} into Go value of type map[string]interface {{}}"
        )
    if media_type == MERGE_PATCH:
        return Patch(lambda obj: json_merge.apply_patch(obj, patch), _as_json)
    patch_schema = schema.bundled(kind.group, kind.version, kind.kind)
    if patch_schema is None:
        raise errors.internal(f"no patch schema for {kind.group_resource}")

    def apply(obj: JSONObject) -> JSONObject:
        try:
            return strategic.apply_patch(obj, patch, patch_schema)
        except MergeError as error:
            raise errors.bad_strategic_patch(str(error)) from None

    return Patch(apply, lambda _: _as_go(patch))


def _as_json(obj: JSONObject) -> str:
    return orjson.dumps(obj).decode()


def _as_go(value: JSONValue) -> str:
    """A value as Go prints it."""
    if isinstance(value, dict):
        return f"map[{' '.join(f'{name}:{_as_go(value[name])}' for name in sorted(value))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(_as_go, value))}]"
    if value is None:
        return "<nil>"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _read(body: bytes) -> JSONValue:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise errors.bad_request(f"error decoding patch: {error}") from None


def _json_patcher(body: bytes) -> Callable[[JSONObject], JSONObject]:
    operations = _read(body)
    if not isinstance(operations, list) or not all(isinstance(operation, dict) for operation in operations):
        raise errors.bad_request(
            "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"
        )
    if len(operations) > _MAX_OPERATIONS:
        message = f"The allowed maximum operations in a JSON patch is {_MAX_OPERATIONS}, got {len(operations)}"
        raise errors.entity_too_large(message)

    def apply(obj: JSONObject) -> JSONObject:
        try:
            patched = jsonpatch.JsonPatch(operations).apply(orjson.loads(orjson.dumps(obj)), in_place=True)
        except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException, TypeError):
            raise errors.unprocessable() from None
        if not isinstance(patched, dict):
            raise errors.unprocessable()
        return patched

    return apply
