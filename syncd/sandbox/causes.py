"""The causes of a 422, worded as apimachinery's ``field.Error`` words them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from syncd.sandbox.kinds import Cause

if TYPE_CHECKING:
    from collections.abc import Iterable

    from syncd.model import JSONValue


class Struct(dict[str, Any]):
    """A value that is a struct in the server: its fields keep their order, those of maps are sorted."""


def quoted(value: JSONValue) -> str:
    """A value as it stands in an error: JSON, whose strings look like Go's ``%q``; floats without a useless point."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    option = None if isinstance(value, Struct) else orjson.OPT_SORT_KEYS
    return orjson.dumps(value, option=option).decode()


def _with(text: str, detail: str) -> str:
    return f"{text}: {detail}" if detail else text


def required(field: str, detail: str = "") -> Cause:
    """A field is missing."""
    return Cause(field, "FieldValueRequired", _with("Required value", detail))


def invalid(field: str, value: JSONValue, detail: str) -> Cause:
    """A value is wrong."""
    return Cause(field, "FieldValueInvalid", _with(f"Invalid value: {quoted(value)}", detail))


def type_invalid(field: str, value: JSONValue, detail: str) -> Cause:
    """A value has the wrong type."""
    return Cause(field, "FieldValueTypeInvalid", _with(f"Invalid value: {quoted(value)}", detail))


def immutable(field: str, value: JSONValue) -> Cause:
    """A field is changed that never may be."""
    return invalid(field, value, "field is immutable")


def forbidden(field: str, detail: str) -> Cause:
    """A field may not be set, or not be changed."""
    return Cause(field, "FieldValueForbidden", _with("Forbidden", detail))


def not_supported(field: str, value: JSONValue, supported: Iterable[JSONValue]) -> Cause:
    """A value is none of those that are allowed."""
    values = ", ".join(quoted(str(item) if isinstance(item, str) else quoted(item)) for item in supported)
    return Cause(field, "FieldValueNotSupported", f"Unsupported value: {quoted(value)}: supported values: {values}")


def duplicate(field: str, value: JSONValue) -> Cause:
    """A value stands twice where each may stand once."""
    return Cause(field, "FieldValueDuplicate", f"Duplicate value: {quoted(value)}")


def too_long(field: str, limit: int) -> Cause:
    """A text is longer than it may be."""
    unit = "byte" if limit == 1 else "bytes"
    return Cause(field, "FieldValueTooLong", f"Too long: may not be more than {limit} {unit}")


def too_many(field: str, actual: int, limit: int) -> Cause:
    """A list or map has more entries than it may."""
    unit = "item" if limit == 1 else "items"
    return Cause(field, "FieldValueTooMany", f"Too many: {actual}: must have at most {limit} {unit}")
