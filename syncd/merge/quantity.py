"""Scalars that mean the same though they are written differently."""

from __future__ import annotations

import base64
import binascii
import re
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from syncd.merge.schema import Meaning

if TYPE_CHECKING:
    from syncd.model import JSONValue

_QUANTITY = re.compile(
    r"(?P<number>[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))(?:(?P<binary>[KMGTPE]i)|(?P<decimal>[numkMGTPE]?)|[eE](?P<exponent>[+-]?[0-9]{1,3}))\Z"
)
_BINARY: Final = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50, "Ei": 2**60}
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}


@lru_cache(maxsize=4096)
def quantity(text: str) -> Decimal | None:
    """The number that a Kubernetes quantity such as ``1500m``, ``2Gi`` or ``1e3`` stands for; None for other texts."""
    match = _QUANTITY.match(text)
    if match is None:
        return None
    number = Decimal(match["number"])
    if match["binary"]:
        return number * _BINARY[match["binary"]]
    return number.scaleb(int(match["exponent"] or 0) + _DECIMAL[match["decimal"] or ""])


def same(left: JSONValue, right: JSONValue, meaning: Meaning) -> bool:
    """Whether two different scalars mean the same."""
    if meaning is Meaning.QUANTITY:
        texts = [str(value) for value in (left, right) if isinstance(value, str | int | float) and value is not True]
        amounts = [quantity(text) for text in texts]
        return len(amounts) == 2 and amounts[0] is not None and amounts[0] == amounts[1]
    if meaning is Meaning.BYTES and isinstance(left, str) and isinstance(right, str):
        return _decoded(left) == _decoded(right) is not None
    return False


def _decoded(text: str) -> bytes | None:
    """What base64 decodes to, as Go does it: line breaks do not count."""
    try:
        return base64.b64decode(re.sub(r"[\r\n]", "", text), validate=True)
    except (binascii.Error, ValueError):
        return None
