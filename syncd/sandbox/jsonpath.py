"""The JSON paths of ``additionalPrinterColumns``: fields, indexes, wildcards and simple filters."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, NamedTuple

_STEP = re.compile(
    r"""\.?(?P<field>(?:[\w/-]|\\.)+)
    | \[(?P<index>-?\d+)\]
    | \[['"](?P<quoted>[^'"]+)['"]\]
    | (?P<all>\[\*\]|\.\*)
    | \[\?\(\s*@(?P<path>[\w.\\/-]+)\s*(?P<operator>==|!=)\s*["'](?P<value>[^"']*)["']\s*\)\]""",
    re.VERBOSE,
)


class _Step(NamedTuple):
    field: str = ""
    at: int | None = None
    every: bool = False
    path: tuple[_Step, ...] = ()
    equal: bool = True
    value: str = ""


@lru_cache(maxsize=1024)
def _steps(path: str) -> tuple[_Step, ...]:
    text = path.strip().removeprefix("{").removesuffix("}")
    steps: list[_Step] = []
    position = 0
    while position < len(text):
        found = _STEP.match(text, position)
        if found is None:
            return ()
        position = found.end()
        if found["field"] or found["quoted"]:
            steps.append(_Step(field=re.sub(r"\\(.)", r"\1", found["field"] or found["quoted"])))
        elif found["index"]:
            steps.append(_Step(at=int(found["index"])))
        elif found["all"]:
            steps.append(_Step(every=True))
        else:
            steps.append(_Step(path=_steps(found["path"]), equal=found["operator"] == "==", value=found["value"]))
    return tuple(steps)


def find(path: str, obj: Any) -> list[Any]:
    """Everything that a path leads to; nothing when it cannot be read or leads nowhere."""
    steps = _steps(path)
    return _walk(steps, obj) if steps else []


def _walk(steps: tuple[_Step, ...], value: Any) -> list[Any]:
    if not steps:
        return [value]
    return [found for inner in _one(steps[0], value) for found in _walk(steps[1:], inner)]


def _one(step: _Step, value: Any) -> list[Any]:
    if step.field:
        return [value[step.field]] if isinstance(value, dict) and step.field in value else []
    items = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    if step.every:
        return items
    if step.at is not None:
        return items[step.at :][:1] if isinstance(value, list) else []
    return [item for item in items if ([str(found) for found in _walk(step.path, item)] == [step.value]) is step.equal]
