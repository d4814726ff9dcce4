"""Whether live has all that is desired already: quick to say, and never yes when a merge would change something."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from syncd.merge import engine, strategic
from syncd.merge.align import covered
from syncd.merge.schema import bundled, from_crd

if TYPE_CHECKING:
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
