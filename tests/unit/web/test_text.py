"""How times, numbers and values look to people."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncd.model import ABSENT, FieldChange
from syncd.web import text

NOW = datetime(2026, 9, 1, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0.2, "just now"),
        (1, "1 s ago"),
        (59.9, "59 s ago"),
        (60, "1 min ago"),
        (7200, "2 h ago"),
        (86400 * 40, "40 d ago"),
        (-90, "in 1 min"),
    ],
)
def test_ages_are_told_in_one_unit(seconds: float, expected: str) -> None:
    assert text.ago(NOW - timedelta(seconds=seconds), NOW) == expected


@pytest.mark.parametrize(
    ("seconds", "expected"), [(0.0123, "12 ms"), (1, "1.0 s"), (2.345, "2.3 s"), (61, "1 min"), (0, "0 ms")]
)
def test_durations_keep_what_matters(seconds: float, expected: str) -> None:
    assert text.took(seconds) == expected


@pytest.mark.parametrize(
    ("seconds", "expected"), [(0.5, "0.5s"), (30, "30s"), (90, "1m30s"), (3600, "1h"), (5400, "1h30m")]
)
def test_settings_look_as_they_are_written(seconds: float, expected: str) -> None:
    assert text.setting(seconds) == expected


def shown(before: Any, after: Any) -> list[str]:
    return [f"{line.sign} {line.text}" for line in text.diff(FieldChange("x", before, after))]


def test_plain_values_are_shown_as_json_so_that_types_can_be_told_apart() -> None:
    assert shown(8080, "8080") == ["- 8080", '+ "8080"']


def test_a_side_without_the_field_has_no_line_and_null_has_one() -> None:
    assert shown(ABSENT, None) == ["+ null"]
    assert shown(True, ABSENT) == ["- true"]


def test_long_texts_are_shown_around_what_differs() -> None:
    before = "\n".join(f"line {number}" for number in range(30)) + "\n"
    lines = shown(before, before.replace("line 3\n", "line three\n").replace("line 20\n", ""))
    assert "- line 3" in lines
    assert "+ line three" in lines
    assert "- line 20" in lines
    assert "@ …" in lines
    assert len(lines) < 20


def test_objects_are_compared_line_by_line() -> None:
    lines = shown({"a": 1, "b": 2}, {"a": 1, "b": 3})
    assert '-   "b": 2' in lines
    assert '    "a": 1,' in lines


def test_texts_that_differ_only_at_the_end_are_not_shown_as_nothing() -> None:
    assert shown("a\nb", "a\nb\n") == ["@ the same lines; they differ in the line break at the end, or in type"]


def test_huge_values_are_cut() -> None:
    lines = text.diff(FieldChange("x", "a\n" * 10_000, "b" * 1_000_000))
    assert len(lines) <= 203
    assert max(len(line.text) for line in lines) < 2100


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(alphabet="ab\n") | st.just(ABSENT),
    lambda inner: st.lists(inner.filter(lambda value: value is not ABSENT), max_size=3),
    max_leaves=8,
)


@given(values, values)
def test_every_change_can_be_shown(before: Any, after: Any) -> None:
    lines = text.diff(FieldChange("x", before, after))
    assert all(line.sign in "-+ @" for line in lines)
    assert lines or (before is ABSENT and after is ABSENT)
