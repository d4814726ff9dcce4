from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncd.merge.errors import ElementTypeError, MergeKeyError
from syncd.merge.order import (
    _less,
    _slice_stable,
    arranged,
    deduplicated,
    element_type,
    go_text,
    key_of,
    sorted_by_text,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [("a", "a"), (1, "1"), (True, "true"), (False, "false"),
     (None, "<nil>"), (1.0, "1"), (1.5, "1.5"), (1e20, "1e+20"), (1e6, "1e+06"), (123456.0, "123456"),
     (1e21, "1e+21"), (1e-5, "1e-05"), ({"b": 1, "a": [1, "x"]}, "map[a:[1 x] b:1]")],
)  # fmt: skip
def test_text_as_go_prints_it(value: Any, text: str) -> None:
    assert go_text(value) == text


@given(st.lists(st.tuples(st.integers(0, 50), st.integers()), max_size=150))
def test_sorting_with_a_consistent_order_is_stable_sorting(items: list[tuple[int, int]]) -> None:
    expected = sorted(items, key=lambda item: item[0])
    _slice_stable(items)
    assert items == expected


def test_sorting_with_a_contradictory_order_ends_and_loses_nothing() -> None:
    choose = random.Random(7)  # noqa: S311 - reproducible test data
    items = [(choose.choice([-1, -1, 0, 1, 2]), index) for index in range(100)]
    before = sorted(items)
    _slice_stable(items)
    assert sorted(items) == before
    assert _less((-1, 0), (5, 0))
    assert _less((5, 0), (-1, 0))


def test_items_unknown_to_an_order_come_out_reversed_before_the_others() -> None:
    assert arranged(["x", "y", "b", "a"], ["a", "b"], "") == ["a", "b", "y", "x"]


def test_numbers_sort_as_texts_and_equal_ones_are_reversed() -> None:
    assert sorted_by_text([9, 10, 2]) == [10, 2, 9]
    assert sorted_by_text([{"n": 1, "v": 1}, {"n": 1, "v": 2}], "n") == [{"n": 1, "v": 2}, {"n": 1, "v": 1}]


def test_the_last_takes_the_place_of_what_is_dropped() -> None:
    assert deduplicated(["a", "a", "b", "c"]) == ["a", "c", "b"]
    assert deduplicated([1, True, 1.0]) == [1, True, 1.0]
    assert deduplicated([]) == []


def test_types_of_items() -> None:
    assert element_type([1], []) is int
    for lists in (([1, 1.0],), ([1], [True]), ([[1]],), ([None],), ([], [])):
        with pytest.raises(ElementTypeError):
            element_type(*lists)


def test_keys_of_items() -> None:
    assert key_of({"n": 1}, "n") != key_of({"n": True}, "n")
    with pytest.raises(MergeKeyError):
        key_of({}, "n")
    for item, key in (("text", "n"), ({"n": []}, "n"), ({}, "")):
        with pytest.raises(ElementTypeError):
            key_of(item, key)
