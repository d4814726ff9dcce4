"""Keeps the contents of Secrets out of error messages, and messages short.

A server's message may quote the value that it does not like. For most kinds that is helpful; for a Secret it is a leak.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import TYPE_CHECKING, Final

import orjson

if TYPE_CHECKING:
    from collections.abc import Iterator

HIDDEN: Final = "(hidden)"
MESSAGE_LIMIT: Final = 2000
"""Characters of a whole message."""
CAUSE_LIMIT: Final = 300
"""Characters of what is said about one field."""

_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"|`[^`]*`|\'[^\']*\'')
_VALUE = re.compile(
    r"(?P<what>Invalid value|Unsupported value|Duplicate value|Not found|Too long|Too many|Internal error): "
    r'(?P<value>"(?:[^"\\]|\\.)*")?(?P<rest>.*)',
    re.DOTALL,
)
_RBAC = re.compile(r"is forbidden: User ")
_WEBHOOK = re.compile(r'^(admission webhook "[a-z0-9.-]+" denied the request)')


def mask_cause(message: str) -> str:
    """Hide the value in what a server says about one field of a Secret.

    The value ends where its quotes do; one that is not quoted (a struct, a number) takes the rest of the text with it.
    """
    match = _VALUE.match(message)
    if not match:
        return _QUOTED.sub(HIDDEN, message)
    if match["value"] is None:
        return f"{match['what']}: {HIDDEN}"
    value = match["value"][1:-1]
    return f"{match['what']}: {HIDDEN}" + (_replace(match["rest"], value) if value else match["rest"])


def mask_message(message: str, *, name: str = "", sent: object = None) -> str:
    """Hide from a message about a Secret whatever may be a value.

    Args:
        message: The server's words.
        name: The Secret's name, which may stay; only used without ``sent``.
        sent: The body of the request. With it, only the values that were sent are hidden; without it, everything
            quoted is, but in what RBAC says.
    """
    if sent is not None:
        for value in sorted(set(_values(sent)), key=len, reverse=True):
            message = _replace(message, value)
        return message
    if _RBAC.search(message):
        return message
    head, value_follows, _ = message.partition("Invalid value:")
    if value_follows:
        message = f"{head}Invalid value: {HIDDEN}"
    webhook = _WEBHOOK.match(message)
    start = webhook.end() if webhook else 0
    keep = {f'"{name}"', f"'{name}'", '"Secret"', '"v1"', '"secrets"'}
    return message[:start] + _QUOTED.sub(lambda match: match[0] if match[0] in keep else HIDDEN, message[start:])


def shorten_cause(message: str) -> str:
    """Take a long value out of the middle of what a server says about one field."""
    if len(message) <= CAUSE_LIMIT:
        return message
    match = _VALUE.match(message)
    _, colon, verdict = message.rpartition(": ")
    if match and colon and len(verdict) <= CAUSE_LIMIT:
        return f"{match['what']}: (long value): {verdict}"
    return message[: CAUSE_LIMIT - 1] + "…"


def shorten_message(message: str) -> str:
    """Put a message on one line of bearable length."""
    message = " ".join(message.split())
    return message if len(message) <= MESSAGE_LIMIT else message[: MESSAGE_LIMIT - 1] + "…"


def _replace(message: str, value: str) -> str:
    if len(value) >= 4:
        return message.replace(value, HIDDEN)
    return re.sub(rf"(?<!\w){re.escape(value)}(?!\w)", HIDDEN, message)


def _values(body: object) -> Iterator[str]:
    """Every spelling of every value that a Secret or a patch of one holds."""
    if not isinstance(body, dict):
        return
    for field in ("data", "stringData"):
        values = body.get(field)
        if not isinstance(values, dict):
            continue
        for value in values.values():
            if isinstance(value, str) and value:
                yield from _spellings(value)
    metadata = body.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    for text in annotations.values() if isinstance(annotations, dict) else ():
        # last-applied repeats the values
        if isinstance(text, str) and text.startswith("{"):
            try:
                yield from _values(orjson.loads(text))
            except orjson.JSONDecodeError:
                continue


def _spellings(value: str) -> Iterator[str]:
    yield value
    yield orjson.dumps(value).decode()[1:-1]
    try:
        decoded = base64.b64decode(value, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return
    if decoded:
        yield decoded
        yield orjson.dumps(decoded).decode()[1:-1]
