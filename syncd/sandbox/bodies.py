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

MAX_CHECKED_FOR_DUPLICATES = 16 * 1024
"""Longer bodies are looked through for duplicate fields only when the client asks for strict validation."""

_OBJECTS = (JSON, YAML, PROTOBUF)


def content_type(headers_value: str) -> str:
    """The media type of a Content-Type header, without parameters; JSON when there is none."""
    return headers_value.partition(";")[0].strip().lower() or JSON


def read_object(body: bytes, media_type: str) -> JSONObject:
    """One object.

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
    value = read_value(body, yaml=media_type == YAML)
    if not isinstance(value, dict):
        raise errors.bad_request(
            "couldn't get version/kind; json parse error: cannot unmarshal the body into an object"
        )
    return value


def read_value(body: bytes, *, yaml: bool = False) -> JSONValue:
    """Any JSON value; YAML too where ``yaml`` allows it.

    Raises:
        StatusError: 400, the body cannot be parsed.
    """
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        if not yaml:
            raise errors.bad_request(f"couldn't get version/kind; json parse error: {error}") from None
    try:
        documents = kubeyaml.load_all(body)
    except kubeyaml.YAMLError as error:
        raise errors.bad_request(f"error parsing YAML: {error.problem}") from None
    return documents[0].value if documents else None


def read_options(body: bytes, media_type: str) -> JSONObject:
    """The ``DeleteOptions`` that a deletion may carry; empty without a body."""
    return read_object(body, media_type) if body.strip() else {}


def duplicate_fields(body: bytes) -> Sequence[str]:
    """Paths of fields that a JSON body has twice, for strict and warning field validation."""
    found: list[str] = []

    def pairs(items: list[tuple[str, Any]]) -> _Fields:
        fields = _Fields()
        for name, value in items:
            if name in fields:
                fields.twice.append(name)
            fields[name] = value
        return fields

    def walk(value: Any, path: str) -> None:
        if isinstance(value, _Fields):
            found.extend(f"{path}{name}" for name in value.twice)
            for name, inner in value.items():
                walk(inner, f"{path}{name}.")
        elif isinstance(value, list):
            for index, inner in enumerate(value):
                walk(inner, f"{path[:-1]}[{index}].")

    try:
        root = json.loads(body, object_pairs_hook=pairs)
    except ValueError:
        return []  # YAML: its reader refuses duplicate keys itself
    walk(root, "")
    return found


class _Fields(dict[str, Any]):
    """An object that remembers which of its names came more than once."""

    def __init__(self) -> None:
        super().__init__()
        self.twice: list[str] = []
