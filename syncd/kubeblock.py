"""The plain form of YAML that nearly all manifests are written in, read line by line.

libyaml parses quickly, but hands each key and each value to Python as an event of its own, and that takes most of the
time. Here a line that a stream repeats is taken apart once, and documents are put together of the parts.

Only what can be read in one way is read here: maps and lists in block style, and on one line each plain scalars and
quoted ones without escapes, in printable ASCII. Whatever else a document has (anchors, tags, flow style, texts of
several lines, comments behind values, keys that repeat, any mistake) sends all of it to :mod:`syncd.kubeloader`, which
is the judge of everything; tests compare the two.
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from syncd.kubeloader import Document, Loader, YAMLError
from syncd.kubescalar import resolve, through_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from syncd.model import JSONObject, JSONValue, Origin

_MARK: Final = b"\n---"
"""Ends a document wherever it stands, even inside a text of several lines."""
_UNUSUAL: Final = (b"\n...", b"\n%", b"\r", b"\0")
_UNUSUAL_BEYOND_ASCII: Final = (b"\xc2\x85", b"\xe2\x80\xa8", b"\xe2\x80\xa9", b"\xef\xbb\xbf", b"\xfe", b"\xff")
"""What makes it doubtful where lines and documents begin: other marks, directives, other line breaks and encodings."""
_PLAIN_BYTES: Final = b"\n" + bytes(range(0x20, 0x7F))

_LINE: Final = re.compile(r"( *)((?:-(?: +|$))*)(?:([A-Za-z_][A-Za-z0-9_./-]{0,199}):(?: +|$))?(.*)")
_PLAIN: Final = re.compile(r"-*[A-Za-z0-9_/.].*")
"""How a plain scalar begins, as far as is read here."""
_QUOTED: Final = re.compile(r"""'([^']*)'|"([^"\\]*)\"""")
_REMEMBERED: Final = 4096
"""How many lines are remembered."""
_FEW: Final = 3
"""So many documents that are not read here say nothing of the others yet."""
_WIDEST: Final = 100
"""Columns beyond this are left to the other reader: each level takes one, so that this bounds the depth."""


class _OddError(Exception):
    """Something that is not read here."""


class _Piece(NamedTuple):
    """A dash, a key with what stands behind it, or a scalar in a list."""

    column: int
    kind: int
    key: str = ""
    value: Any = None
    """The value; or a type, of which the value is a new one; or :class:`_Below`."""


class _Below:
    """In place of a value: it stands on the lines that follow, or is null."""


_END, _DASH, _KEY, _SCALAR = range(4)
_LAST: Final = _Piece(-1, _END)


def documents(data: bytes, origin: Origin) -> Iterable[Document]:
    """The documents of a stream that are not empty, as :class:`~syncd.kubeloader.Loader` reads them.

    Raises:
        YAMLError: It does not parse, repeats a key, uses too many aliases, or nests too deep.
    """
    try:
        return list(_each(_chunks(data), origin))
    except (YAMLError, _OddError):
        return Loader(data, origin).documents()  # which knows where in the whole stream a mistake is


def _chunks(data: bytes) -> list[bytes]:
    """The stream cut at its marks; each part but the first begins with what follows the mark on its line, blanks.

    The first one begins with an empty line, unless the stream begins with a mark.
    """
    lines = b"\n" + data
    if any(mark in lines for mark in _UNUSUAL):
        raise _OddError
    if not data.isascii() and any(mark in data for mark in _UNUSUAL_BEYOND_ASCII):
        raise _OddError
    chunks = lines.split(_MARK)
    if any(chunk.partition(b"\n")[0].strip(b" ") for chunk in chunks):
        raise _OddError
    return chunks


def _each(chunks: list[bytes], origin: Origin) -> Iterator[Document]:
    reader = _Reader()
    index = above = odd = 0
    for number, chunk in enumerate(chunks):
        try:
            found = reader.read(chunk)
        except _OddError:
            odd += 1
            if odd > _FEW and odd * 4 > number:
                raise  # one parser for all of the stream is quicker then
            whole = chunk if number == len(chunks) - 1 else chunk + b"\n"  # the line break before the mark
            found = _read_by_events(whole, origin, may_be_empty=number > 0)
        if found is not None or number > 0:  # before the first mark there is a document only if there is something
            index += 1
        if found is not None:
            yield Document(found.value, index, above + found.line - 1)
        above += chunk.count(b"\n") + 1


