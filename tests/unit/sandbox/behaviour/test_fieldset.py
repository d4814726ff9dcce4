from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from syncd.sandbox import fieldset

ELEMENTS = st.sampled_from(["f:a", "f:b", 'k:{"name":"x"}', 'v:"y"'])
PATHS = st.lists(st.lists(ELEMENTS, min_size=1, max_size=3), max_size=8)


def made(paths: list[list[str]]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for path in paths:
        fieldset.insert(fields, path)
    return fields


def members(fields: dict[str, Any]) -> set[tuple[str, ...]]:
    return set(fieldset.paths(fields))


@given(PATHS, PATHS)
def test_operations_are_those_of_sets_of_paths(left: list[list[str]], right: list[list[str]]) -> None:
    one, other = made(left), made(right)

    assert members(fieldset.union(one, other)) == members(one) | members(other)
    assert members(fieldset.intersection(one, other)) == members(one) & members(other)
    assert members(fieldset.difference(one, other)) == members(one) - members(other)
    assert one == made(left), "sets are not changed"
    assert other == made(right), "sets are not changed"


@given(PATHS)
def test_the_wire_form_says_the_same(paths: list[list[str]]) -> None:
    fields = made(paths)

    assert fieldset.decode(fieldset.encode(fields)) == fields


def test_a_member_with_children_carries_a_mark_and_a_leaf_does_not() -> None:
    fields = made([["f:labels"], ["f:labels", "f:app"], ["f:spec", "f:replicas"]])

    assert fieldset.encode(fields) == {"f:labels": {".": {}, "f:app": {}}, "f:spec": {"f:replicas": {}}}


def test_paths_are_named_as_conflicts_name_them() -> None:
    path = ["f:spec", "f:ports", 'k:{"port":80,"protocol":"TCP"}', "f:name"]

    assert fieldset.text(path) == '.spec.ports[port=80,protocol="TCP"].name'
    assert fieldset.text(["f:finalizers", 'v:"a/b"']) == '.finalizers[="a/b"]'
