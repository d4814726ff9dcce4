"""Whether live has all that is desired already: quick to say, and never yes when a merge would change something."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncd.kubeyaml import load_all
from syncd.merge import engine, last_applied, strategic
from syncd.merge.covered import covered
from syncd.merge.schema import ANYTHING, bundled, from_crd
from tests.unit.merge.things import SCHEMA, STRATEGIC, json_values, objects, roughly

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from syncd.merge.schema import PatchSchema
    from syncd.model import JSONObject

NAMES = "abcd"
orders = st.permutations(NAMES).flatmap(lambda names: st.integers(0, len(NAMES)).map(lambda count: names[:count]))

CRD = {
    "spec": {
        "versions": [
            {
                "name": "v1",
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "items": {
                                "type": "array",
                                "x-kubernetes-list-type": "map",
                                "x-kubernetes-list-map-keys": ["name"],
                                "items": {"type": "object", "properties": {"name": {"type": "string"}}},
                            }
                        },
                    }
                },
            }
        ]
    }
}


def deployment(names: Any) -> JSONObject:
    containers = [{"name": name, "image": f"{name}:1"} for name in names]
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {"template": {"spec": {"containers": containers}}},
    }


def custom(names: Any) -> JSONObject:
    items = [{"name": name} for name in names]
    return {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "thing"}, "items": items}


@given(orders, orders)
def test_a_list_in_any_order_is_covered_only_if_a_patch_would_change_nothing(mine: Any, its: Any) -> None:
    schema = bundled("apps", "v1", "Deployment")
    assert schema is not None
    modified, live = deployment(mine), deployment(its)
    if covered(modified, live, schema, strategic=True):
        patch = strategic.three_way_patch(modified, modified, live, schema)
        assert strategic.apply_patch(live, patch, schema) == live


@given(orders, orders)
def test_a_custom_list_in_any_order_is_covered_only_if_a_merge_keeps_it(mine: Any, its: Any) -> None:
    schema = from_crd(CRD, "v1")
    modified, live = custom(mine), {**custom(its), "metadata": {"name": "thing", "resourceVersion": "1"}}
    is_covered = covered(modified, live, schema, strategic=False)
    merged = engine.merge(original=modified, modified=modified, live=live, schema=schema).merged
    if is_covered:
        assert merged["items"] == live["items"]


def test_an_item_that_live_has_last_and_git_first_is_no_reason_to_fail() -> None:
    schema = from_crd(CRD, "v1")
    assert not covered(custom("ba"), custom("ab"), schema, strategic=False)
    assert covered(custom("ab"), custom("ab"), schema, strategic=False)
    assert covered(custom("ac"), custom("abc"), schema, strategic=False)


def check(modified: JSONObject, live: JSONObject, schema: PatchSchema) -> bool:
    """Whether it is covered; and if it is, that a merge in full finds nothing to do either."""
    is_covered = covered(modified, live, schema, strategic=schema.accepts_strategic)
    if is_covered:  # without its annotation nobody knows that it was applied before, so all of it is merged
        assert engine.merge(original=modified, modified=modified, live=live, schema=schema).write is None
    return is_covered


@given(objects, st.randoms(use_true_random=False), st.sampled_from([SCHEMA, STRATEGIC]))
def test_what_is_covered_needs_nothing_whatever_has_become_of_it(
    modified: Any, rng: random.Random, schema: PatchSchema
) -> None:
    check(modified, roughly(modified, rng), schema)


@given(json_values, st.randoms(use_true_random=False))
def test_what_is_covered_needs_nothing_where_no_schema_says_anything(value: Any, rng: random.Random) -> None:
    check({"any": value}, {"any": roughly(value, rng)}, ANYTHING)


@pytest.mark.corpus
def test_real_objects_are_covered_by_what_a_server_makes_of_them_and_by_nothing_less(shared: Path) -> None:
    rng = random.Random(7)  # noqa: S311 - reproducible test data
    found = {True: 0, False: 0}
    for body, schema in corpus(shared):
        assert check(body, as_served(body), schema)
        for _ in range(5):
            found[check(body, roughly(body, rng), schema)] += 1
    assert min(found.values()) > 100


def corpus(shared: Path) -> Iterator[tuple[JSONObject, PatchSchema]]:
    """Real manifests of built-in and custom kinds, with their schemas."""
    documents = [
        found.value
        for path in sorted((shared / "corpus").rglob("*.yaml"))
        if "templates" not in path.parts
        for found in load_all(path.read_bytes())
    ]
    schemas = {
        (f"{crd['spec']['group']}/{version['name']}", crd["spec"]["names"]["kind"]): from_crd(crd, version["name"])
        for crd in documents
        if crd.get("kind") == "CustomResourceDefinition"
        for version in crd["spec"]["versions"]
    }
    for body in documents:
        api_version, kind = body.get("apiVersion", ""), body.get("kind", "")
        group, _, version = api_version.rpartition("/")
        schema = schemas.get((api_version, kind)) or bundled(group, version, kind)
        if schema is not None and "metadata" in body:
            yield last_applied.folded(body), schema


def as_served(body: JSONObject) -> JSONObject:
    """With what every server adds, and other metadata that others have put there."""
    metadata = {**body["metadata"], "uid": "1", "resourceVersion": "7", "creationTimestamp": "2026-01-01T00:00:00Z"}
    labels = {**(metadata.get("labels") or {}), "example.com/somebody": "else"}
    return {**body, "metadata": {**metadata, "labels": labels}, "status": {"observedGeneration": 1}}