def _read_by_events(chunk: bytes, origin: Origin, *, may_be_empty: bool) -> Document | None:
    found = list(Loader(chunk, origin).documents())
    if len(found) > 1 or not (found or may_be_empty):
        raise _OddError
    return found[0] if found else None


class _Reader:
    """Reads the documents of one stream, and remembers its lines."""

    def __init__(self) -> None:
        self._lines: dict[str, tuple[_Piece, ...]] = {}
        self._pieces: list[_Piece] = []
        self._at = 0

    def read(self, chunk: bytes) -> Document | None:
        """The one document in a part of the stream; None when there is nothing but comments."""
        if chunk.translate(None, _PLAIN_BYTES):
            raise _OddError
        first = self._take_apart(chunk.decode("ascii").split("\n"))
        if not self._pieces:
            return None
        if self._pieces[0].kind == _SCALAR:
            raise _OddError
        self._pieces.append(_LAST)
        self._at = 0
        value = self._node()
        if self._pieces[self._at] is not _LAST:
            raise _OddError
        return Document(value, 1, first)

    def _take_apart(self, lines: list[str]) -> int:
        """Find the pieces of all lines; the number of the first line that has any, from 1."""
        known = self._lines
        pieces: list[_Piece] = []
        first = 0
        for number, line in enumerate(lines, 1):
            parts = known.get(line)
            if parts is None:
                if len(known) >= _REMEMBERED:
                    known.clear()
                parts = known[line] = _parts(line)
            if parts:
                first = first or number
                pieces += parts
        self._pieces = pieces
        return first

    def _node(self) -> JSONValue:
        piece = self._pieces[self._at]
        if piece.kind == _KEY:
            return self._mapping(piece.column)
        if piece.kind == _DASH:
            return self._sequence(piece.column)
        self._at += 1
        return _made(piece.value)

    def _mapping(self, column: int) -> JSONObject:
        pieces = self._pieces
        result: JSONObject = {}
        while True:
            place, kind, key, value = pieces[self._at]
            if place < column:
                return result
            if place > column or kind != _KEY or key in result:
                raise _OddError
            self._at += 1
            if value is _Below:
                place, kind, _, _ = pieces[self._at]
                value = None
                if place > column:
                    value = self._node()
                elif place == column and kind == _DASH:
                    value = self._sequence(column)
            result[key] = _made(value)

    def _sequence(self, column: int) -> list[JSONValue]:
        pieces = self._pieces
        result: list[JSONValue] = []
        while True:
            place, kind, _, _ = pieces[self._at]
            if place < column or (place == column and kind == _KEY):
                return result
            if place > column or kind != _DASH:
                raise _OddError
            self._at += 1
            result.append(self._node() if pieces[self._at].column > column else None)


def _made(value: Any) -> JSONValue:
    return value() if type(value) is type else value


def _parts(line: str) -> tuple[_Piece, ...]:
    """Take a line apart."""
    match = _LINE.match(line)
    assert match is not None  # noqa: S101 - any line has this form
    spaces, dashes, key, text = match.groups()
    text = text.rstrip(" ")
    if not dashes and not key and (not text or text[0] == "#"):
        return ()
    column = len(spaces)
    parts = []
    for place, character in enumerate(dashes):
        if character == "-":
            parts.append(_Piece(column + place, _DASH))
    column += len(dashes)
    if column > _WIDEST:
        raise _OddError
    if key:
        if not isinstance(resolve(key), str):
            raise _OddError
        # One string for each key, however many lines and streams have it.
        parts.append(_Piece(column, _KEY, sys.intern(key), _scalar(text) if text else _Below))
    elif text:
        parts.append(_Piece(column, _SCALAR, "", _scalar(text)))
    return tuple(parts)


def _scalar(text: str) -> Any:
    """The value of a scalar on one line; or the type of an empty map or list."""
    if _PLAIN.match(text):
        if ": " in text or " #" in text or text[-1] == ":":
            raise _OddError
        try:
            return through_json(resolve(text))
        except ValueError:
            raise _OddError from None
    if text in ("{}", "[]"):
        return dict if text == "{}" else list
    match = _QUOTED.fullmatch(text)
    if match is None:
        raise _OddError
    return match[1] if match[1] is not None else match[2]
