"""Fields that a Sync leaves to others: those that it ignores, and those that it has given up.

An ignored field stays in last applied, so that removing it from Git removes it once it is ignored no more. A field that
was given up leaves last applied: nothing in the cluster remembers any longer that it was ever in Git.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from pydantic import TypeAdapter, ValidationError

from syncd.merge.errors import MergeError, bounded
from syncd.merge.order import go_text
from syncd.model import ABSENT, InvalidInputError, JSONObject, JSONValue
from syncd.plan.annotations import RELEASE, annotation
from syncd.spec import Pointer

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from syncd.model import Manifest, ObjectKey
    from syncd.spec import FieldRule


_POINTERS: Final = TypeAdapter(tuple[Pointer, ...])

RELEASE_PATH: Final = f"metadata.annotations[{RELEASE}]"
"""The object's own list of what is given up, as a change of it is named."""


class Release(NamedTuple):
    """What of one object is given up; all paths are JSON pointers."""

    paths: tuple[str, ...]
    """All that the Sync or the object names."""
    written: tuple[str, ...] = ()
    """Those that Git still has: they are not written."""
    leaving: tuple[str, ...] = ()
    """Those that last applied still has."""
    is_over: bool = False
    """The list on the live object names nothing that Git has, so that it can go."""

    @property
    def shown(self) -> tuple[str, ...]:
        """What people are to be told of."""
        return tuple(dict.fromkeys((*self.leaving, *self.written)))

    @property
    def message(self) -> str:
        """In a sentence, what is done when nothing else is."""
        if self.leaving:
            return f"it gives up {', '.join(self.leaving)}, which keeps the value that it has"
        return "Git no longer has what was given up, so that nothing needs to say so any more"


_NOTHING: Final = Release(())


def given_up(rules: Iterable[FieldRule], manifest: Manifest, live: JSONObject | None = None) -> Release:
    """What of a desired object is given up: by the Sync's rules, by its manifest, or by the live object.

    Raises:
        MergeError: An object's annotation does not hold what it should, or a path is no good for this object.
    """
    body = manifest.body
    ours, theirs = marked_paths(body), marked_paths(live) if live else ()
    paths = tuple(dict.fromkeys((*matching_paths(rules, manifest.key), *ours, *theirs)))
    if not paths:
        return _NOTHING
    return Release(
        paths,
        tuple(path for path in paths if without(body, (path,)) is not body),
        is_over=bool(theirs) and not ours and without(body, theirs) is body,
    )


def leaving(release: Release, original: JSONObject | None) -> Release:
    """The same, knowing what was applied last.

    Raises:
        MergeError: A path is no good for this object.
    """
    if not release.paths or original is None:
        return release
    gone = tuple(path for path in release.paths if without(original, (path,)) is not original)
    return release._replace(leaving=gone)


def matching_paths(rules: Iterable[FieldRule], key: ObjectKey) -> tuple[str, ...]:
    """The fields of one object that the rules name, as JSON pointers."""
    return tuple(path for rule in rules if rule.matches(key) for path in rule.paths)


def checked_paths(paths: Sequence[str]) -> tuple[str, ...]:
    """Paths that a person wrote.

    Raises:
        InvalidInputError: One is no JSON pointer, or to something that cannot be given up.
    """
    try:
        return _POINTERS.validate_python(tuple(paths))
    except ValidationError as error:
        raise InvalidInputError(_problem(error)) from None


def _problem(error: ValidationError) -> str:
    return error.errors()[0]["msg"].removeprefix("Value error, ")


def marked_paths(document: JSONObject) -> tuple[str, ...]:
    """The fields that an object's own annotation gives up, as JSON pointers.

    Raises:
        MergeError: The annotation does not hold what it should.
    """
    text = annotation(document, RELEASE)
    try:
        return _POINTERS.validate_json(text) if text else ()
    except ValidationError as error:
        raise MergeError(f"the annotation {RELEASE} is not a JSON list of JSON pointers: {_problem(error)}") from None


@bounded
def give_way(document: JSONObject, live: JSONObject, pointers: Iterable[str]) -> JSONObject:
    """A copy of the document in which each of these fields is what live has, or absent where live has none.

    A path that leads through something that is not there leaves the document as it is. The same object is returned when
    nothing differs.
    """
    for pointer in pointers:
        document = _given(document, live, parts(pointer))
    return document


@bounded
def without(document: JSONObject, pointers: Iterable[str]) -> JSONObject:
    """A copy of the document that has none of these fields; the same object when it had none.

    Raises:
        MergeError: A path names an item of a list by its position, which may be another item tomorrow.
    """
    for pointer in pointers:
        path = parts(pointer)
        _refuse_positions(document, path, pointer)
        document = _given(document, {}, path)
    return document


def parts(pointer: str) -> tuple[str, ...]:
    """The parts of a JSON pointer (RFC 6901, sections 3 and 4)."""
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:])


def _index(items: Sequence[JSONValue], part: str) -> int | None:
    """Which item of a list a part of a path means: a position, or ``[name=web]``, fields with their values."""
    if part.isdecimal():
        return int(part) if int(part) < len(items) else None
    wanted = [pair.partition("=") for pair in part.removeprefix("[").removesuffix("]").split(",")]
    for index, item in enumerate(items):
        if isinstance(item, dict) and all(go_text(item.get(key)) == value for key, _, value in wanted):
            return index
    return None


def _refuse_positions(value: JSONValue, path: Sequence[str], pointer: str) -> None:
    for part in path:
        if isinstance(value, list):
            if part.isdecimal():
                raise MergeError(f"{pointer}: name the item of the list by what identifies it, as in [name=web]")
            index = _index(value, part)
            value = None if index is None else value[index]
        else:
            value = value.get(part) if isinstance(value, dict) else None


def _given(value: JSONValue, live: JSONValue, path: Sequence[str]) -> JSONValue:
    if isinstance(value, dict):
        return _given_map(value, live if isinstance(live, dict) else {}, path)
    if isinstance(value, list):
        return _given_list(value, live if isinstance(live, list) else [], path)
    return value


def _given_map(value: JSONObject, live: JSONObject, path: Sequence[str]) -> JSONObject:
    head, rest = path[0], path[1:]
    old, new = value.get(head, ABSENT), live.get(head, ABSENT)
    if rest and old is ABSENT:
        new = _given_map({}, new, rest) or ABSENT if isinstance(new, dict) else ABSENT
    elif rest:
        new = _given(old, new, rest)
    if new is old:
        return value
    if new is ABSENT:
        return {key: item for key, item in value.items() if key != head}
    return {**value, head: new}


def _given_list(value: list[JSONValue], live: list[JSONValue], path: Sequence[str]) -> list[JSONValue]:
    head, rest = path[0], path[1:]
    mine, theirs = _index(value, head), _index(live, head)
    new = ABSENT if theirs is None else live[theirs]
    if mine is None:
        # An item that only live has is wanted where it is; a part of one is nothing that could be put anywhere.
        at = theirs if theirs is not None and not rest and not head.isdecimal() else None
        return value if at is None else [*value[:at], new, *value[at:]]
    item = _given(value[mine], new, rest) if rest else new
    if item is value[mine] or (item is ABSENT and head.isdecimal()):
        return value
    return [*value[:mine], *([] if item is ABSENT else [item]), *value[mine + 1 :]]
