"""Built-in kinds, read and written the way the server's Go types do it.

A server decodes what it gets into typed structs and writes those out again. So fields that no struct has are dropped
(and reported, for strict field validation), a wrong type is an error, empty optional fields vanish, a few empty fields
appear (``resources: {}``), and quantities take their canonical form. All of it follows from one table,
``data/types.json``, which ``tests/unit/sandbox/behaviour/typetable`` prints from the Go types of Kubernetes 1.36.3:
for each struct its fields, each as flags (``?`` omitempty, ``!`` omitzero, ``*`` pointer) and a type (``[`` list of,
``{`` map to, ``#`` struct, or one letter).
"""

from __future__ import annotations

import json
import re
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from syncd.sandbox import quantity
from syncd.sandbox.errors import StatusError, bad_request

if TYPE_CHECKING:
    from collections.abc import Sequence

    from syncd.model import JSONObject, JSONValue
    from syncd.sandbox.kinds import ServedKind

_GO_NAMES = {
    "s": "string",
    "b": "bool",
    "i": "int32",
    "l": "int64",
    "n": "uint16",
    "f": "float64",
    "y": "[]uint8",
}
_ZEROS: dict[str, JSONValue] = {
    "s": "",
    "b": False,
    "i": 0,
    "l": 0,
    "n": 0,
    "f": 0,
    "x": 0,
    "q": "0",
    "t": None,
    "r": None,
    "y": None,
    "[": None,
    "{": None,
}
_NOT_BASE64 = re.compile(r"[^A-Za-z0-9+/\n\r=]|=(?=[^=])")
_BITS = {"i": 31, "l": 63, "n": 16}
_DROP: Final = object()


class Shape(NamedTuple):
    """The type of a field, list item or map value."""

    letter: str
    """``[`` list, ``{`` map, ``#`` struct, or a letter of :data:`_GO_NAMES` or ``q x t r``."""
    pointer: bool = False
    omit_empty: bool = False
    omit_zero: bool = False
    inner: Shape | None = None
    """Of a list or map: what it holds."""
    struct: str = ""
    """Of a struct: its name, such as ``core.v1.Container``."""

    @property
    def go_name(self) -> str:
        """The type as Go's error messages write it: ``[]v1.Container``."""
        if self.letter == "#":
            return self.struct.split(".", 1)[1]
        if self.inner is not None:
            return ("[]" if self.letter == "[" else "map[string]") + self.inner.go_name
        return _GO_NAMES.get(self.letter, "string")


class Struct(NamedTuple):
    """A struct of the server's API packages."""

    name: str
    fields: dict[str, Shape]
    always: tuple[str, ...]
    """Fields that are written even when they are empty."""

    def held(self, field: str) -> Struct:
        """The struct that a field holds."""
        return struct(self.fields[field].struct)


class Decoded(NamedTuple):
    """An object as the server understood it."""

    object: JSONObject
    unknown: tuple[str, ...]
    """Paths of fields that it does not know, and has dropped."""


@cache
def _table() -> dict[str, dict[str, Any]]:
    text = resources.files("syncd.sandbox").joinpath("data/types.json").read_text(encoding="utf-8")
    loaded: dict[str, dict[str, Any]] = json.loads(text)
    return loaded


@cache
def struct(name: str) -> Struct:
    """The struct of this name.

    Raises:
        KeyError: There is none.
    """
    fields = {field: _shape(text) for field, text in _table()["types"][name].items()}
    always = tuple(field for field, shape in fields.items() if _always_there(shape))
    return Struct(name, fields, always)


def struct_of(kind: ServedKind) -> Struct | None:
    """The struct of a built-in kind; None for custom kinds."""
    name = _table()["kinds"].get(f"{kind.api_version}/{kind.kind}")
    return struct(name) if name and not kind.custom else None


def _shape(text: str) -> Shape:
    flags = text[: len(text) - len(text.lstrip("?!*"))]
    rest = text[len(flags) :]
    inner = _shape(rest[1:]) if rest[0] in "[{" else None
    return Shape(rest[0], "*" in flags, "?" in flags, "!" in flags, inner, rest[1:] if rest[0] == "#" else "")


def _always_there(shape: Shape) -> bool:
    if shape.omit_zero:
        return False
    return not shape.omit_empty or (shape.letter in "#qtx" and not shape.pointer)


def decode(kind: ServedKind, obj: JSONObject) -> Decoded:
    """Read an object as the server does; an object of a custom kind is handed back as it is.

    Raises:
        StatusError: 400: a field has the wrong type; the message is that of Go's JSON decoder.
    """
    found = struct_of(kind)
    if found is None:
        return Decoded(obj, ())
    reader = _Reader()
    try:
        value = reader.struct(found, obj)
    except (_WrongTypeError, quantity.QuantityError) as error:
        raise cannot_be_handled(kind, str(error)) from None
    return Decoded(value, tuple(reader.unknown))


def canonical(kind: ServedKind, field: str, value: JSONObject) -> JSONObject:
    """One field of a built-in kind, a struct such as ``status``, in the form that it is stored in.

    Raises:
        KeyError: The kind is not built in, or has no such field.
    """
    return _Reader((field,)).struct(struct(_table()["kinds"][f"{kind.api_version}/{kind.kind}"]).held(field), value)


@cache
def empty(kind: ServedKind) -> JSONObject:
    """The fields that an object of a built-in kind has before anybody says anything. Never to be changed in place."""
    return decode(kind, {}).object


