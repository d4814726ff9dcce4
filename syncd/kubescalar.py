"""What a scalar without quotes means to Kubernetes: go-yaml v2's rules, then a trip through Go's JSON."""

from __future__ import annotations

import math
import re
import struct
from decimal import Decimal
from typing import Final

INT64_LIMIT: Final = 2**63
"""Integers are below this; JSON numbers beyond it are floats to Kubernetes."""

_NAMED: Final[dict[str, bool | float | None]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **{
        spelling: truth
        for truth, words in ((True, ("y", "yes", "true", "on")), (False, ("n", "no", "false", "off")))
        for word in words
        for spelling in (word, word.capitalize(), word.upper())
    },
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}
_LONGEST_UINT64 = 21  # with a sign; longer ones are floats
_DECIMAL = re.compile(r"[-+]?(?:0|[1-9][0-9]*)\Z")
_OTHER_BASE = re.compile(r"([-+]?)0(?:[xX]([0-9a-fA-F]+)|[bB]([01]+)|[oO]?([0-7]+))\Z")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")


def resolve(text: str) -> bool | float | str | None:
    """What a plain scalar means to go-yaml v2 (``int`` included in ``float``)."""
    if text in _NAMED:
        return _NAMED[text]
    first = text[0]
    if first == ".":
        return _float(text, text) if _FLOAT.match(text) else text
    if first not in "+-0123456789":
        return text
    digits = text.replace("_", "")
    if len(digits) <= _LONGEST_UINT64 and _DECIMAL.match(digits):
        number = int(digits)
        return number if -INT64_LIMIT <= number < 2**64 else float(number)
    if match := _OTHER_BASE.match(digits):
        sign, hexadecimal, binary, octal = match.groups()
        number = int(hexadecimal, 16) if hexadecimal else int(binary, 2) if binary else int(octal, 8)
        number = -number if sign == "-" else number
        if -INT64_LIMIT <= number < 2**64 and not (sign and number >= INT64_LIMIT):
            return number
    return _float(digits, text) if _FLOAT.match(digits) else text


def _float(digits: str, text: str) -> float | str:
    """The number, or the text as it was written when it is beyond a double."""
    number = float(digits)
    return text if math.isinf(number) else number


def float_key(number: float) -> str:
    """A float as a map's key: in single precision, as Go writes it."""
    try:
        single = struct.pack("f", number)
    except OverflowError:
        return ".inf" if number > 0 else "-.inf"
    number = struct.unpack("f", single)[0]
    if not math.isfinite(number):
        return ".nan" if math.isnan(number) else ".inf" if number > 0 else "-.inf"
    shortest = next(text for text in (f"{number:.{p}e}" for p in range(10)) if struct.pack("f", float(text)) == single)
    return general(Decimal(shortest))


def general(number: Decimal) -> str:
    """A number as Go's ``%g`` writes its shortest digits: with an exponent below 1e-4 and from 1e6 on."""
    mantissa, _, exponent = f"{number.normalize():e}".partition("e")
    if -4 <= int(exponent) < 6:
        return f"{number.normalize():f}"
    return f"{mantissa}e{int(exponent):+03d}"


def json_number(value: float) -> int | float:
    """What a number becomes on its way through Go's JSON: whole ones within int64 are integers, the others floats.

    Go writes the shortest digits that stand for a float, fills up with zeros, and reads that back.
    """
    whole = value if isinstance(value, int) else int(Decimal(repr(value))) if value == int(value) else None
    return whole if whole is not None and -INT64_LIMIT <= whole < INT64_LIMIT else float(value)


def through_json(value: float | str | None) -> float | str | None:
    """What a scalar becomes on its way through JSON (``int`` and ``bool`` are included in ``float``).

    Raises:
        ValueError: It is infinite or no number, which JSON does not have.
    """
    if value is None or isinstance(value, str | bool):
        return value
    if not math.isfinite(value):
        raise ValueError("JSON has no such number")
    return json_number(value)
