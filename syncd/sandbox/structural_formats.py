"""String formats that a server checks in custom resources (kube-openapi's ``pkg/validation/strfmt``)."""

from __future__ import annotations

import base64
import binascii
import ipaddress
import re
import uuid
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_DURATION = re.compile(r"^[+-]?(\d+(\.\d*)?(ns|us|µs|ms|s|m|h|d|w)?\s*)+$")
_DATE_TIME = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$", re.IGNORECASE)


def _parses(parse: Callable[[str], Any]) -> Callable[[str], bool]:
    """Whether a text can be read by a function that raises ValueError when it cannot."""

    def check(text: str) -> bool:
        try:
            parse(text)
        except (ValueError, binascii.Error):
            return False
        return True

    return check


def _date_time(text: str) -> datetime:
    if not _DATE_TIME.match(text):
        raise ValueError(text)
    return datetime.fromisoformat(text)


FORMATS: Final[Mapping[str, Callable[[str], bool]]] = {
    "byte": _parses(lambda text: base64.b64decode(text, validate=True)),
    "cidr": _parses(lambda text: ipaddress.ip_network(text, strict=False) if "/" in text else int("no prefix")),
    "date": _parses(date.fromisoformat),
    "date-time": _parses(_date_time),
    "duration": lambda text: bool(_DURATION.match(text)),
    "ipv4": _parses(ipaddress.IPv4Address),
    "ipv6": _parses(ipaddress.IPv6Address),
    "uuid": _parses(uuid.UUID),
}
