"""The dashboards as they are committed, and the expressions in them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final, NamedTuple

REPOSITORY: Final = Path(__file__).parents[2]
FOLDER: Final = REPOSITORY / "grafana" / "dashboards"
RULES: Final = REPOSITORY / "deploy" / "monitoring" / "rules.yaml"

_WORDS: Final = frozenset({"and", "or", "unless", "bool", "offset", "by", "without", "on", "ignoring"})


class Expression(NamedTuple):
    """What one panel or variable asks."""

    board: str
    panel: str
    ref: str
    text: str


def boards() -> dict[str, dict[str, Any]]:
    """Return the dashboards by uid."""
    loaded = [json.loads(path.read_text()) for path in sorted(FOLDER.glob("*.json"))]
    return {board["uid"]: board for board in loaded}


def panels(board: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the panels of a dashboard, without the rows that name them."""
    return [panel for panel in board["panels"] if panel["type"] != "row"]


def expressions() -> list[Expression]:
    """Return what all panels ask."""
    return [
        Expression(uid, panel["title"], target["refId"], target["expr"])
        for uid, board in boards().items()
        for panel in panels(board)
        for target in panel["targets"]
    ]


def substitute(expression: str, **values: str) -> str:
    """Fill in variables as Grafana does."""
    for name, value in values.items():
        expression = expression.replace(f"${name}", value)
    assert "$" not in expression, f"a variable that nobody fills in: {expression}"
    return expression


def metrics_named(expression: str) -> set[str]:
    """Return the metrics that an expression names: what is left of it without texts, labels, functions and words."""
    bare = re.sub(r'"[^"]*"', "", expression)
    bare = re.sub(r"\{[^}]*\}|\[[^\]]*\]", "", bare)
    bare = re.sub(r"\b(by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)", "", bare)
    bare = re.sub(r"\boffset\s+\S+", "", bare)
    names = re.findall(r"\b[a-zA-Z_:][\w:]*\b(?!\s*\()", bare)
    return {name for name in names if name not in _WORDS}
