"""Quantities (``500m``, ``1Gi``), written the way a server writes them: ``0.5`` becomes ``500m``, ``1024Mi`` ``1Gi``.

The rules are those of apimachinery's ``pkg/api/resource``: largest suffix without a fraction, binary suffixes only for
whole numbers of at least 1024, nothing finer than a billionth.
"""

from __future__ import annotations

import re
from decimal import ROUND_UP, Decimal
from functools import lru_cache

PATTERN = r"^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$"
_TEXT = re.compile(r"^([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]+)?$")
_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_DECIMAL = {-9: "n", -6: "u", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P", 18: "E"}
_DECIMAL_EXPONENTS = {suffix: exponent for exponent, suffix in _DECIMAL.items()}
_FINEST = Decimal("1e-9")
MILLI = Decimal("1e-3")
"""What amounts of resources are rounded up to."""


class QuantityError(ValueError):
    """A text that is no quantity; worded as the server words it."""

    def __init__(self) -> None:
        super().__init__(f"quantities must match the regular expression '{PATTERN}'")


def parse(text: str) -> Decimal:
    """The amount that a quantity names.

    Raises:
        QuantityError: The text is no quantity.
    """
    number, suffix = _split(text)
    return _value(number, suffix)


@lru_cache(maxsize=4096)
def canonical(text: str, *, finest: Decimal = _FINEST) -> str:
    """The form in which a server stores and shows a quantity; amounts finer than ``finest`` are rounded up.

    Raises:
        QuantityError: The text is no quantity.
    """
    number, suffix = _split(text)
    value = _value(number, suffix).quantize(finest, rounding=ROUND_UP)
    if suffix.endswith("i") and abs(value) >= 1024 and value == value.to_integral_value():
        return _binary(int(value))
    return _decimal(value, exponent_form=suffix[:1] in ("e", "E") and len(suffix) > 1)


def _split(text: str) -> tuple[str, str]:
    match = _TEXT.match(text)
    if match is None:
        raise QuantityError
    return match[1], match[2] or ""


def _value(number: str, suffix: str) -> Decimal:
    if suffix.endswith("i"):
        return Decimal(number) * Decimal(1024) ** _BINARY.index(suffix)
    exponent = _DECIMAL_EXPONENTS.get(suffix)
    return Decimal(number).scaleb(int(suffix[1:]) if exponent is None else exponent)


def _binary(value: int) -> str:
    power = 0
    while value % 1024 == 0 and power + 1 < len(_BINARY):
        value //= 1024
        power += 1
    return f"{value}{_BINARY[power]}"


def _decimal(value: Decimal, *, exponent_form: bool) -> str:
    if value == 0:
        return "0"
    exponent = -9
    scaled = int(value.scaleb(9))
    while scaled % 1000 == 0 and exponent < 18:
        scaled //= 1000
        exponent += 3
    if exponent_form:
        return f"{scaled}e{exponent}" if exponent else str(scaled)
    return f"{scaled}{_DECIMAL[exponent]}"
