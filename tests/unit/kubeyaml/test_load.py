from __future__ import annotations

import pytest

from syncd.kubeyaml import MAX_DEPTH, Document, YAMLError, line_of, load_all
from syncd.model import Origin


def value_of(text: str) -> object:
    (document,) = load_all(f"v: {text}".encode())
    return document.value["v"]


def error_of(data: bytes) -> YAMLError:
    with pytest.raises(YAMLError) as caught:
        load_all(data, Origin("repo", "app.yaml"))
    return caught.value


@pytest.mark.parametrize("word", ["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"])
def test_words_for_true_are_true(word: str) -> None:
    assert value_of(word) is True


@pytest.mark.parametrize("word", ["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"])
def test_words_for_false_are_false(word: str) -> None:
    assert value_of(word) is False


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0755", 493),
        ("0o755", 493),
        ("0O17", 15),
        ("-017", -15),
        ("0b11", 3),
        ("-0b11", -3),
        ("0x1F", 31),
        ("+12", 12),
        ("1_000", 1000),
        ("08", 8),
        ("00", 0),
        ("1e3", 1000),
        ("1.0", 1),
        ("-0.0", 0),
        ("0.5", 0.5),
        (".5", 0.5),
        ("5.", 5),
        ("1e20", 1e20),
        ("9223372036854775807", 9223372036854775807),
        ("9223372036854775808", 9223372036854775808.0),
        ("18446744073709551615", 18446744073709551615.0),
        ("18446744073709551616", 18446744073709551616.0),
        ("-9223372036854775809", -9223372036854775809.0),
        ("6.967316643436818e+16", 69673166434368180),
    ],
)
def test_numbers_are_what_json_makes_of_them(text: str, value: float) -> None:
    read = value_of(text)
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize(
    "text",
    ["12:30", "190:20:30", "2020-01-01", "2020-01-01T00:00:00Z", "1e400", "=", "0x", "0b2", "1.2.3", "+", "_1",
     "0xFFFFFFFFFFFFFFFFFF", "1" * 5000, "tRUE", "nUll", "<<"],
)  # fmt: skip
def test_what_only_looks_special_is_a_string(text: str) -> None:
    assert value_of(text) == text


@pytest.mark.parametrize("text", ["", "~", "null", "Null", "NULL"])
def test_nulls(text: str) -> None:
    assert value_of(text) is None


@pytest.mark.parametrize("text", [".inf", "-.inf", "+.Inf", ".nan", ".NaN"])
def test_numbers_that_json_lacks_are_errors(text: str) -> None:
    assert "no number that JSON has" in error_of(f"v: {text}".encode()).problem


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("'1'", "1"),
        ('"yes"', "yes"),
        ("!!str 1", "1"),
        ("!!int '3'", 3),
        ("!!float 3", 3),
        ("!!bool yes", True),
        ("!!null ''", None),
        ("!!timestamp 2020-01-01", "2020-01-01"),
        ("!!binary aGk=", "hi"),
        ("!!binary /w==", "\ufffd"),
        ("!mine 12", "12"),
        ("! 12", "12"),
        ("!thing {a: 1}", {"a": 1}),
    ],
)
def test_tags_and_quotes(text: str, value: object) -> None:
    read = value_of(text)
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize("text", ["!!int x", "!!bool 1", "!!float x", "!!null x", "!!binary '*'"])
def test_a_value_that_does_not_fit_its_tag_is_an_error(text: str) -> None:
    assert "!!" in error_of(f"v: {text}".encode()).problem


@pytest.mark.parametrize(
    ("key", "name"),
    [("y", "true"), ("off", "false"), ("1", "1"), ("0x10", "16"), ("1.50", "1.5"), ("1e6", "1e+06"), ("1e3", "1000"),
     ("12345678.5", "1.2345678e+07"), ("0.0001", "0.0001"), ("1e-5", "1e-05"), ("1e39", ".inf"), (".nan", ".nan"),
     ("-.inf", "-.inf"), ("!!str 1", "1")],
)  # fmt: skip
def test_keys_become_strings(key: str, name: str) -> None:
    (document,) = load_all(f"{key}: v\n".encode())
    assert document.value == {name: "v"}


@pytest.mark.parametrize("key", ["~", "? [a]\n", "? {a: 1}\n", "18446744073709551615"])
def test_keys_that_json_cannot_have_are_errors(key: str) -> None:
    assert "key" in error_of(f"{key}: v\n".encode()).problem


def test_a_duplicate_key_is_an_error_with_its_line() -> None:
    error = error_of(b"a: 1\n---\nb:\n  c: 1\n  d: 2\n  c: 3\n")
    assert error.origin == Origin("repo", "app.yaml", 2, 6)
    assert "'c' appears twice" in error.problem


def test_keys_that_only_json_makes_equal_are_duplicates() -> None:
    assert "'1' appears twice" in error_of(b"1: a\n'1': b\n").problem


def test_a_duplicate_key_in_json_is_an_error_with_its_line() -> None:
    error = error_of(b'{"a": {"b": 1,\n "c": 2,\n "b": 3}}')
    assert error.origin is not None
    assert error.origin.line == 3


def test_json_keys_in_different_maps_are_no_duplicates() -> None:
    (document,) = load_all(b' {"a": {"x": "\\"y\\": "}, "b": [{"x": 1.0}, {"x": 9223372036854775808}]}\n')
    assert document == Document({"a": {"x": '"y": '}, "b": [{"x": 1}, {"x": 9223372036854775808.0}]}, 1, 1)


