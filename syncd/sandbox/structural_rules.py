"""Structural schemas of custom resources: validation, with the messages of the real server.

The words are those of kube-openapi's ``pkg/validation/errors``. Fields that an update leaves alone are not judged
again (ratcheting, as since Kubernetes 1.33). Not judged at all: CEL rules (``x-kubernetes-validations``), and patterns
that Python's ``re`` does not take.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from syncd.model import ABSENT, Absent
from syncd.sandbox import causes
from syncd.sandbox.structural_formats import FORMATS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from syncd.model import JSONObject, JSONValue
    from syncd.sandbox.kinds import Cause


def violations(
    schema: JSONObject, value: JSONValue, path: str = "", old: JSONValue | Absent = ABSENT
) -> Iterator[Cause]:
    """What is wrong with a value by its schema; ``old`` is the value that it replaces."""
    if old is not ABSENT and old == value:
        return
    if value is None and schema.get("nullable"):
        return
    wrong = _type_violation(schema, value, path)
    if wrong is not None:
        yield wrong
        return
    if "enum" in schema and not any(_same(value, item) for item in schema["enum"]):
        yield causes.not_supported(path, value, schema["enum"])
    yield from _combined(schema, value, path)
    if isinstance(value, dict):
        yield from _object(schema, value, path, old)
    elif isinstance(value, list):
        yield from _list(schema, value, path, old)
    elif isinstance(value, str):
        yield from _string(schema, value, path)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from _number(schema, value, path)


def _type_violation(schema: JSONObject, value: JSONValue, path: str) -> Cause | None:
    found = _type_of(value)
    expected = schema.get("type", "")
    if schema.get("x-kubernetes-int-or-string"):
        return None if found in ("integer", "string") else _wrong_type(path, "integer,string", found)
    if not expected or found == expected or (expected == "number" and found == "integer"):
        return None
    return _wrong_type(path, expected, found)


def _type_of(value: JSONValue) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return "integer"
    for kind, name in ((float, "number"), (str, "string"), (list, "array"), (dict, "object")):
        if isinstance(value, kind):
            return name
    return "null"


def _same(left: JSONValue, right: JSONValue) -> bool:
    return bool(left == right) and isinstance(left, bool) == isinstance(right, bool)


def _said(path: str) -> str:
    return f"{path} in body" if path else "in body"


def _wrong_type(path: str, expected: str, found: str) -> Cause:
    return causes.type_invalid(path, found, f'{_said(path)} must be of type {expected}: "{found}"')


def _invalid(path: str, value: JSONValue, words: str) -> Cause:
    return causes.invalid(path, value, f"{_said(path)} {words}")


def _combined(schema: JSONObject, value: JSONValue, path: str) -> Iterator[Cause]:
    """``allOf``, ``anyOf``, ``oneOf`` and ``not``: they restrict values, and never bring fields."""
    for inner in schema.get("allOf") or ():
        yield from violations(inner, value, path)
    any_of, one_of, negated = schema.get("anyOf"), schema.get("oneOf"), schema.get("not")
    if any_of and not schema.get("x-kubernetes-int-or-string") and not any(_fits(inner, value) for inner in any_of):
        yield causes.invalid(path, "", f'"{path}" must validate at least one schema (anyOf)')
    if one_of:
        fitting = sum(_fits(inner, value) for inner in one_of)
        if fitting != 1:
            found = "Found none valid" if not fitting else f"Found {fitting} valid alternatives"
            yield causes.invalid(path, "", f'"{path}" must validate one and only one schema (oneOf). {found}')
    if negated is not None and _fits(negated, value):
        yield causes.invalid(path, "", f'"{path}" must not validate the schema (not)')


def _fits(schema: JSONObject, value: JSONValue) -> bool:
    return next(violations(schema, value), None) is None


def _object(schema: JSONObject, value: JSONObject, path: str, old: JSONValue | Absent) -> Iterator[Cause]:
    for name in schema.get("required") or ():
        if name not in value:
            yield causes.required(f"{path}.{name}" if path else name)
    limit = schema.get("maxProperties")
    if limit is not None and len(value) > limit:
        yield causes.too_many(path, len(value), limit)
    least = schema.get("minProperties")
    if least is not None and len(value) < least:
        yield _invalid(path, len(value), f"should have at least {least} properties")
    properties, additional = schema.get("properties") or {}, schema.get("additionalProperties")
    before = old if isinstance(old, dict) else {}
    for name, item in value.items():
        inner = properties.get(name, additional)
        if isinstance(inner, dict):
            yield from violations(inner, item, f"{path}.{name}" if path else name, before.get(name, ABSENT))


def _list(schema: JSONObject, value: list[JSONValue], path: str, old: JSONValue | Absent) -> Iterator[Cause]:
    limit, least = schema.get("maxItems"), schema.get("minItems")
    if limit is not None and len(value) > limit:
        yield causes.too_many(path, len(value), limit)
    if least is not None and len(value) < least:
        yield _invalid(path, len(value), f"should have at least {least} items")
    key_of = _key_of(schema)
    before: dict[str, JSONValue] = {}
    if key_of is not None:
        seen: set[str] = set()
        for index, item in enumerate(value):
            key = key_of(item)
            if causes.quoted(key) in seen:
                yield causes.duplicate(f"{path}[{index}]", key)
            seen.add(causes.quoted(key))
        before = {causes.quoted(key_of(item)): item for item in (old if isinstance(old, list) else ())}
    items = schema.get("items")
    if not items:
        return
    for index, item in enumerate(value):
        previous = before.get(causes.quoted(key_of(item)), ABSENT) if key_of is not None else ABSENT
        yield from violations(items, item, f"{path}[{index}]", previous)


def _key_of(schema: JSONObject) -> Callable[[JSONValue], JSONValue] | None:
    """What tells the items of a set or map list apart; None for atomic lists."""
    kind = schema.get("x-kubernetes-list-type")
    if kind == "set":
        return lambda item: item
    if kind != "map":
        return None
    keys = schema.get("x-kubernetes-list-map-keys") or ()
    return lambda item: {key: item[key] for key in keys if key in item} if isinstance(item, dict) else item


def _string(schema: JSONObject, value: str, path: str) -> Iterator[Cause]:
    limit, least, pattern = schema.get("maxLength"), schema.get("minLength"), schema.get("pattern")
    if limit is not None and len(value) > limit:
        yield causes.too_long(path, limit)
    if least is not None and len(value) < least:
        yield _invalid(path, value, f"should be at least {least} chars long")
    if pattern:
        compiled = _compiled(pattern)
        if compiled is not None and not compiled.search(value):
            yield _invalid(path, value, f"should match '{pattern}'")
    check = FORMATS.get(schema.get("format", ""))
    if check is not None and not check(value):
        yield _invalid(path, value, f"must be of type {schema['format']}: {causes.quoted(value)}")


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str] | None:
    """A pattern of Go's syntax; None when Python's has no word for it."""
    try:
        return re.compile(pattern.replace(r"\z", r"\Z"))
    except re.error:
        return None


def _number(schema: JSONObject, value: float, path: str) -> Iterator[Cause]:
    most, least, factor = schema.get("maximum"), schema.get("minimum"), schema.get("multipleOf")
    if most is not None and (value > most or (value == most and schema.get("exclusiveMaximum"))):
        words = "less than" if schema.get("exclusiveMaximum") else "less than or equal to"
        yield _invalid(path, value, f"should be {words} {causes.quoted(most)}")
    if least is not None and (value < least or (value == least and schema.get("exclusiveMinimum"))):
        words = "greater than" if schema.get("exclusiveMinimum") else "greater than or equal to"
        yield _invalid(path, value, f"should be {words} {causes.quoted(least)}")
    if factor and value % factor:
        yield _invalid(path, value, f"should be a multiple of {causes.quoted(factor)}")
    bits = {"int32": 31, "int64": 63}.get(schema.get("format", ""))
    if bits and not -(2**bits) <= value < 2**bits:
        yield _invalid(path, value, f"must be of type {schema['format']}: {causes.quoted(value)}")
