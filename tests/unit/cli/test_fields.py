"""Changed fields and other foreign text, as people see them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncd.cli.fields import change_lines
from syncd.cli.output import console, print_json, printable
from syncd.model import ABSENT, FieldChange, JSONValue


def shown(change: FieldChange) -> list[str]:
    return [line.plain for line in change_lines(change)]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (1, 3, "~ spec.replicas: 1 → 3"),
        (ABSENT, 3, "+ spec.replicas: 3"),
        (3, ABSENT, "- spec.replicas: 3"),
        (None, "x", '~ spec.replicas: null → "x"'),
        (2**70, {"a": [True]}, '~ spec.replicas: 1180591620717411303424 → {"a": [true]}'),
    ],
)
def test_a_short_change_is_one_line(before: JSONValue, after: JSONValue, expected: str) -> None:
    assert shown(FieldChange("spec.replicas", before, after)) == [expected]


def test_a_long_change_is_a_diff() -> None:
    before = "".join(f"key{number}=value\n" for number in range(30))
    lines = shown(FieldChange("data.settings", before, before.replace("key17=value", "key17=other")))
    assert lines[0] == "~ data.settings:"
    assert "  - key17=value" in lines
    assert "  + key17=other" in lines
    assert len(lines) < 12


def test_text_from_git_cannot_command_the_terminal() -> None:
    (line,) = shown(FieldChange("data.x", "\x1b[2J\u202egone", ABSENT))
    assert "\x1b" not in line
    assert "\u202e" not in line
    assert printable("a\x9bb\nc") == "a\\x9bb\\nc"


@given(st.text())
def test_what_is_shown_is_always_printable(text: str) -> None:
    assert printable(text).isprintable()
    if text.isprintable():
        assert printable(text) == text


def test_lines_are_not_broken_where_nobody_looks(capsys: pytest.CaptureFixture[str]) -> None:
    console().print("x" * 5000)
    assert capsys.readouterr().out == "x" * 5000 + "\n"


def test_json_can_say_everything_that_yaml_can(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"big": 2**80, "half a pair": "\ud800", "ü": 1.5})
    assert "1208925819614629174706176" in capsys.readouterr().out