def test_flow_yaml_that_is_no_json_is_read() -> None:
    assert load_all(b"{a: 1, b: [c, d]}")[0].value == {"a": 1, "b": ["c", "d"]}


def test_merge_keys_do_not_override_what_follows() -> None:
    (document,) = load_all(b"a: &a {x: 1, z: 1}\nb: {<<: *a, z: 2}\n")
    assert document.value["b"] == {"x": 1, "z": 2}


def test_a_merge_key_after_an_explicit_key_overrides_it() -> None:
    (document,) = load_all(b"a: &a {x: 1, z: 1}\nb: {z: 2, <<: *a}\n")
    assert document.value["b"] == {"z": 1, "x": 1}


def test_of_several_merged_maps_the_earlier_wins() -> None:
    (document,) = load_all(b"a: &a {x: 1}\nb: &b {x: 2, w: 2}\nc: {<<: [*a, *b, {z: 3}]}\n")
    assert document.value["c"] == {"x": 1, "w": 2, "z": 3}


@pytest.mark.parametrize("value", ["1", "[1]", "[{a: 1}, b]"])
def test_only_maps_can_be_merged(value: str) -> None:
    assert "<< needs a map" in error_of(f"a: {{<<: {value}}}".encode()).problem


def test_a_quoted_merge_key_is_an_ordinary_key() -> None:
    assert load_all(b"'<<': 1\n")[0].value == {"<<": 1}


def test_aliases_are_copies() -> None:
    value = load_all(b"a: &a {x: [1]}\nb: *a\n")[0].value
    assert value["a"] == value["b"]
    assert value["a"]["x"] is not value["b"]["x"]


def test_anchors_belong_to_one_document() -> None:
    assert "unknown anchor 'a'" in error_of(b"x: &a 1\n---\ny: *a\n").problem


def test_an_alias_can_be_a_key() -> None:
    assert load_all(b"a: &k name\nb: {*k : 1}\n")[0].value["b"] == {"name": 1}


def test_an_alias_bomb_is_refused() -> None:
    rows = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    rows += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
    error = error_of("\n".join(rows).encode())
    assert "excessive aliasing" in error.problem
    assert error.origin is not None
    assert error.origin.line


def test_an_anchor_that_contains_itself_is_refused() -> None:
    assert "contains itself" in error_of(b"a: &a [*a]\n").problem


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a": ', "}"), ("- ", "")])
def test_nesting_is_bounded(opening: str, closing: str) -> None:
    just = (opening * MAX_DEPTH + "1" + closing * MAX_DEPTH).encode()
    assert len(load_all(just)) == 1
    for deeper in (MAX_DEPTH + 1, 50_000):
        error = error_of((opening * deeper + "1" + closing * deeper).encode())
        assert "nested more than" in error.problem


def test_documents_are_counted_and_empty_ones_left_out() -> None:
    text = b"# only a comment\n---\n---\n\n# why\na: 1\n...\n---\n# nothing\n---\nb: 2\n"
    assert load_all(text) == [Document({"a": 1}, 2, 6), Document({"b": 2}, 4, 11)]


def test_an_empty_stream_has_no_documents() -> None:
    assert load_all(b"") == load_all(b"# nothing\n") == load_all(b"---\n") == []


def test_crlf_and_byte_order_marks() -> None:
    expected = [Document({"a": "x\ny\n", "b": 1}, 1, 1)]
    text = "a: |\r\n  x\r\n  y\r\nb: 1\r\n"
    assert (
        load_all(text.encode())
        == load_all(b"\xef\xbb\xbf" + text.encode())
        == load_all(text.encode("utf-16"))
        == expected
    )
    assert load_all(b'\xef\xbb\xbf{"a": 1}') == [Document({"a": 1}, 1, 1)]


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"a: 1\nb: \xff\n", 2),
        (b"a: \x00\n", 1),
        (b"a: [1\nb: 2\n", 2),
        (b"a: 1\n b: 2\n", 2),
        (b"a:\n\t- b\n", 2),
        (b"a: @x\n", 1),
    ],
)
def test_text_that_does_not_parse_is_an_error_with_its_line(data: bytes, line: int) -> None:
    error = error_of(data)
    assert error.origin == Origin("repo", "app.yaml", 1, line)
    assert error.reason == "InvalidYAML"


def test_errors_do_not_quote_values() -> None:
    for data in (b"data:\n  password: !!int hunter2\n", b"data: {password: hunter2, password: hunter2}\n"):
        assert "hunter2" not in str(error_of(data))


def test_line_of_finds_fields_and_falls_back_to_the_nearest_parent() -> None:
    text = b"x: 1\n---\nspec:\n  list:\n  - name: a\n  - name: b\n    image: c\n  y: on\n"
    assert line_of(text, 2, ["spec", "list", 1, "image"]) == 7
    assert line_of(text, 2, ["spec", "list", 1, "missing"]) == 6
    assert line_of(text, 2, ["spec", "true", "deeper"]) == 8
    assert line_of(text, 2, ["spec", "y"]) == 3
    assert line_of(text, 2, []) == 3
    assert line_of(text, 7, ["spec"]) == 0
    assert line_of(b"{", 1, ["a"]) in (0, 1)
    assert line_of(b'{"a":\n [1,\n  {"b": 2}]}', 1, ["a", 1, "b"]) == 3
