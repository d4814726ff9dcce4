"""Variables in a text, with the forms that Flux's ``postBuild`` knows (those of ``envsubst`` in github.com/fluxcd/pkg).

    ${a}  ${a:-word} ${a:=word} ${a=word}  ${#a}  ${a^} ${a^^} ${a,} ${a,,}  ${a:1} ${a:1:2}
    ${a#p} ${a##p} ${a%p} ${a%%p}  ${a/x/y} ${a//x/y} ${a/#x/y} ${a/%x/y}  $$

A word may hold further expressions. Lengths and offsets count characters. ``${a:+word}`` and ``${a:?word}``, which Flux
takes for ``${a:-word}``, are errors here.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_PLAIN: Final = re.compile(r"[^$]+")
_NAME: Final = re.compile(r"[^\W]+")  # letters, digits and underscores
_OPERATOR: Final = re.compile(r":=|:-|=|\^\^|\^|,,|,|##|#|%%|%|//|/#|/%|/|:(?![+?])")
_DEFAULTS: Final = (":=", ":-", "=")
_CASES: Final = ("^", "^^", ",", ",,")
_NUMBER: Final = re.compile(r"[+-]?[0-9]+\Z")


class SubstitutionError(Exception):
    """A text cannot be expanded; the message names no value."""


class MissingVariableError(SubstitutionError):
    """A variable has neither a value nor a default.

    Attributes:
        name: The variable.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"the variable {name} has no value and no default")


def expand(text: str, values: Mapping[str, str], *, strict: bool) -> str:
    """Replace all variables in a text.

    Args:
        text: As it was written.
        values: By name.
        strict: Whether a variable without value and default is an error instead of an empty text.

    Raises:
        SubstitutionError: A variable is missing, or an expression is none of the known forms.
    """
    return _Expansion(text, values, strict=strict).text()


class _Expansion:
    """One pass over a text, from left to right."""

    def __init__(self, text: str, values: Mapping[str, str], *, strict: bool) -> None:
        self._text = text
        self._values = values
        self._strict = strict
        self._at = 0

    def text(self) -> str:
        """Everything up to the end, expanded."""
        done: list[str] = []
        while self._at < len(self._text):
            if self._take("$$"):
                done.append("$")
            elif self._take("${"):
                done.append(self._expression())
            else:
                done.append(self._match(_PLAIN) or self._character())
        return "".join(done)

    def _expression(self) -> str:
        """What stands after ``${``, up to its ``}``."""
        start = self._at - 2
        if self._take("#"):
            name = self._match(_NAME)
            self._require(bool(name) and self._take("}"), start)
            return str(len(self._value(name)))
        name = self._match(_NAME)
        self._require(bool(name), start)
        if self._take("}"):
            return self._value(name)
        operator = self._match(_OPERATOR)
        self._require(bool(operator), start)
        first = self._word("/}" if operator[0] == "/" else ":}" if operator == ":" else "}", slashes=operator[0] == "/")
        self._require(bool(first) or operator in (*_DEFAULTS, *_CASES), start)
        second = None
        if operator[0] == "/":
            self._require(self._take("/"), start)
            second = self._word("}", slashes=True)
        elif operator == ":" and self._take(":"):
            second = self._word("}")
        self._require(self._take("}"), start)
        if operator in _DEFAULTS:
            return self._values.get(name) or first
        self._require(operator not in _CASES or not first, start)
        return _OPERATIONS[operator[0]](operator, self._value(name), first, second)

    def _word(self, end: str, *, slashes: bool = False) -> str:
        """An operand: everything before one of these characters, expanded; a backslash may stand before a slash."""
        done: list[str] = []
        while self._at < len(self._text) and self._text[self._at] not in end:
            if self._take("${"):
                done.append(self._expression())
            elif slashes and self._take("\\/"):
                done.append("/")
            elif slashes and self._take("\\\\"):
                done.append("\\")
            else:
                done.append(self._character())
        return "".join(done)

    def _value(self, name: str) -> str:
        if self._strict and name not in self._values:
            raise MissingVariableError(name)
        return self._values.get(name, "")

    def _take(self, text: str) -> bool:
        if self._text.startswith(text, self._at):
            self._at += len(text)
            return True
        return False

    def _match(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self._text, self._at)
        if match is None:
            return ""
        self._at = match.end()
        return match.group()

    def _character(self) -> str:
        self._at += 1
        return self._text[self._at - 1]

    def _require(self, holds: bool, start: int) -> None:  # noqa: FBT001 - it reads as an assertion
        if not holds:
            shown = self._text[start:].splitlines()[0][:40]
            raise SubstitutionError(f"{shown!r} is no form of a variable; for a literal ${{ write $${{")


def _cased(operator: str, value: str, _first: str, _second: str | None) -> str:
    change = str.upper if operator[0] == "^" else str.lower
    return change(value) if len(operator) == 2 else change(value[:1]) + value[1:]


def _sliced(_operator: str, value: str, first: str, second: str | None) -> str:
    if not _NUMBER.match(first.strip()) or (second is not None and not _NUMBER.match(second.strip())):
        return value  # as bash does
    start = int(first)
    start = max(0, len(value) + start) if start < 0 else start
    if second is None:
        return value[start:]
    end = int(second)
    return value[start : start + end] if end >= 0 else value[start : max(start, len(value) + end)]


def _trimmed(operator: str, value: str, first: str, _second: str | None) -> str:
    """Without the shortest or longest beginning or end that matches a pattern."""
    lengths = list(range(1, len(value) + 1))
    if len(operator) == 2:
        lengths.reverse()
    for length in lengths:
        if operator[0] == "#" and fnmatchcase(value[:length], first):
            return value[length:]
        if operator[0] == "%" and fnmatchcase(value[-length:], first):
            return value[:-length]
    return value


def _replaced(operator: str, value: str, first: str, second: str | None) -> str:
    other = second or ""
    if operator == "/#":
        return other + value.removeprefix(first) if value.startswith(first) else value
    if operator == "/%":
        return value.removesuffix(first) + other if value.endswith(first) else value
    return value.replace(first, other, -1 if operator == "//" else 1)


_OPERATIONS: Final = {
    "^": _cased,
    ",": _cased,
    ":": _sliced,
    "#": _trimmed,
    "%": _trimmed,
    "/": _replaced,
}
