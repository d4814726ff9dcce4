"""The event loader under :mod:`syncd.kubeyaml`: documents built from libyaml's events by Kubernetes' rules."""

from __future__ import annotations

import base64
import binascii
import re
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn

import yaml
from yaml.cyaml import CParser  # type: ignore[attr-defined]  # its stub forgets to re-export CParser
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from syncd.kubescalar import INT64_LIMIT, float_key, resolve, through_json
from syncd.model import InvalidInputError, JSONValue, Origin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MAX_DEPTH: Final = 200
"""How many maps and lists may stand inside one another. Far above any real manifest, and low enough that code which
follows a document recursively cannot overflow the stack."""

_STANDARD_TAG: Final = "tag:yaml.org,2002:"


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a stream."""

    value: JSONValue
    index: int
    """Which document of the stream it is, from 1; empty documents count too."""
    line: int
    """The line of its first content, from 1."""


class YAMLError(InvalidInputError):
    """Text that Kubernetes could not read, or would read in a way that nobody meant."""

    reason = "InvalidYAML"


class ExcessiveAliasingError(YAMLError):
    """Aliases would make a document far larger than it is written."""


def _may_have(mark: bytes, data: bytes) -> bool:
    """Whether an anchor or a tag may start with this mark somewhere: at the very start, or after a space or bracket.

    In UTF-16 that space or bracket is two bytes, of which the nearer one may be zero.
    """
    place = data.find(mark)
    while place >= 0:
        if place == 0 or data[place - 1] in b" \t\r\n\x00[{,":
            return True
        place = data.find(mark, place + 1)
    return False


class _Anchored(NamedTuple):
    """The value behind an anchor, and how many nodes it is made of."""

    value: JSONValue
    nodes: int


_OPEN: Final = _Anchored(None, 0)
"""Stands for an anchor whose node is still being read."""


def _alias_share(nodes: int) -> float:
    """How much of a document of so many nodes aliases may make up: 99 %, falling to 10 % from 400,000 nodes on."""
    if nodes <= 400_000:
        return 0.99
    if nodes >= 4_000_000:
        return 0.10
    return 0.99 - 0.89 * (nodes - 400_000) / 3_600_000


def _copy(value: JSONValue) -> JSONValue:
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_copy(item) for item in value]
    return value


class Loader:
    """Builds the documents of one stream from libyaml's events.

    Plain scalars and keys are remembered for the whole stream: manifests repeat themselves, and this is where most of
    the time would go.

    Attributes:
        following: Takes the next event from the stream.
    """

    def __init__(self, data: bytes, origin: Origin) -> None:
        self._data = data
        self._origin = origin
        self.following: Callable[[], Any] = CParser(data).get_event
        self._simple = not (_may_have(b"&", data) or _may_have(b"!", data))
        """Whether there are no anchors and no tags anywhere, so that nothing need look for them."""
        self._index = 0
        self._plain: dict[str, JSONValue] = {}
        self._keys: dict[str, str] = {}
        """Keys that read as themselves: one string for each, however many objects have it."""
        self._anchors: dict[str, _Anchored] = {}
        self._nodes = 0
        self._alias_nodes = 0

    def documents(self) -> Iterator[Document]:
        """The documents that are not empty."""
        try:
            while type(event := self.following()) is not StreamEndEvent:
                if type(event) is not DocumentStartEvent:
                    continue
                self._index += 1
                self._anchors = {}
                self._nodes = self._alias_nodes = 0
                event = self.following()
                line = event.start_mark.line + 1
                value = self._node(event, MAX_DEPTH)
                if value is not None:
                    yield Document(value, self._index, line)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            raise self._error(error.problem or "does not parse", mark.line + 1 if mark else 0) from None
        except yaml.reader.ReaderError as error:
            line = self._data[: error.position].count(b"\n") + 1 if isinstance(error.position, int) else 0
            raise self._error(f"cannot be read as text: {error.reason}", line) from None

    def _node(self, event: Any, depth: int) -> JSONValue:
        """The value that starts with this event."""
        kind = type(event)
        anchor = event.anchor
        if kind is AliasEvent:
            return self._alias(event)
        self._nodes += 1
        before = self._nodes
        if anchor is not None:
            self._anchors[anchor] = _OPEN
        if kind is ScalarEvent:
            value = self._scalar(event)
        elif not depth:
            self._fail(event, f"maps and lists are nested more than {MAX_DEPTH} deep")
        elif kind is MappingStartEvent:
            value = self._mapping(depth - 1)
        else:
            value = self._sequence(depth - 1)
        if anchor is not None:
            self._anchors[anchor] = _Anchored(value, self._nodes - before + 1)
        return value

    def _sequence(self, depth: int) -> list[JSONValue]:
        following, simple = self.following, self._simple
        result: list[JSONValue] = []
        while type(event := following()) is not SequenceEndEvent:
            if simple and depth and type(event) is MappingStartEvent:
                result.append(self._mapping(depth - 1))
            else:
                result.append(self._node(event, depth))
        return result

    def _mapping(self, depth: int) -> dict[str, JSONValue]:
        following, keys, plain, mapping = self.following, self._keys, self._plain, self._mapping
        simple = self._simple and depth > 0
        result: dict[str, JSONValue] = {}
        merged: set[str] | None = None  # keys that only a << brought
        while (kind := type(event := following())) is not MappingEndEvent:
            if simple and kind is ScalarEvent and (known := keys.get(event.value)) is not None:
                key = known
            elif kind is ScalarEvent and event.value == "<<" and event.implicit[0]:
                merged = self._merge(following(), depth, result, merged or set())
                continue
            else:
                key = self.key(event)
            if key in result:
                if merged is None or key not in merged:
                    self._fail(event, f"key {key!r} appears twice in the same map")
                merged.discard(key)
            kind = type(event := following())
            if simple and kind is ScalarEvent:
                try:
                    result[key] = plain[event.value] if event.implicit[0] else event.value
                except KeyError:
                    result[key] = self._scalar(event)
            elif simple and kind is MappingStartEvent:
                result[key] = mapping(depth - 1)
            else:
                result[key] = self._node(event, depth)
        return result

    def _merge(self, event: Any, depth: int, into: dict[str, JSONValue], merged: set[str]) -> set[str]:
        """Carry out a ``<<``: of several maps the earlier one wins; a key that is there already is overridden.

        Returns:
            The keys that only a ``<<`` has brought so far.
        """
        if type(event) is SequenceStartEvent:
            maps = []
            while type(item := self.following()) is not SequenceEndEvent:
                maps.append((item, self._node(item, depth)))
        else:
            maps = [(event, self._node(event, depth))]
        for start, value in reversed(maps):
            if not isinstance(value, dict):
                self._fail(start, "<< needs a map or a list of maps")
            merged.update(key for key in value if key not in into)
            into.update(value)
        return merged

    def _alias(self, event: Any) -> JSONValue:
        """A copy of what the anchor stands for, within go-yaml's budget for aliases."""
        name = event.anchor
        anchored = self._anchors.get(name)
        if anchored is None:
            self._fail(event, f"unknown anchor {name!r}")
        if anchored is _OPEN:
            self._fail(event, f"anchor {name!r} contains itself")
        self._nodes += anchored.nodes
        self._alias_nodes += anchored.nodes
        if (
            self._alias_nodes > 100
            and self._nodes > 1000
            and self._alias_nodes > self._nodes * _alias_share(self._nodes)
        ):
            error = self._error("document contains excessive aliasing", event.start_mark.line + 1)
            raise ExcessiveAliasingError(error.problem, error.origin)
        return _copy(anchored.value)

    def _scalar(self, event: Any) -> JSONValue:
        text: str = event.value
        if event.tag is None:
            if not event.implicit[0]:
                return text
            if text in self._plain:
                return self._plain[text]
            value = resolve(text)
        else:
            value = self._typed(event)
        try:
            value = through_json(value)
        except ValueError:
            self._fail(event, f"{text} is no number that JSON has")
        if event.tag is None:
            self._plain[text] = value
        return value

    def key(self, event: Any) -> str:
        """A map's key; JSON has only strings, so other scalars are spelled out."""
        text = getattr(event, "value", None)
        if type(event) is AliasEvent:
            value = self._alias(event)
        elif type(event) is ScalarEvent:
            self._nodes += 1
            value = self._typed(event)
            if event.anchor is not None:
                self._anchors[event.anchor] = _Anchored(value, 1)
        else:
            self._fail(event, "a map or list cannot be a key")
        if isinstance(value, str):
            key = value
        elif isinstance(value, bool):
            key = "true" if value else "false"
        elif isinstance(value, int) and value < INT64_LIMIT:
            key = str(value)
        elif isinstance(value, float):
            key = float_key(value)
        else:
            self._fail(event, "null cannot be a key" if value is None else "this number is too large for a key")
        if key == text and event.implicit[0]:
            self._keys[key] = key = sys.intern(key)  # what reads as itself without quotes does so with them, too
        return key

    def _typed(self, event: Any) -> bool | float | str | None:
        """A scalar by its tag, or by its looks when it has none."""
        text: str = event.value
        if event.tag is None:
            return resolve(text) if event.implicit[0] else text
        name = event.tag.removeprefix(_STANDARD_TAG) if event.tag.startswith(_STANDARD_TAG) else ""
        if name == "binary":
            return self._binary(event)
        if name not in ("bool", "int", "float", "null", "timestamp"):
            return text
        value = resolve(text)
        if name == "timestamp":
            return text
        actual = "null" if value is None else type(value).__name__
        if name == "float" and actual == "int":
            return float(value or 0)
        if actual != name:
            self._fail(event, f"the value does not fit its tag !!{name}")
        return value

    def _binary(self, event: Any) -> str:
        try:
            data = base64.b64decode(re.sub(r"[\r\n]", "", event.value), validate=True)
        except (binascii.Error, ValueError):
            self._fail(event, "the !!binary value is not base64")
        return re.sub("[\udc80-\udcff]", "\ufffd", data.decode("utf-8", "surrogateescape"))

    def _fail(self, event: Any, problem: str) -> NoReturn:
        raise self._error(problem, event.start_mark.line + 1)

    def _error(self, problem: str, line: int) -> YAMLError:
        # libyaml finds some mistakes before the document they stand in has started; count from 1 all the same.
        return YAMLError(problem, self._origin._replace(document=max(self._index, 1), line=line))
