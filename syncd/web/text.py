"""How times, numbers and values look to people."""

from __future__ import annotations

import difflib
import json
from typing import TYPE_CHECKING, Final, NamedTuple

from syncd.model import ABSENT

if TYPE_CHECKING:
    from datetime import datetime

    from syncd.model import FieldChange, JSONValue

_UNITS: Final = ((86400.0, "d"), (3600.0, "h"), (60.0, "min"), (1.0, "s"))
_MOST_LINES: Final = 400
"""Lines of one side that are compared line by line; the time for more grows with their square."""
_MOST_SHOWN: Final = 200
_LONGEST_LINE: Final = 2000


def ago(then: datetime, now: datetime) -> str:
    """How long ago, or in how long, in one unit: ``3 min ago``."""
    seconds = (now - then).total_seconds()
    if abs(seconds) < 1:
        return "just now"
    return f"{span(seconds)} ago" if seconds > 0 else f"in {span(-seconds)}"


def span(seconds: float) -> str:
    """A length of time in its largest unit: ``3 min``."""
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{int(seconds / size)} {unit}"
    return f"{seconds * 1000:.0f} ms"


def took(seconds: float) -> str:
    """How long something took, with what matters of it: ``2.3 s``."""
    return f"{seconds:.1f} s" if 1 <= seconds < 60 else span(seconds)


def setting(seconds: float) -> str:
    """A configured length of time, exact, as it is written in a Sync: ``1m30s``."""
    if seconds != int(seconds) or seconds < 1:
        return f"{seconds:g}s"
    rest = int(seconds)
    parts = []
    for size, unit in ((3600, "h"), (60, "m"), (1, "s")):
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts)


def absolute(value: datetime) -> str:
    """A moment for a tooltip: ``2026-09-01 12:00:00 UTC``, or with the offset that it came with."""
    return value.strftime("%Y-%m-%d %H:%M:%S %Z")


class Line(NamedTuple):
    """One line of a diff; ``sign`` is ``-``, ``+``, or a blank for context, or ``@`` for what is left out."""

    sign: str
    text: str


def diff(change: FieldChange) -> list[Line]:
    """What a field has and what it is to have, line by line; long texts only around what differs."""
    before, after = _lines(change.before), _lines(change.after)
    if min(len(before), len(after)) <= 1 or max(len(before), len(after)) > _MOST_LINES:
        return [*_side("-", before), *_side("+", after)]
    lines: list[Line] = []
    for group in difflib.SequenceMatcher(a=before, b=after, autojunk=False).get_grouped_opcodes(3):
        if lines:
            lines.append(Line("@", "…"))
        for tag, start, end, new_start, new_end in group:
            if tag == "equal":
                lines += [Line(" ", text) for text in before[start:end]]
            else:
                lines += [Line("-", text) for text in before[start:end]]
                lines += [Line("+", text) for text in after[new_start:new_end]]
    return _bounded(lines) or [Line("@", "the same lines; they differ in the line break at the end, or in type")]


def _side(sign: str, lines: list[str]) -> list[Line]:
    return _bounded([Line(sign, text) for text in lines])


def _bounded(lines: list[Line]) -> list[Line]:
    if len(lines) <= _MOST_SHOWN:
        return lines
    return [*lines[:_MOST_SHOWN], Line("@", f"… {len(lines) - _MOST_SHOWN} more lines")]


def _lines(value: JSONValue) -> list[str]:
    if value is ABSENT:
        return []
    if isinstance(value, str) and "\n" in value:
        text = value.removesuffix("\n")
    else:
        text = json.dumps(value, ensure_ascii=False, indent=2 if isinstance(value, dict | list) else None)
    return [
        line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}… {len(line) - _LONGEST_LINE} more characters"
        for line in text.split("\n")
    ]
