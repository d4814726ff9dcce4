"""The second line against secrets in logs. The first is that nobody logs what may hold one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from structlog.typing import EventDict, WrappedLogger

MASK: Final = "***"

_SECRET_NAME: Final = re.compile(
    r"(?!.*(?:ref|name|names|file|path|count)$)"
    r".*(?:pass(?:word|wd|phrase)|token|secret|authorization|cookie|credential|private[-_]?key|api[-_]?key|client[-_]?key)",
    re.IGNORECASE,
)
"""Names of fields whose values are secret; what only refers to a secret (``secretRef``) is not."""
_URL_PASSWORD: Final = re.compile(r"(?<=://)[^/\s@:]*:[^/\s@]+(?=@)")
_BEARER: Final = re.compile(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}")
_SECRET_DATA: Final = ("data", "stringData")
_DEEPEST: Final = 12


def mask_secrets(_logger: WrappedLogger, _method: str, event_dict: EventDict) -> EventDict:
    """A structlog processor: values of fields with secret names, a Secret's data, and credentials inside texts."""
    return {name: _mask_field(name, value, 0) for name, value in event_dict.items()}


def mask_text(text: str) -> str:
    """Without the credentials that a URL or an Authorization header holds."""
    if "://" in text:
        text = _URL_PASSWORD.sub(MASK, text)
    return _BEARER.sub(rf"\1 {MASK}", text)


def _mask_field(name: object, value: Any, depth: int) -> Any:
    if isinstance(name, str) and _SECRET_NAME.match(name) and not isinstance(value, bool | int | float | None):
        return MASK
    return _mask(value, depth)


def _mask(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return mask_text(value)
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    if depth > _DEEPEST:
        return "…"
    if isinstance(value, dict):
        hidden = _SECRET_DATA if value.get("kind") == "Secret" else ()
        return {
            str(name): MASK if name in hidden else _mask_field(name, inner, depth + 1) for name, inner in value.items()
        }
    if type(value) in (list, tuple):
        return [_mask(inner, depth + 1) for inner in value]
    return value
