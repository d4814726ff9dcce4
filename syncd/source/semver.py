"""Version ranges over tags, written as Flux and npm write them.

The grammar and its meaning follow the documentation of github.com/Masterminds/semver (which Flux uses): comparators
``= != > >= < <= ~ ^``, partial versions and wildcards (``1.x``), hyphen ranges (``1.2 - 1.4``), "and" by comma or
space, "or" by ``||``. Versions of tags are strict (three numbers, semver.org 2.0.0), with an optional ``v``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import total_ordering
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

_IDENTIFIERS: Final = r"[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*"
_VERSION: Final = re.compile(rf"v?(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-({_IDENTIFIERS}))?(?:\+{_IDENTIFIERS})?")
_PART: Final = r"(?:0|[1-9]\d*|[xX*])"
_PARTIAL: Final = rf"v?{_PART}(?:\.{_PART}(?:\.{_PART}(?:-{_IDENTIFIERS})?(?:\+{_IDENTIFIERS})?)?)?"
_COMPARATOR: Final = re.compile(rf"(=|!=|>|<|>=|=>|<=|=<|~|~>|\^)?\s*({_PARTIAL})(?=$|[\s,])")
_HYPHEN: Final = re.compile(rf"({_PARTIAL})\s+-\s+({_PARTIAL})")
_SPELLINGS: Final = {"": "=", "=>": ">=", "=<": "<=", "~>": "~"}

Triple = tuple[int, int, int]


@total_ordering
@dataclass(frozen=True, slots=True)
class Version:
    """A version by semver.org 2.0.0, without its build metadata."""

    triple: Triple
    prerelease: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Version | None:
        """Read ``1.2.3``, ``v1.2.3-rc.1+build``; None for anything else."""
        match = _VERSION.fullmatch(text)
        if match is None:
            return None
        major, minor, patch, prerelease = match.groups()
        return cls((int(major), int(minor), int(patch)), tuple(prerelease.split(".")) if prerelease else ())

    def precedence(self) -> tuple[Triple, bool, tuple[tuple[bool, int, str], ...]]:
        """The order of semver.org, rule 11: a release after its prereleases, numbers before words."""
        identifiers = tuple((False, int(part), "") if part.isdecimal() else (True, 0, part) for part in self.prerelease)
        return self.triple, not self.prerelease, identifiers

    def __lt__(self, other: object) -> bool:
        return isinstance(other, Version) and self.precedence() < other.precedence()


@dataclass(frozen=True, slots=True)
class _Comparator:
    """One comparator: an operator and a version of which the last parts may be missing."""

    operator: str
    parts: tuple[int, ...]
    prerelease: tuple[str, ...]

    @property
    def lower(self) -> Version:
        padded = (*self.parts, 0, 0, 0)
        return Version((padded[0], padded[1], padded[2]), self.prerelease)

    def _next(self, given: int) -> Triple:
        """The first release that differs within the first ``given`` parts."""
        major, minor, patch = self.lower.triple
        return ((major + 1, 0, 0), (major, minor + 1, 0), (major, minor, patch + 1))[given - 1]

    def _within(self, version: Version, given: int) -> bool:
        return version >= self.lower and (given == 0 or version.triple < self._next(given))

    def _equal(self, version: Version) -> bool:
        return version == self.lower if len(self.parts) == 3 else self._within(version, len(self.parts))

    def _caret_parts(self) -> int:
        """How many parts ``^`` holds: up to the first that is not zero, of those that are given."""
        for index, part in enumerate(self.parts, start=1):
            if part:
                return index
        return len(self.parts)

    def holds(self, version: Version) -> bool:
        """Whether the version satisfies the comparator."""
        partial = len(self.parts) < 3
        beyond = version.triple >= self._next(len(self.parts)) if self.parts else False
        return {
            "=": self._equal(version),
            "!=": not self._equal(version),
            ">": beyond if partial else version > self.lower,
            ">=": version >= self.lower,
            "<": version < self.lower,
            "<=": not beyond if partial else version <= self.lower,
            "~": self._within(version, min(len(self.parts), 2)),
            "^": self._within(version, self._caret_parts()),
        }[self.operator]


class Range:
    """A range of versions.

    Prereleases are outside of it unless one of the comparators that hold together names one (``>=1.0.0-0``).

    Raises:
        ValueError: The text is not a range.
    """

    def __init__(self, text: str) -> None:
        self._alternatives = tuple(_comparators(part) for part in text.split("||"))

    def holds(self, version: Version) -> bool:
        """Whether the version lies within the range."""
        return any(
            all(comparator.holds(version) for comparator in together)
            and (not version.prerelease or any(comparator.prerelease for comparator in together))
            for together in self._alternatives
        )

    def newest(self, tags: Iterable[str]) -> str | None:
        """The tag with the highest version within the range; None if there is none.

        Of two tags with the same version (``v1.0.0`` and ``1.0.0``) the one that sorts last.
        """
        versions = ((Version.parse(tag), tag) for tag in tags)
        fitting = [(version, tag) for version, tag in versions if version is not None and self.holds(version)]
        return max(fitting, key=lambda item: (item[0].precedence(), item[1]))[1] if fitting else None


def _comparators(text: str) -> tuple[_Comparator, ...]:
    text = _HYPHEN.sub(r">=\1, <=\2", text.strip())
    comparators = []
    at = 0
    while at < len(text):
        match = _COMPARATOR.match(text, at)
        if match is None:
            raise ValueError(f"not a version range: {text!r}; write it like >=1.2.0 <2.0.0, ^1.2 or 1.x")
        operator, version = match.groups()
        comparators.append(_comparator(_SPELLINGS.get(operator or "", operator), version))
        at = match.end()
        while at < len(text) and text[at] in " \t,":
            at += 1
    if not comparators:
        raise ValueError("not a version range: it is empty; write it like >=1.2.0 <2.0.0, ^1.2 or 1.x")
    return tuple(comparators)


def _comparator(operator: str, version: str) -> _Comparator:
    numbers, _, prerelease = version.partition("+")[0].removeprefix("v").partition("-")
    parts: list[int] = []
    for part in numbers.split("."):
        if part in ("x", "X", "*"):
            break
        parts.append(int(part))
    if not parts:
        if operator in ("!=", "<", ">"):
            raise ValueError(f"not a version range: nothing is {operator} every version")
        return _Comparator(">=", (), ())
    return _Comparator(operator, tuple(parts), tuple(prerelease.split(".")) if prerelease else ())
