"""YAML and JSON read the way Kubernetes reads them.

The reader is faithful to ``sigs.k8s.io/yaml`` (go-yaml v2's rules, then JSON), which kubectl uses, and stricter in one
thing: a key that appears twice in a map is an error. It is built on PyYAML's C events, because none of PyYAML's own
loaders reads scalars as Kubernetes does (dates, ``12:30``, ``y``, ``08``, ``1e3``), and all of them are slower; what is
written in the plainest way is read without them, line by line.

What differs from YAML 1.1 as PyYAML knows it:

* ``y``, ``yes``, ``on`` and their kin are booleans, also as keys (``y: 1`` is the key ``"true"``).
* ``0755``, ``0o755``, ``0b11``, ``0x1F`` and ``1_000`` are integers, ``08`` and ``1e3`` are numbers.
* Timestamps and base-60 numbers stay strings; unknown tags are ignored.
* Numbers are what they are after a round trip through JSON: ``1.0`` is the integer 1, an integer beyond int64 a float.
* A ``<<`` merge happens where it stands, so one that follows an explicit key overrides it.
* Aliases are copied, within go-yaml's limit for how much of a document they may make up.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import orjson
import yaml
from yaml.cyaml import CSafeDumper
from yaml.events import (
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from syncd.kubeblock import documents
from syncd.kubeloader import MAX_DEPTH, Document, Loader, YAMLError
from syncd.kubescalar import INT64_LIMIT, json_number, resolve
from syncd.model import JSONValue, Origin

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["MAX_DEPTH", "Document", "YAMLError", "dump", "line_of", "load_all"]

_UTF8_BOM: Final = b"\xef\xbb\xbf"


def load_all(data: bytes, origin: Origin = Origin()) -> list[Document]:  # noqa: B008 - Origin is immutable
    """Read every document of a YAML stream, or one JSON document.

    Empty documents are left out; the indexes of the others count them.

    Args:
        data: UTF-8 text (UTF-16 with a byte order mark is understood too).
        origin: Where the data is from; errors carry it, with document and line filled in.

    Raises:
        YAMLError: It does not parse, repeats a key, uses too many aliases, or nests deeper than ``MAX_DEPTH``.
    """
    text = data.removeprefix(_UTF8_BOM)
    if text.lstrip()[:1] in (b"{", b"["):
        value = _load_json(text)
        if value is not _NOT_JSON:
            return [Document(value, 1, text[: len(text) - len(text.lstrip())].count(b"\n") + 1)]
    return list(documents(text, origin))


# --- JSON ----------------------------------------------------------------------------------------------------------

_NOT_JSON: Final = object()
_JSON_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?', re.DOTALL)


def _load_json(data: bytes) -> JSONValue:
    """Read one JSON document, or answer ``_NOT_JSON`` when the slower and more exact YAML reader must judge it.

    A repeated key is found by counting: in valid JSON, keys are the strings that a colon follows.
    """
    try:
        value = orjson.loads(data)
        value, keys = _normalised(value, MAX_DEPTH)
    except (orjson.JSONDecodeError, RecursionError):
        return _NOT_JSON
    if keys != sum(1 for colon in _JSON_STRING.findall(data) if colon):
        return _NOT_JSON
    return value


def _normalised(value: JSONValue, depth: int) -> tuple[JSONValue, int]:
    """The value with its numbers as Kubernetes has them, changed in place, and how many keys its maps have together."""
    if isinstance(value, dict | list):
        if not depth:
            raise RecursionError
        keys = len(value) if isinstance(value, dict) else 0
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            if not isinstance(item, str):
                value[key], inside = _normalised(item, depth - 1)
                keys += inside
        return value, keys
    if isinstance(value, float) or (type(value) is int and not -INT64_LIMIT <= value < INT64_LIMIT):
        return json_number(value), 0
    return value, 0


# --- where a field stands ------------------------------------------------------------------------------------------


def line_of(data: bytes, document: int, path: Sequence[str | int]) -> int:
    """The line, from 1, at which a field of a document stands, or its nearest parent that is there.

    Meant for error messages: it reads the text once more.

    Args:
        data: The text, as :func:`load_all` takes it.
        document: The document's index, from 1.
        path: Map keys, as in the value that was read, and list indexes.

    Returns:
        The line, or 0 when the text has no such document or does not parse.
    """
    loader = _Locator(data.removeprefix(_UTF8_BOM), tuple(path))
    try:
        return loader.line(document)
    except (yaml.YAMLError, YAMLError):
        return 0


class _Locator(Loader):
    """A loader that remembers the line of the wanted field instead of the values."""

    def __init__(self, data: bytes, path: tuple[str | int, ...]) -> None:
        super().__init__(data, Origin())
        self._path = path

    def line(self, document: int) -> int:
        """The line of the field in the document of that index."""
        index = 0
        while type(event := self.following()) is not StreamEndEvent:
            if type(event) is DocumentStartEvent:
                index += 1
                event = self.following()
                if index == document:
                    return self._line(event)
        return 0

    def _line(self, event: Any) -> int:
        """Follow the path down from this node; the line of the last node that was found."""
        line: int = event.start_mark.line + 1
        for part in self._path:
            found = self._child(event, part)
            if found is None:
                break
            line, event = found
        return line

    def _child(self, parent: Any, part: str | int) -> tuple[int, Any] | None:
        """The line and first event of a part of this map or list."""
        if type(parent) is MappingStartEvent and isinstance(part, str):
            while type(event := self.following()) is not MappingEndEvent:
                key = event.value if type(event) is ScalarEvent and event.value == "<<" else self.key(event)
                value = self.following()
                if key == part:
                    return event.start_mark.line + 1, value
                self._skip(value)
        elif type(parent) is SequenceStartEvent and isinstance(part, int):
            index = 0
            while type(event := self.following()) is not SequenceEndEvent:
                if index == part:
                    return event.start_mark.line + 1, event
                self._skip(event)
                index += 1
        return None

    def _skip(self, event: Any) -> None:
        depth = 0
        while True:
            if type(event) in (MappingStartEvent, SequenceStartEvent):
                depth += 1
            elif type(event) in (MappingEndEvent, SequenceEndEvent):
                depth -= 1
            if not depth:
                return
            event = self.following()


# --- writing -------------------------------------------------------------------------------------------------------


class _Dumper(CSafeDumper):
    """Quotes what Kubernetes would not read back as a string, and writes texts of several lines as such."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - the base class's signature
        return True


def _represent_string(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    style = None
    if "\n" in text:
        style = "|"
    elif not isinstance(resolve(text), str) or text == "<<":
        style = "'"
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_string)


def dump(value: JSONValue) -> str:
    """Readable YAML in block style, keys in the order given, that :func:`load_all` reads back as the same value."""
    text: str = yaml.dump(
        value, Dumper=_Dumper, default_flow_style=False, sort_keys=False, allow_unicode=True, width=120
    )
    return text.removesuffix("...\n")
