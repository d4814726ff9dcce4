from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncd.merge import last_applied
from syncd.merge.jsonvalue import copy, equal
from syncd.merge.last_applied import ANNOTATION, LastAppliedError, go_json, read, stamp, without


def config_map(**fields: Any) -> dict[str, Any]:
    return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "a", "namespace": "b"}, **fields}


def annotation_of(document: dict[str, Any]) -> str:
    text: str = stamp(document)["metadata"]["annotations"][ANNOTATION]
    return text


def test_the_text_is_compact_and_sorted_and_ends_in_a_newline() -> None:
    assert annotation_of(config_map(data={"b": "1", "a": "2"})) == (
        '{"apiVersion":"v1","data":{"a":"2","b":"1"},"kind":"ConfigMap",'
        '"metadata":{"annotations":{},"name":"a","namespace":"b"}}\n'
    )


def test_what_go_escapes_is_escaped_and_nothing_else() -> None:
    text = annotation_of(config_map(data={"é<a>&": '\u2028\u2029\x7f\x01\b\f\t\n"\\/日😀'}))
    assert '"\u00e9\\u003ca\\u003e\\u0026":' in text
    assert '"\\u2028\\u2029\x7f\\u0001\\b\\f\\t\\n\\"\\\\/日😀"' in text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (1e20, "100000000000000000000"), (1e21, "1e+21"), (1.5e300, "1.5e+300"), (1e-6, "0.000001"), (1e-7, "1e-7"),
        (0.000001234, "0.000001234"), (123456789.5, "123456789.5"), (5e-324, "5e-324"), (1.0, "1"), (-0.0, "-0"),
        (0.5, "0.5"), (-1.25e-9, "-1.25e-9"), (2**70, "1180591620717411303424"), (True, "true"), (None, "null"),
    ],
)  # fmt: skip
def test_numbers_are_written_as_go_writes_them(number: Any, text: str) -> None:
    assert go_json({"v": number}) == f'{{"v":{text}}}'


def test_texts_that_look_like_numbers_stay_texts() -> None:
    assert go_json({"a": "1e5", "b": ["1.0", 1e21]}) == '{"a":"1e5","b":["1.0",1e+21]}'


def test_keys_are_sorted_by_their_bytes() -> None:
    assert go_json({"é": 1, "z": 2, "Z": 3, "\U0001f600": 4, "\uffff": 5}) == '{"Z":3,"z":2,"é":1,"\uffff":5,"😀":4}'


def test_other_annotations_stay_and_an_old_one_of_ours_goes() -> None:
    document = config_map()
    document["metadata"]["annotations"] = {"x": "y", ANNOTATION: "old"}
    stamped = stamp(document)
    assert stamped["metadata"]["annotations"]["x"] == "y"
    assert read(stamped) == {**document, "metadata": {**document["metadata"], "annotations": {"x": "y"}}}


def test_nulls_are_remembered() -> None:
    assert '"data":null' in annotation_of(config_map(data=None))


def test_the_input_is_not_changed() -> None:
    document = config_map(data={"a": "1"})
    before = copy(document)
    stamp(document)
    assert equal(document, before)


@given(
    st.dictionaries(
        st.text(max_size=5),
        st.text(max_size=5) | st.integers(-(2**63), 2**63 - 1) | st.floats(-1e15, 1e15),
        max_size=5,
    )
)
def test_what_is_stamped_is_read(data: dict[str, Any]) -> None:
    document = config_map(data=data)
    found = read(stamp(document))
    assert found == {**document, "metadata": {**document["metadata"], "annotations": {}}}
    assert orjson.loads(go_json(data)) == data


def test_an_object_without_the_annotation_has_none() -> None:
    assert read(config_map()) is None
    assert read({"metadata": {"annotations": None}}) is None
    assert read({}) is None


@pytest.mark.parametrize("text", ["", "{", "[]", "1", 5])
def test_an_annotation_that_is_no_object_is_an_error(text: Any) -> None:
    with pytest.raises(LastAppliedError, match="is not a JSON object"):
        read({"metadata": {"annotations": {ANNOTATION: text}}})


def test_without_takes_the_annotation_away() -> None:
    document = config_map(data={"a": "1"})
    assert without(stamp(document)) == document
    document["metadata"]["annotations"] = {"x": "y"}
    assert without(stamp(document)) == document
    assert without(document) is document


def test_fits_counts_the_annotation_that_is_still_to_come() -> None:
    assert last_applied.fits(config_map(data={"a": "x" * 200_000}))
    assert not last_applied.fits(config_map(data={"a": "x" * 262_144}))
    assert not last_applied.fits(stamp(config_map(data={"a": "x" * 262_144})))


def test_string_data_that_is_no_map_of_texts_is_left_for_the_server_to_refuse() -> None:
    secret = {"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "a"}}
    assert last_applied.folded({**secret, "stringData": {"a": 1}}) == {**secret, "stringData": {"a": 1}}
    assert last_applied.folded({**secret, "stringData": None}) == secret
    assert last_applied.folded({**secret, "data": None, "stringData": {}}) == {**secret, "data": {}}
    assert last_applied.folded(config_map(stringData={"a": "b"})) == config_map(stringData={"a": "b"})
