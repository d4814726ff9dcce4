"""Every field table of documents 000 and 001, for kinds with strategic merge and for custom resources."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from syncd.merge import json_merge, strategic
from syncd.merge.engine import merge
from syncd.merge.last_applied import stamp
from syncd.merge.schema import PatchSchema, bundled, from_crd

Merge = Callable[[Any, Any, Any], Any]

DEFINITIONS = {
    "Thing": {
        "type": "object",
        "properties": {
            "scalar": {"type": "string"},
            "object": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}},
            "map": {"type": "object", "additionalProperties": {"type": "string"}},
            "set": {
                "type": "array",
                "items": {"type": "string"},
                "x-kubernetes-list-type": "set",
                "x-kubernetes-patch-strategy": "merge",
            },
            "items": {
                "type": "array",
                "items": {"type": "object", "properties": {"name": {"type": "string"}, "v": {"type": "string"}}},
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
                "x-kubernetes-patch-strategy": "merge",
                "x-kubernetes-patch-merge-key": "name",
            },
            "atomic": {"type": "array", "items": {"type": "string"}},
        },
    }
}
SCHEMA = PatchSchema.from_openapi(DEFINITIONS, "Thing")


def by_strategic_merge(config: Any, live: Any, last: Any) -> Any:
    return strategic.apply_patch(live, strategic.three_way_patch(last, config, live, SCHEMA), SCHEMA)


def by_json_merge(config: Any, live: Any, last: Any) -> Any:
    return json_merge.apply_patch(live, json_merge.three_way_patch(last, config, live))


def by_list_rules(config: Any, live: Any, last: Any) -> Any:
    result = merge(original=last, modified=config, live=live, schema=SCHEMA)
    if result.write is None:
        return live
    assert result.write.body is not None
    return json_merge.apply_patch(live, result.write.body)


ALL = pytest.mark.parametrize("apply", [by_strategic_merge, by_json_merge, by_list_rules])
MERGING = pytest.mark.parametrize("apply", [by_strategic_merge, by_list_rules])


@ALL
class TestPrimitives:
    def test_in_config_and_live_is_set_to_config(self, apply: Merge) -> None:
        for last in ({}, {"scalar": "old"}, {"scalar": "new"}):
            assert apply({"scalar": "new"}, {"scalar": "live"}, last) == {"scalar": "new"}

    def test_in_config_only_is_set(self, apply: Merge) -> None:
        for last in ({}, {"scalar": "new"}):
            assert apply({"scalar": "new"}, {}, last) == {"scalar": "new"}

    def test_gone_from_config_is_removed_when_it_was_applied(self, apply: Merge) -> None:
        for live in ({"scalar": "live"}, {}):
            assert apply({}, live, {"scalar": "old"}) == {}

    def test_never_applied_is_left_alone(self, apply: Merge) -> None:
        for live in ({"scalar": "live"}, {}):
            assert apply({}, live, {}) == live


@ALL
@pytest.mark.parametrize("field", ["object", "map"])
class TestObjectsAndMaps:
    def test_in_config_and_live_is_merged_recursively(self, apply: Merge, field: str) -> None:
        live = {field: {"a": "live", "b": "foreign"}}
        assert apply({field: {"a": "new"}}, live, {}) == {field: {"a": "new", "b": "foreign"}}

    def test_in_config_only_is_set(self, apply: Merge, field: str) -> None:
        assert apply({field: {"a": "new"}}, {}, {}) == {field: {"a": "new"}}

    def test_gone_from_config_is_removed_when_it_was_applied(self, apply: Merge, field: str) -> None:
        assert apply({}, {field: {"a": "x", "b": "y"}}, {field: {"a": "x"}}) == {}

    def test_a_key_gone_from_config_is_removed_alone(self, apply: Merge, field: str) -> None:
        live = {field: {"a": "x", "b": "foreign"}}
        assert apply({field: {}}, live, {field: {"a": "x"}}) == {field: {"b": "foreign"}}

    def test_never_applied_is_left_alone(self, apply: Merge, field: str) -> None:
        assert apply({}, {field: {"a": "x"}}, {}) == {field: {"a": "x"}}
        assert apply({field: {"a": "x"}}, {field: {"a": "x", "b": "y"}}, {field: {"a": "x"}}) == {
            field: {"a": "x", "b": "y"}
        }


@MERGING
class TestListsOfPrimitivesThatMerge:
    def test_in_config_and_live_stays(self, apply: Merge) -> None:
        assert apply({"set": ["a"]}, {"set": ["a"]}, {}) == {"set": ["a"]}

    def test_in_config_only_is_added(self, apply: Merge) -> None:
        assert apply({"set": ["a", "c"]}, {"set": ["a"]}, {"set": ["a"]}) == {"set": ["a", "c"]}

    def test_gone_from_config_is_removed_when_it_was_applied(self, apply: Merge) -> None:
        assert apply({"set": ["a"]}, {"set": ["a", "b"]}, {"set": ["a", "b"]}) == {"set": ["a"]}

    def test_never_applied_is_left_alone(self, apply: Merge) -> None:
        assert apply({"set": ["a"]}, {"set": ["a", "d"]}, {"set": ["a"]}) == {"set": ["a", "d"]}

    def test_the_example_of_document_000(self, apply: Merge) -> None:
        assert apply({"set": ["a", "c"]}, {"set": ["a", "b", "d"]}, {"set": ["a", "b"]}) == {"set": ["a", "c", "d"]}

    def test_config_gives_the_order(self, apply: Merge) -> None:
        assert apply({"set": ["b", "a"]}, {"set": ["a", "b"]}, {"set": ["a", "b"]}) == {"set": ["b", "a"]}


@ALL
class TestListsOfPrimitivesThatAreReplaced:
    def test_the_config_replaces_live(self, apply: Merge) -> None:
        live = {"atomic": ["a", "b", "d"]}
        assert apply({"atomic": ["a", "c"]}, live, {"atomic": ["a", "b"]}) == {"atomic": ["a", "c"]}

    def test_gone_from_config_is_removed_when_it_was_applied(self, apply: Merge) -> None:
        assert apply({}, {"atomic": ["a"]}, {"atomic": ["a"]}) == {}

    def test_never_applied_is_left_alone(self, apply: Merge) -> None:
        assert apply({}, {"atomic": ["a"]}, {}) == {"atomic": ["a"]}


@MERGING
class TestListsOfObjects:
    def test_in_config_and_live_is_merged_recursively(self, apply: Merge) -> None:
        live = {"items": [{"name": "a", "v": "live", "w": "foreign"}]}
        config = {"items": [{"name": "a", "v": "new"}]}
        assert apply(config, live, {}) == {"items": [{"name": "a", "v": "new", "w": "foreign"}]}

    def test_in_config_only_is_added(self, apply: Merge) -> None:
        live = {"items": [{"name": "a"}]}
        assert apply({"items": [{"name": "a"}, {"name": "b"}]}, live, live) == {"items": [{"name": "a"}, {"name": "b"}]}

    def test_gone_from_config_is_removed_when_it_was_applied(self, apply: Merge) -> None:
        both = {"items": [{"name": "a"}, {"name": "b"}]}
        assert apply({"items": [{"name": "a"}]}, both, both) == {"items": [{"name": "a"}]}

    def test_never_applied_is_left_alone(self, apply: Merge) -> None:
        live = {"items": [{"name": "a"}, {"name": "b"}]}
        assert apply({"items": [{"name": "a"}]}, live, {"items": [{"name": "a"}]}) == live

    def test_a_field_gone_from_an_item_is_removed_from_it(self, apply: Merge) -> None:
        live = {"items": [{"name": "a", "v": "x", "w": "foreign"}]}
        last = {"items": [{"name": "a", "v": "x"}]}
        assert apply({"items": [{"name": "a"}]}, live, last) == {"items": [{"name": "a", "w": "foreign"}]}


LAST_CONTAINERS: list[dict[str, Any]] = [
    {"name": "nginx", "image": "nginx:1.10"},
    {"name": "nginx-helper-a", "image": "helper:1.3"},
    {"name": "nginx-helper-b", "image": "helper:1.3"},
]
LIVE_CONTAINERS: list[dict[str, Any]] = [
    {"name": "nginx", "image": "nginx:1.10"},
    {"name": "nginx-helper-a", "image": "helper:1.3"},
    {"name": "nginx-helper-b", "image": "helper:1.3", "args": ["run"]},
    {"name": "nginx-helper-d", "image": "helper:1.3"},
]


def containers_after(image: str) -> list[dict[str, Any]]:
    def pod(containers: list[dict[str, Any]]) -> dict[str, Any]:
        return {"spec": {"containers": containers}}

    schema = bundled("", "v1", "Pod")
    assert schema is not None
    config: list[dict[str, Any]] = [
        {"name": "nginx", "image": image},
        *[{"name": f"nginx-helper-{n}", "image": "helper:1.3"} for n in "bc"],
    ]
    patch = strategic.three_way_patch(pod(LAST_CONTAINERS), pod(config), pod(LIVE_CONTAINERS), schema)
    result: list[dict[str, Any]] = strategic.apply_patch(pod(LIVE_CONTAINERS), patch, schema)["spec"]["containers"]
    return result


def test_the_container_example_of_document_000_in_the_order_that_kubectl_gives() -> None:
    assert containers_after("nginx:1.10") == [
        {"name": "nginx", "image": "nginx:1.10"},
        {"name": "nginx-helper-b", "image": "helper:1.3", "args": ["run"]},
        {"name": "nginx-helper-d", "image": "helper:1.3"},
        {"name": "nginx-helper-c", "image": "helper:1.3"},
    ]


def test_the_container_example_of_document_001_updates_the_image() -> None:
    assert containers_after("nginx:1.11")[0] == {"name": "nginx", "image": "nginx:1.11"}


def test_args_of_a_container_are_replaced_as_document_001_says() -> None:
    schema = bundled("", "v1", "Pod")
    assert schema is not None

    def pod(args: list[str]) -> dict[str, Any]:
        return {"spec": {"containers": [{"name": "c", "args": args}]}}

    patch = strategic.three_way_patch(pod(["a", "b"]), pod(["a", "c"]), pod(["a", "b", "d"]), schema)
    assert strategic.apply_patch(pod(["a", "b", "d"]), patch, schema) == pod(["a", "c"])


def test_the_merge_calculation_of_document_001_step_by_step() -> None:
    schema = bundled("apps", "v1", "Deployment")
    assert schema is not None

    def deployment(image: str, **spec: Any) -> dict[str, Any]:
        container = {"name": "nginx", "image": image, "ports": [{"containerPort": 80}]}
        spec["template"] = {"metadata": {"labels": {"app": "nginx"}}, "spec": {"containers": [container]}}
        return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "nginx"}, "spec": spec}

    applied = stamp(deployment("nginx:1.7.9", minReadySeconds=5))
    live = {**applied, "spec": {**applied["spec"], "replicas": 2}}
    desired = stamp(deployment("nginx:1.11.9"))
    result = merge(original=deployment("nginx:1.7.9", minReadySeconds=5), modified=desired, live=live, schema=schema)
    assert result.write is not None
    assert result.write.body is not None
    assert result.write.body["spec"] == {
        "minReadySeconds": None,
        "template": {
            "spec": {
                "$setElementOrder/containers": [{"name": "nginx"}],
                "containers": [{"name": "nginx", "image": "nginx:1.11.9"}],
            }
        },
    }
    assert result.merged["spec"]["replicas"] == 2
    assert "minReadySeconds" not in result.merged["spec"]
    assert result.merged["metadata"] == desired["metadata"]
    assert [change.path for change in result.changes] == [
        "spec.minReadySeconds",
        "spec.template.spec.containers[name=nginx].image",
    ]


@ALL
def test_null_in_the_config_removes_what_live_has(apply: Merge) -> None:
    assert apply({"scalar": None}, {"scalar": "live"}, {"scalar": "old"}) == {}


def test_a_field_that_was_taken_out_of_last_applied_is_given_up() -> None:
    assert by_strategic_merge({}, {"scalar": "mine"}, {}) == {"scalar": "mine"}


def test_a_crd_without_list_information_follows_conventions() -> None:
    crd = {
        "spec": {
            "versions": [
                {
                    "name": "v1",
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
                        }
                    },
                }
            ]
        }
    }
    live = {"spec": {"list": [{"name": "a"}, {"name": "foreign"}]}}
    result = merge(
        original={"spec": {"list": [{"name": "a"}]}},
        modified={"spec": {"list": [{"name": "a"}, {"name": "b"}]}},
        live=live,
        schema=from_crd(crd, "v1"),
    )
    assert result.merged["spec"]["list"] == [{"name": "a"}, {"name": "b"}, {"name": "foreign"}]
