"""Keeping secret values out of everything that is shown.

A plan's field changes are masked here, once, before anybody can print, log or serve them: all values of a Secret, and
in other kinds what their manifest says came out of one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import orjson

from syncd.model import ABSENT, FieldChange, GroupKind, JSONObject, JSONValue

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from syncd.model import Manifest

BEFORE: Final = "*** (before)"
AFTER: Final = "*** (after)"
"""Two words, so that a reader sees that a value changes without seeing the value."""
UNCHANGED: Final = "***"
SHORTEST: Final = 4
"""In characters: a shorter text that came out of a Secret is hidden where it is a whole value, but not inside of other
texts, of which that would leave nothing to read."""

_ELLIPSIS: Final = "…"
_SECRET: Final = GroupKind("", "Secret")
_SECRET_FIELDS: Final = ("data", "stringData")
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_HIDDEN_PATH: Final = re.compile(rf"^(?:data|stringData)(?:[.\[]|$)|{re.escape(_LAST_APPLIED)}")


def mask_changes(manifest: Manifest, changes: Iterable[FieldChange]) -> tuple[FieldChange, ...]:
    """The changes of an object as they may be shown."""
    if manifest.key.group_kind == _SECRET:
        changes = (_mask(change) if _HIDDEN_PATH.search(change.path) else _mask_within(change) for change in changes)
    if manifest.hidden:
        changes = (_mask_hidden(change, manifest.hidden) for change in changes)
    return tuple(changes)


def mask_text(text: str, hidden: Iterable[str]) -> str:
    """A text, such as an error, without what is to be hidden, also where that is quoted, or cut off by an ellipsis."""
    spellings = {spelling for secret in hidden for spelling in (secret, orjson.dumps(secret).decode()[1:-1])}
    for secret in sorted((secret for secret in spellings if len(secret) >= SHORTEST), key=len, reverse=True):
        *cut, last = text.replace(secret, UNCHANGED).split(_ELLIPSIS)
        text = _ELLIPSIS.join([*(_without_beginning(piece, secret) for piece in cut), last])
    return text


def _without_beginning(text: str, secret: str) -> str:
    """A text without the beginning of a secret at its end."""
    beginnings = (secret[:length] for length in range(len(secret) - 1, SHORTEST - 1, -1))
    found = next((beginning for beginning in beginnings if text.endswith(beginning)), "")
    return text.removesuffix(found) + (UNCHANGED if found else "")


def texts(value: JSONValue) -> Iterator[str]:
    """Every name and every value in a JSON value, as a text."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield name
            yield from texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from texts(item)
    elif value is not ABSENT:
        yield value if isinstance(value, str) else orjson.dumps(value).decode()


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
        masked["metadata"] = {**metadata, "annotations": _hide_last_applied(metadata["annotations"])}
    return masked


def _mask(change: FieldChange) -> FieldChange:
    return FieldChange(change.path, _hide(change.before, BEFORE), _hide(change.after, AFTER))


def _mask_within(change: FieldChange) -> FieldChange:
    """The change, with the last-applied configuration hidden if it is about all annotations at once."""
    return FieldChange(change.path, _hide_last_applied(change.before), _hide_last_applied(change.after))


def _hide_last_applied(value: JSONValue) -> JSONValue:
    return {**value, _LAST_APPLIED: UNCHANGED} if isinstance(value, dict) and _LAST_APPLIED in value else value


def _hide(value: JSONValue, word: str) -> JSONValue:
    if value is ABSENT:
        return ABSENT
    return dict.fromkeys(value, word) if isinstance(value, dict) else word


def _mask_hidden(change: FieldChange, hidden: frozenset[str]) -> FieldChange:
    """One change of a manifest with values out of Secrets.

    Where the value changes, the old one is as secret as the new one, which it may have been before the Secret changed.
    """
    path = mask_text(change.path, hidden)
    if not any(_is_hidden(text, hidden) for side in (change.before, change.after) for text in texts(side)):
        return change._replace(path=path)
    if change.before is not ABSENT and change.after is not ABSENT:
        return FieldChange(path, BEFORE, AFTER)
    return FieldChange(path, _within(change.before, hidden, BEFORE), _within(change.after, hidden, AFTER))


def _is_hidden(text: str, hidden: frozenset[str]) -> bool:
    return text in hidden or mask_text(text, hidden) != text


def _within(value: JSONValue, hidden: frozenset[str], word: str) -> JSONValue:
    """A value with a word in the place of all in it that is to be hidden."""
    if isinstance(value, dict):
        return {mask_text(name, hidden): _within(item, hidden, word) for name, item in value.items()}
    if isinstance(value, list):
        return [_within(item, hidden, word) for item in value]
    return word if any(_is_hidden(text, hidden) for text in texts(value)) else value
