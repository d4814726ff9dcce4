r"""Protobuf bodies, which kubectl's typed commands (``create``, ``auth can-i``, ``drain``) send; answers are JSON.

A body is the four bytes ``k8s\0``, then a ``runtime.Unknown`` message that holds type and encoded object. Which field
has which number says ``data/wire.json``, which ``tests/unit/sandbox/core/wiretable`` prints from the Go types of
Kubernetes 1.36. Wire format: https://protobuf.dev/programming-guides/encoding/
"""

from __future__ import annotations

import base64
import json
import struct
from datetime import UTC, datetime
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from syncd.model import JSONObject

MAGIC = b"k8s\x00"
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_MAX_VARINT_BITS = 70


class ProtobufError(ValueError):
    """A body is no protobuf of a known kind."""


class _Field(NamedTuple):
    name: str
    """As in JSON; "" when the message's fields stand in the outer object."""
    type: str


@cache
def _table() -> dict[str, Any]:
    text = resources.files("syncd.sandbox").joinpath("data/wire.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


@cache
def _fields(message: str) -> dict[int, _Field]:
    found = _table()["types"][message]
    return {int(number): _Field(*said.split(":", 1)) for number, said in found.items()}


def decode(body: bytes) -> JSONObject:
    """The object of a body.

    Raises:
        ProtobufError: It cannot be read, or is of an unknown kind.
    """
    if not body.startswith(MAGIC):
        raise ProtobufError("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")
    try:
        outer = dict(_parts(body[len(MAGIC) :]))
        named = dict(_parts(_bytes(outer.get(1, b""))))
        api_version, kind = _bytes(named.get(1, b"")).decode(), _bytes(named.get(2, b"")).decode()
        message = _table()["kinds"].get(f"{api_version}/{kind}")
        if message is None:
            raise ProtobufError(f'no kind "{kind}" is registered for version "{api_version}"')
        return {"apiVersion": api_version, "kind": kind} | _message(message, _bytes(outer.get(2, b"")))
    except (IndexError, struct.error, UnicodeDecodeError) as error:
        raise ProtobufError(f"malformed protobuf: {error}") from None


def _parts(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Field numbers and raw values of a message."""
    position = 0
    while position < len(data):
        tag, position = _varint(data, position)
        wire_type = tag & 7
        value: int | bytes
        if wire_type == _VARINT:
            value, position = _varint(data, position)
        elif wire_type in (_FIXED64, _FIXED32):
            end = position + (8 if wire_type == _FIXED64 else 4)
            value, position = data[position:end], end
        elif wire_type == _BYTES:
            length, position = _varint(data, position)
            value, position = data[position : position + length], position + length
        else:
            raise ProtobufError(f"wire type {wire_type}")
        if position > len(data):
            raise ProtobufError("unexpected EOF")
        yield tag >> 3, value


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while shift < _MAX_VARINT_BITS:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
    raise ProtobufError("a number is too long")


def _bytes(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise ProtobufError("a number stands where bytes belong")
    return value


def _number(value: int | bytes) -> int:
    if not isinstance(value, int):
        raise ProtobufError("bytes stand where a number belongs")
    return value - (1 << 64) if value >= 1 << 63 else value


def _message(name: str, data: bytes) -> JSONObject:
    fields = _fields(name)
    out: JSONObject = {}
    for number, raw in _parts(data):
        field = fields.get(number)
        if field is None:
            continue
        kind, inner = field.type[0], field.type[1:]
        if kind == "@":
            out |= _message(inner, _bytes(raw))
        elif kind == "[":
            out.setdefault(field.name, []).extend(_items(inner, raw))
        elif kind == "{":
            entry = dict(_parts(_bytes(raw)))
            key = _bytes(entry.get(1, b"")).decode()
            out.setdefault(field.name, {})[key] = _value(inner, entry.get(2, b""))
        else:
            out[field.name] = _value(field.type, raw)
    return out


def _items(of: str, raw: int | bytes) -> list[Any]:
    """What one part adds to a list: one item, or all numbers of a packed list."""
    if of not in ("i", "b") or isinstance(raw, int):
        return [_value(of, raw)]
    numbers, position = [], 0
    while position < len(raw):
        number, position = _varint(raw, position)
        numbers.append(_value(of, number))
    return numbers


def _value(of: str, raw: int | bytes) -> Any:
    if of[0] == "#":
        return _message(of[1:], _bytes(raw))
    return _LEAVES[of](raw)


def _time(raw: int | bytes) -> str | None:
    parts = dict(_parts(_bytes(raw)))
    if not parts:
        return None
    time = datetime.fromtimestamp(_number(parts.get(1, 0)), UTC)
    nanos = _number(parts.get(2, 0))
    text = time.strftime("%Y-%m-%dT%H:%M:%S")
    return f"{text}.{nanos // 1000:06d}Z" if nanos else f"{text}Z"


def _duration(raw: int | bytes) -> str:
    nanoseconds = _number(dict(_parts(_bytes(raw))).get(1, 0))
    return f"{nanoseconds / 1e9:g}s"


def _quantity(raw: int | bytes) -> str:
    return _bytes(dict(_parts(_bytes(raw))).get(1, b"")).decode() or "0"


def _int_or_string(raw: int | bytes) -> int | str:
    parts = dict(_parts(_bytes(raw)))
    if _number(parts.get(1, 0)):
        return _bytes(parts.get(3, b"")).decode()
    return _number(parts.get(2, 0))


def _raw_json(raw: int | bytes) -> Any:
    text = _bytes(dict(_parts(_bytes(raw))).get(1, b""))
    return orjson.loads(text) if text else None


_LEAVES: dict[str, Callable[[int | bytes], Any]] = {
    "s": lambda raw: _bytes(raw).decode(),
    "b": lambda raw: bool(_number(raw)),
    "i": _number,
    "f": lambda raw: struct.unpack("<d", _bytes(raw))[0],
    "y": lambda raw: base64.b64encode(_bytes(raw)).decode(),
    "t": _time,
    "d": _duration,
    "q": _quantity,
    "x": _int_or_string,
    "r": _raw_json,
    "w": lambda raw: [_bytes(item).decode() for _, item in _parts(_bytes(raw))],
}