def decode_metadata(kind: ServedKind, obj: JSONObject) -> Decoded:
    """Read the metadata of an object of any kind as the server does, and leave the rest.

    Raises:
        StatusError: 400: a field of it has the wrong type.
    """
    reader = _Reader(("metadata",))
    try:
        metadata = reader.struct(struct("meta.v1.ObjectMeta"), obj.get("metadata"))
    except _WrongTypeError as error:
        raise cannot_be_handled(kind, str(error)) from None
    return Decoded(obj | {"metadata": metadata}, tuple(reader.unknown))


def cannot_be_handled(kind: ServedKind, why: str) -> StatusError:
    """400: the body cannot be read as this kind."""
    return bad_request(f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: {why}')


class _WrongTypeError(Exception):
    pass


class _Reader:
    """One walk through one object; knows where it is, for messages."""

    def __init__(self, start: Sequence[str] = ()) -> None:
        self.unknown: list[str] = []
        self._path = [f".{name}" for name in start]
        self._go_path = list(start)
        self._in_struct = ""

    def struct(self, of: Struct, value: JSONObject | None) -> JSONObject:
        outer, self._in_struct = self._in_struct, of.name
        out: JSONObject = {}
        for name, item in (value or {}).items():
            shape = of.fields.get(name)
            self._path.append(f".{name}")
            if shape is None:
                self.unknown.append("".join(self._path)[1:])
            else:
                self._go_path.append(name)
                read = self._field(shape, item)
                self._go_path.pop()
                if read is not _DROP:
                    out[name] = read
            self._path.pop()
        for name in of.always:
            if name not in out:
                out[name] = self._zero(of.fields[name])
        self._in_struct = outer
        return out

    def _field(self, shape: Shape, value: JSONValue) -> JSONValue:
        if value is None:
            return _DROP if shape.omit_empty or shape.omit_zero else self._zero(shape)
        read = self._value(shape, value)
        if shape.pointer:
            return read
        if shape.letter in "[{" and not read:
            return _DROP if shape.omit_empty else None
        if shape.omit_zero and not read:
            return _DROP
        if shape.omit_empty and shape.letter not in "#qtxr" and read == _ZEROS[shape.letter]:
            return _DROP
        return read

    def _zero(self, shape: Shape) -> JSONValue:
        if shape.letter == "#" and not shape.pointer:
            return self.struct(struct(shape.struct), None)
        return None if shape.pointer else _ZEROS[shape.letter]

    def _value(self, shape: Shape, value: JSONValue) -> JSONValue:
        if shape.letter == "#":
            if not isinstance(value, dict):
                raise self._wrong(shape, value)
            return self.struct(struct(shape.struct), value)
        if shape.letter == "[":
            return self._list(shape, value)
        if shape.letter == "{":
            return self._map(shape, value)
        return self._leaf(shape, value)

    def _list(self, shape: Shape, value: JSONValue) -> JSONValue:
        if not isinstance(value, list) or shape.inner is None:
            raise self._wrong(shape, value)
        out = []
        for index, item in enumerate(value):
            self._path.append(f"[{index}]")
            out.append(self._zero(shape.inner) if item is None else self._value(shape.inner, item))
            self._path.pop()
        return out

    def _map(self, shape: Shape, value: JSONValue) -> JSONValue:
        if not isinstance(value, dict) or shape.inner is None:
            raise self._wrong(shape, value)
        out = {}
        for key, item in value.items():
            self._path.append(f".{key}")
            out[key] = self._map_zero(shape.inner) if item is None else self._value(shape.inner, item)
            self._path.pop()
        return out

    def _map_zero(self, shape: Shape) -> JSONValue:
        return "" if shape.letter == "y" else self._zero(shape)

    def _leaf(self, shape: Shape, value: JSONValue) -> JSONValue:
        letter = shape.letter
        if letter == "r":
            return value
        if letter == "q":
            if isinstance(value, bool) or not isinstance(value, str | int | float):
                raise self._wrong(shape, value)
            return quantity.canonical(str(value))
        if letter == "y":
            return self._bytes(shape, value)
        if letter == "b":
            fits = isinstance(value, bool)
        elif letter in _BITS:
            fits = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2 ** _BITS[letter]
        elif letter == "f":
            fits = isinstance(value, int | float) and not isinstance(value, bool)
        elif letter == "x":
            fits = isinstance(value, int | str) and not isinstance(value, bool)
        else:
            fits = isinstance(value, str)
        if not fits:
            raise self._wrong(shape, value)
        return value

    def _bytes(self, shape: Shape, value: JSONValue) -> str:
        """Bytes are base64; where they stop to be, as Go counts it."""
        if not isinstance(value, str):
            raise self._wrong(shape, value)
        wrong = _NOT_BASE64.search(value)
        if wrong is not None or len(value) % 4:
            place = wrong.start() if wrong is not None else len(value) - len(value) % 4
            raise _WrongTypeError(f"illegal base64 data at input byte {place}")
        return value

    def _wrong(self, shape: Shape, value: JSONValue) -> _WrongTypeError:
        field = f"{self._in_struct.rpartition('.')[2]}.{'.'.join(self._go_path)}"
        return _WrongTypeError(
            f"json: cannot unmarshal {_said(shape, value)} into Go struct field {field} of type {shape.go_name}"
        )


def _said(shape: Shape, value: JSONValue) -> str:
    """What Go's decoder calls a JSON value: numbers that miss a number type are shown, others only named."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return f"number {value}" if shape.letter in ("i", "l", "n") else "number"
    return "string" if isinstance(value, str) else "array" if isinstance(value, list) else "object"
