"""Request bodies: JSON or YAML in, one JSON object out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import orjson

from syncd import kubeyaml
from syncd.sandbox import errors, protobuf
from syncd.sandbox.negotiation import JSON, PROTOBUF, YAML

if TYPE_CHECKING:
    from collections.abc import Sequence

    from syncd.model import JSONObject, JSONValue

MAX_BODY = 3 * 1024 * 1024
"""The most bytes that a request may carry."""

_SHOWN = 30
MAX_CHECKED_FOR_DUPLICATES = 16 * 1024
"""Longer bodies are looked through for duplicate fields only when the client asks for strict validation."""

_OBJECTS = (JSON, YAML, PROTOBUF)


def content_type(headers_value: str) -> str:
    """The media type of a Content-Type header, without parameters; JSON when there is none."""
    return headers_value.partition(";")[0].strip().lower() or JSON


def read_object(body: bytes, media_type: str, kind: str = "DeleteOptions") -> JSONObject:
    """One object.

    Args:
        body: The request's.
        media_type: Its type.
        kind: What is expected, for messages.

    Raises:
        StatusError: 415 for another media type, 400 for a body that is no object.
    """
    if media_type == PROTOBUF:
        try:
            return protobuf.decode(body)
        except protobuf.ProtobufError as error:
            raise errors.bad_request(str(error)) from None
    if media_type not in (JSON, YAML):
        raise errors.unsupported_media_type(_OBJECTS)
    try:
        value = _read(body, yaml=media_type == YAML)
    except ValueError as error:
        value, why = None, str(error)
    else:
        why = "json: cannot unmarshal the value into an object"
    if not isinstance(value, dict):
        start = body[:_SHOWN].decode("utf-8", "replace")
        raise errors.bad_request(
            f"the object provided is unrecognized (must be of type {kind}): couldn't get version/kind; "
            f"json parse error: {why} ({start})"
        )
    return value


def read_applied(body: bytes) -> JSONObject:
    """The configuration of a server-side apply.

    Raises:
        StatusError: 400, it is no object in YAML or JSON.
    """
    try:
        value = _read(body, yaml=True)
    except ValueError as error:
        raise errors.bad_request(f"error decoding YAML: error converting YAML to JSON: yaml: {error}") from None
    if not isinstance(value, dict):
        raise errors.bad_request("error decoding YAML: the configuration is no object")
    return value


def _read(body: bytes, *, yaml: bool) -> JSONValue:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        if not yaml:
            raise
    try:
        documents = kubeyaml.load_all(body)
    except kubeyaml.YAMLError as error:
        line = error.origin.line if error.origin else 0
        raise ValueError(f"line {line}: {error.problem}") from None
    return documents[0].value if documents else None


def read_options(body: bytes, media_type: str) -> JSONObject:
    """The ``DeleteOptions`` that a deletion may carry; empty without a body."""
    return read_object(body, media_type) if body.strip() else {}


def duplicate_fields(body: bytes) -> Sequence[str]:
    """Paths of fields that a JSON body has twice, for strict and warning field validation."""
    try:
        root = json.loads(body, object_pairs_hook=_fields)
    except ValueError:
        return []  # YAML: its reader refuses duplicate keys itself
    return _twice_in(root)


class _Fields(dict[str, Any]):
    """An object that remembers which names in it came more than once; paths from here."""

    def __init__(self) -> None:
        super().__init__()
        self.twice: list[str] = []


def _fields(items: list[tuple[str, Any]]) -> _Fields:
    fields = _Fields()
    for name, value in items:
        fields.twice += [f"{name}{'' if path[0] == '[' else '.'}{path}" for path in _twice_in(value)]
        if name in fields:
            fields.twice.append(name)
        fields[name] = value
    return fields


def _twice_in(value: Any) -> list[str]:
    if isinstance(value, _Fields):
        return value.twice
    if isinstance(value, list):
        return [
            f"[{index}]{'' if path[0] == '[' else '.'}{path}"
            for index, item in enumerate(value)
            for path in _twice_in(item)
        ]
    return []
