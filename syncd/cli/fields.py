"""Changed fields, for people."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from rich.text import Text

from syncd.cli.output import printable
from syncd.model import ABSENT
from syncd.web.text import diff

if TYPE_CHECKING:
    from syncd.model import FieldChange, JSONValue

STYLES: Final = {"+": "green", "-": "red", "~": "yellow", "!": "magenta"}
"""The colours of signs, for fields and objects alike."""
_LONGEST_LINE: Final = 160


def change_lines(change: FieldChange) -> list[Text]:
    """Describe one changed field for people: one line where both sides fit into it, else a diff below the path."""
    path = printable(change.path)
    sign = "+" if change.before is ABSENT else "-" if change.after is ABSENT else "~"
    sides = [_value_text(side) for side in (change.before, change.after) if side is not ABSENT]
    if sum(map(len, sides)) <= _LONGEST_LINE:
        return [Text(f"{sign} {path}: {' → '.join(sides)}", style=STYLES[sign])]
    lines = (Text(f"  {line.sign} {printable(line.text)}", style=STYLES.get(line.sign, "dim")) for line in diff(change))
    return [Text(f"{sign} {path}:", style=STYLES[sign]), *lines]


def _value_text(value: JSONValue) -> str:
    return printable(json.dumps(value, ensure_ascii=False))
