"""OpenAPI v2 in protobuf, the only form that kubectl asks for: it reads Lists and kinds that are not served with it.

The messages are those of gnostic's ``OpenAPIv2.proto``; what kubectl reads of them is written: definitions with types,
references, properties, and the extensions that begin with ``x-kubernetes-``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from collections.abc import Iterable

    from syncd.model import JSONObject

MEDIA_TYPE = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
ACCEPTED = ("application/com.github.proto-openapi.spec.v2@v1.0+protobuf", MEDIA_TYPE)

_BYTES = 2


def encode(document: JSONObject) -> bytes:
    """A document, from its JSON form."""
    info = _text(1, document["info"]["title"]) + _text(2, document["info"]["version"])
    definitions = b"".join(
        _part(1, _text(1, name) + _part(2, _schema(schema))) for name, schema in document["definitions"].items()
    )
    return _text(1, document["swagger"]) + _part(2, info) + _part(8, b"") + _part(9, definitions)


def _schema(schema: JSONObject) -> bytes:
    out = [
        _text(1, schema.get("$ref", "")),
        _text(2, schema.get("format", "")),
        _text(4, schema.get("description", "")),
    ]
    out += [_text(19, name) for name in schema.get("required", ())]
    extra = schema.get("additionalProperties")
    if isinstance(extra, dict):
        out.append(_part(21, _part(1, _schema(extra))))
    elif extra is True:
        out.append(_part(21, _number(2, 1)))
    if isinstance(schema.get("type"), str):
        out.append(_part(22, _text(1, schema["type"])))
    if isinstance(schema.get("items"), dict):
        out.append(_part(23, _part(1, _schema(schema["items"]))))
    if schema.get("properties"):
        out.append(_part(25, _properties(schema["properties"].items())))
    out += [_extension(name, value) for name, value in schema.items() if name.startswith("x-kubernetes-")]
    return b"".join(out)


def _properties(fields: Iterable[tuple[str, JSONObject]]) -> bytes:
    return b"".join(_part(1, _text(1, name) + _part(2, _schema(schema))) for name, schema in fields)


def _extension(name: str, value: Any) -> bytes:
    """An extension's value stands as YAML; JSON is YAML."""
    return _part(31, _text(1, name) + _part(2, _text(2, orjson.dumps(value).decode())))


def _text(number: int, value: str) -> bytes:
    return _part(number, value.encode()) if value else b""


def _part(number: int, value: bytes) -> bytes:
    return _varint(number << 3 | _BYTES) + _varint(len(value)) + value


def _number(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
