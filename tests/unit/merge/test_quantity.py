from __future__ import annotations

from typing import Any

import pytest

from syncd.merge.quantity import quantity, same
from syncd.merge.schema import Meaning


@pytest.mark.parametrize(
    ("left", "right"),
    [("1", "1000m"), ("0.5", "500m"), ("1Gi", "1024Mi"), ("1k", "1000"), ("1E", "1e18"), ("1e3", "1E3"), ("+1", "1"),
     ("1.", "1"), (".5", "0.5"), ("1n", "1e-9"), ("1Ki", "1024"), ("-1", "-1000m"), ("0", "-0"), ("1u", "1000n")],
)  # fmt: skip
def test_equal_amounts(left: str, right: str) -> None:
    assert quantity(left) == quantity(right) is not None
    assert same(left, right, Meaning.QUANTITY)


@pytest.mark.parametrize(("left", "right"), [("1", "1001m"), ("1G", "1Gi"), ("1m", "1M"), ("1", "-1")])
def test_different_amounts(left: str, right: str) -> None:
    assert not same(left, right, Meaning.QUANTITY)


@pytest.mark.parametrize("text", ["", "m", "1 ", " 1", "1mm", "1ki", "1Kim", "e3", "1e", "0x1", "1_0", "1e9999", "½"])
def test_what_is_no_quantity(text: str) -> None:
    assert quantity(text) is None


@pytest.mark.parametrize("other", [None, True, [], {}, ["1"]])
def test_other_types_mean_nothing(other: Any) -> None:
    assert not same("1", other, Meaning.QUANTITY)
    assert not same(other, "1", Meaning.QUANTITY)


def test_numbers_are_quantities_too() -> None:
    assert same(1, "1000m", Meaning.QUANTITY)
    assert same(0.1, "100m", Meaning.QUANTITY)
    assert not same(1, "1000m", Meaning.PLAIN)


def test_base64_means_its_bytes() -> None:
    assert same("aHVudGVy", "aHVu\ndGVy\r\n", Meaning.BYTES)
    assert not same("aHVudGVy", "aHVudGVz", Meaning.BYTES)
    assert not same("not base64", "not  base64", Meaning.BYTES)
    assert not same("aGk=", 1, Meaning.BYTES)
