from __future__ import annotations

import contextlib
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncd.source.semver import Range, Version


def holds(expression: str, version: str) -> bool:
    parsed = Version.parse(version)
    assert parsed is not None
    return Range(expression).holds(parsed)


# The rows follow the tables in the README of github.com/Masterminds/semver.
@pytest.mark.parametrize(
    ("expression", "inside", "outside"),
    [
        (">=1.2.0 <2.0.0", ["1.2.0", "1.9.9", "v1.4.0"], ["1.1.9", "2.0.0"]),
        (">= 1.2.0, < 2.0.0", ["1.2.0"], ["2.0.0"]),
        ("1.x", ["1.0.0", "1.99.3"], ["2.0.0", "0.9.0"]),
        ("1.2.*", ["1.2.0", "1.2.9"], ["1.3.0"]),
        ("*", ["0.0.1", "9.9.9"], ["1.0.0-rc.1"]),
        ("1", ["1.0.0", "1.5.0"], ["2.0.0"]),
        ("1.2.3", ["1.2.3", "1.2.3+build"], ["1.2.4"]),
        ("=1.2", ["1.2.7"], ["1.3.0"]),
        ("!=1.2.3", ["1.2.4"], ["1.2.3"]),
        ("!=1.2.x", ["1.3.0"], ["1.2.3"]),
        (">1.2", ["1.3.0"], ["1.2.9"]),
        (">11", ["12.0.0"], ["11.1.0"]),
        ("<=1.2", ["1.2.9"], ["1.3.0"]),
        ("<=1.2.3", ["1.2.3"], ["1.2.4"]),
        ("~1.2.3", ["1.2.3", "1.2.9"], ["1.3.0", "1.2.2"]),
        ("~1", ["1.9.0"], ["2.0.0"]),
        ("~1.2", ["1.2.0"], ["1.3.0"]),
        ("^1.2.3", ["1.9.0"], ["2.0.0", "1.2.2"]),
        ("^1.2", ["1.2.0", "1.9.9"], ["2.0.0", "1.1.9"]),
        ("^0.2.3", ["0.2.9"], ["0.3.0"]),
        ("^0.0.3", ["0.0.3"], ["0.0.4"]),
        ("^0.0", ["0.0.9"], ["0.1.0"]),
        ("^0", ["0.9.0"], ["1.0.0"]),
        ("1.2 - 1.4.5", ["1.2.0", "1.4.5"], ["1.4.6", "1.1.9"]),
        ("<1.0.0 || >=2.1 <3", ["0.9.0", "2.1.0"], ["1.0.0", "2.0.9", "3.0.0"]),
        (">=1.0.0-0", ["1.0.0-rc.1", "1.0.0", "2.0.0-beta"], ["0.9.0"]),
        ("^1.2.3-beta", ["1.2.3-beta.2", "1.3.0"], ["2.0.0-alpha", "1.2.3-alpha"]),
        ("~>1.2", ["1.2.4"], ["1.3.0"]),
    ],
)
def test_ranges_hold_what_their_documentation_says(expression: str, inside: list[str], outside: list[str]) -> None:
    assert [version for version in inside if not holds(expression, version)] == []
    assert [version for version in outside if holds(expression, version)] == []


@pytest.mark.parametrize("text", ["", " ", "banana", ">=1.2.0 <", "1.2.3.4", "|| 1", "--upload-pack=x", ">*", "1.02.0"])
def test_what_is_no_range_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="not a version range"):
        Range(text)


@pytest.mark.parametrize("tag", ["1.2", "release-1.2.3", "v1.2.3.4", "1.2.3-", "01.2.3", ""])
def test_tags_that_are_no_version_are_left_out(tag: str) -> None:
    assert Version.parse(tag) is None
    assert Range("*").newest([tag]) is None


def test_precedence_is_that_of_semver_org() -> None:
    written = [
        "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta", "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1",
        "1.0.0", "1.0.1", "1.2.0", "1.10.0",
    ]  # fmt: skip
    versions = [version for version in map(Version.parse, written) if version]
    assert len(versions) == len(written)
    assert all(lower < higher for lower, higher in pairwise(versions))
    assert not any(higher < lower for lower, higher in pairwise(versions))


def test_the_newest_tag_is_taken_by_version_and_not_by_spelling() -> None:
    assert Range(">=1").newest(["v1.9.0", "v1.10.0", "v2.0.0-rc.1", "latest"]) == "v1.10.0"


@given(st.tuples(*[st.integers(0, 5)] * 3), st.tuples(*[st.integers(0, 5)] * 3))
def test_caret_and_tilde_lie_between_equal_and_greater_or_equal(
    base: tuple[int, int, int], other: tuple[int, int, int]
) -> None:
    base_text, other_text = (".".join(map(str, triple)) for triple in (base, other))
    equal, tilde, caret = (holds(f"{operator}{base_text}", other_text) for operator in ("=", "~", "^"))
    assert equal <= tilde <= holds(f">={base_text}", other_text)
    assert equal <= caret <= holds(f">={base_text}", other_text)


@given(st.text(alphabet="0123456789.xX*<>=~^|- v,ab+", max_size=20))
def test_any_text_is_a_range_or_an_error(text: str) -> None:
    with contextlib.suppress(ValueError):
        Range(text).holds(Version((1, 2, 3)))
