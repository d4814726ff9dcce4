"""Fields that a Sync leaves to others: in what Git says and in what it said, they are taken to be as live has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.model import ABSENT, JSONObject, JSONValue, ObjectKey

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from syncd.spec import IgnoreRule


def ignored_paths(rules: Iterable[IgnoreRule], key: ObjectKey) -> tuple[tuple[str, ...], ...]:
    """The fields of one object that the rules name, as the parts of their JSON pointers."""
    return tuple(parts(path) for rule in rules if _matches(rule, key) for path in rule.paths)


def parts(pointer: str) -> tuple[str, ...]:
    """The parts of a JSON pointer (RFC 6901, sections 3 and 4)."""
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:])


def give_way(document: JSONObject, live: JSONObject, paths: Iterable[Sequence[str]]) -> JSONObject:
    """A copy of the document in which each of these fields is what live has, or absent where live has none.

    A path that leads through something that is not there leaves the document as it is.
    """
    for path in paths:
        document = _with(document, path, _get(live, path))
    return document


def _matches(rule: IgnoreRule, key: ObjectKey) -> bool:
    pairs = ((rule.group, key.group), (rule.kind, key.kind), (rule.namespace, key.namespace), (rule.name, key.name))
    return all(wanted is None or wanted == actual for wanted, actual in pairs)


def _index(container: list[JSONValue], part: str) -> int | None:
    return int(part) if part.isdecimal() and int(part) < len(container) else None


def _get(value: JSONValue, path: Sequence[str]) -> JSONValue:
    for part in path:
        if isinstance(value, dict):
            value = value.get(part, ABSENT)
        elif isinstance(value, list) and (index := _index(value, part)) is not None:
            value = value[index]
        else:
            return ABSENT
    return value


def _with(value: JSONValue, path: Sequence[str], replacement: JSONValue) -> JSONValue:
    head, rest = path[0], path[1:]
    if isinstance(value, dict):
        if not rest:
            trimmed = {key: item for key, item in value.items() if key != head}
            return trimmed if replacement is ABSENT else {**trimmed, head: replacement}
        if head in value:
            return {**value, head: _with(value[head], rest, replacement)}
        if replacement is not ABSENT:
            return {**value, head: _with({}, rest, replacement)}
    elif isinstance(value, list) and (index := _index(value, head)) is not None and replacement is not ABSENT:
        item = _with(value[index], rest, replacement) if rest else replacement
        return [*value[:index], item, *value[index + 1 :]]
    return value
