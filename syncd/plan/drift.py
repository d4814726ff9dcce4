"""Naming drift: what differs although desired did not change, and who wrote it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from syncd.model import ABSENT, Drift, DriftReason, FieldChange, JSONObject

if TYPE_CHECKING:
    from collections.abc import Iterator

OUR_MANAGER = "syncd"
"""The field manager that syncd's own writes carry."""

_PART = re.compile(r"([^.\[\]]+)|\[([^\]]*)\]")


class Writer(NamedTuple):
    """A field manager and the way in which it wrote."""

    manager: str
    operation: str


def describe(live: JSONObject, changes: tuple[FieldChange, ...]) -> Drift:
    """The drift that these differences between live (before) and desired (after) make."""
    only_extra = bool(changes) and all(change.after is ABSENT for change in changes)
    writer = next((found for change in changes if (found := last_writer(live, change.path))), Writer("", ""))
    return Drift(
        DriftReason.EXTRA_FIELD if only_extra else DriftReason.CHANGED,
        changes,
        manager=writer.manager,
        operation=writer.operation,
    )


def last_writer(live: JSONObject, path: str) -> Writer | None:
    """Who owns a field of the live object: the newest manager, other than syncd, whose managed fields hold the path.

    A field that is gone has no owner any more; then the newest other manager of anything above it is the best answer.
    """
    fields = live["metadata"].get("managedFields") or ()
    entries = [entry for entry in fields if entry.get("subresource") != "status"]  # "scale" writes the spec
    entries.sort(key=lambda entry: str(entry.get("time", "")), reverse=True)
    best: tuple[int, Writer] | None = None
    for entry in entries:
        if entry.get("manager") == OUR_MANAGER:
            continue
        depth = _depth(entry.get("fieldsV1") or {}, path)
        if depth and (best is None or depth > best[0]):
            best = depth, Writer(str(entry.get("manager", "")), str(entry.get("operation", "")))
    return best[1] if best else None


def _depth(fields: JSONObject, path: str) -> int:
    """How many steps of the path these managed fields (FieldsV1 of server-side apply) go along with."""
    depth = 0
    for step in _steps(path):
        following = next((fields[name] for name in fields if _is_step(name, step)), None)
        if following is None:
            break
        fields, depth = following, depth + 1
    return depth


def _steps(path: str) -> Iterator[str]:
    for match in _PART.finditer(path):
        yield match.group(1) if match.group(1) is not None else f"[{match.group(2)}]"


def _is_step(name: str, step: str) -> bool:
    """Whether a FieldsV1 name (``f:image``, ``k:{"name":"web"}``, ``v:...``) is this step of a path."""
    if not step.startswith("["):
        return name == f"f:{step}"
    wanted = step[1:-1]
    if name == f"f:{wanted}":
        return True  # a key of a map that holds dots
    if name.startswith("k:") and "=" in wanted:
        return all(
            f'"{key}":"{value}"' in name or f'"{key}":{value}' in name
            for key, value in (pair.split("=", 1) for pair in wanted.split(",") if "=" in pair)
        )
    return name in (f"i:{wanted}", f'v:"{wanted}"', f"v:{wanted}")
