"""Keeping secret values out of everything that is shown.

A plan's field changes are masked here, once, before anybody can print, log or serve them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from syncd.model import ABSENT, FieldChange, GroupKind, JSONObject, JSONValue

if TYPE_CHECKING:
    from collections.abc import Iterable

BEFORE: Final = "*** (before)"
AFTER: Final = "*** (after)"
"""Two words, so that a reader sees that a value changes without seeing the value."""
UNCHANGED: Final = "***"

_SECRET: Final = GroupKind("", "Secret")
_SECRET_FIELDS: Final = ("data", "stringData")
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_HIDDEN_PATH: Final = re.compile(rf"^(?:data|stringData)(?:[.\[]|$)|{re.escape(_LAST_APPLIED)}")


def mask_changes(kind: GroupKind, changes: Iterable[FieldChange]) -> tuple[FieldChange, ...]:
    """The changes as they may be shown."""
    if kind != _SECRET:
        return tuple(changes)
    return tuple(_mask(change) if _HIDDEN_PATH.search(change.path) else change for change in changes)


def mask_object(document: JSONObject) -> JSONObject:
    """A copy of an object as it may be shown: a Secret's values and its last-applied configuration are hidden."""
    if (document.get("apiVersion"), document.get("kind")) != ("v1", "Secret"):
        return document
    masked = dict(document)
    for name in _SECRET_FIELDS:
        values = document.get(name)
        if isinstance(values, dict):
            masked[name] = dict.fromkeys(values, UNCHANGED)
        elif values is not None:
            masked[name] = UNCHANGED
    metadata = document.get("metadata")
    if isinstance(metadata, dict) and _LAST_APPLIED in (metadata.get("annotations") or {}):
        masked["metadata"] = {**metadata, "annotations": {**metadata["annotations"], _LAST_APPLIED: UNCHANGED}}
    return masked


def _mask(change: FieldChange) -> FieldChange:
    return FieldChange(change.path, _hide(change.before, BEFORE), _hide(change.after, AFTER))


def _hide(value: JSONValue, word: str) -> JSONValue:
    if value is ABSENT:
        return ABSENT
    return dict.fromkeys(value, word) if isinstance(value, dict) else word
