"""Dynamic apply: the conventions of document 004, and its four limitations lifted by rule."""

from __future__ import annotations

from typing import Any

import pytest

from syncd.merge import dynamic
from syncd.merge.errors import TooDeepError
from syncd.merge.jsonvalue import copy, equal
from syncd.merge.rules import ATOMIC, CONVENTIONAL_KEYS, MAP, SET, ListRule, UserRule
from syncd.merge.schema import PatchSchema, from_crd
from tests.unit.merge.cluster import Cluster

WEB = {"name": "nginx", "image": "nginx", "ports": [{"containerPort": 80, "name": "web"}]}
SIDECAR = {"name": "sidecar", "image": "log-uploader"}


def cat_set(*containers: dict[str, Any]) -> dict[str, Any]:
    return {"template": {"metadata": {"labels": {"app": "nginx"}}, "spec": {"containers": list(containers)}}}


def crd_schema(**properties: Any) -> PatchSchema:
    spec = {"type": "object", "properties": properties}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    return from_crd({"spec": {"versions": [{"name": "v1", "schema": schema}]}}, "v1")


def custom(schema: PatchSchema | None = None, *rules: UserRule) -> Cluster:
    cluster = Cluster("CatSet", "ctl.enisoc.com", schema)
    cluster.rules = rules
    return cluster


class TestTheExample:
    def test_a_sidecar_that_somebody_added_stays(self) -> None:
        cluster = custom()
        cluster.apply(spec=cat_set(WEB))
        cluster.change(spec=cat_set(WEB, SIDECAR))
        cluster.apply(spec=cat_set({**WEB, "image": "nginx:2"}))
        assert cluster.live["spec"] == cat_set({**WEB, "image": "nginx:2"}, SIDECAR)

    def test_by_dynamic_apply_itself(self) -> None:
        observed = {"spec": cat_set(WEB, SIDECAR)}
        desired = {"spec": cat_set({**WEB, "image": "nginx:2"})}
        assert dynamic.merge(observed, {"spec": cat_set(WEB)}, desired) == {
            "spec": cat_set({**WEB, "image": "nginx:2"}, SIDECAR)
        }


class TestConventions:
    @pytest.mark.parametrize("key", CONVENTIONAL_KEYS)
    def test_each_conventional_key_is_a_merge_key(self, key: str) -> None:
        observed = {"list": [{key: "a", "keep": 1}, {key: "gone"}, {key: "foreign"}]}
        last = {"list": [{key: "a"}, {key: "gone"}]}
        desired = {"list": [{key: "a", "new": 2}, {key: "b"}]}
        assert dynamic.merge(observed, last, desired) == {
            "list": [{key: "a", "keep": 1, "new": 2}, {key: "foreign"}, {key: "b"}]
        }

    def test_the_first_key_in_their_order_counts(self) -> None:
        observed = {"list": [{"name": "x", "containerPort": 80, "keep": 1}]}
        desired = {"list": [{"name": "y", "containerPort": 80}]}
        assert dynamic.merge(observed, {}, desired) == {"list": [{"name": "y", "containerPort": 80, "keep": 1}]}

    def test_all_items_of_all_lists_must_have_the_key(self) -> None:
        observed = {"list": [{"name": "a", "keep": 1}, {"other": "b"}]}
        assert dynamic.merge(observed, {}, {"list": [{"name": "a"}]}) == {"list": [{"name": "a"}]}
        last = {"list": [{"other": "b"}]}
        assert dynamic.merge({"list": [{"name": "k"}]}, last, {"list": [{"name": "a"}]}) == {"list": [{"name": "a"}]}

    @pytest.mark.parametrize("item", ["text", 1, None, ["list"]])
    def test_all_items_must_be_objects(self, item: Any) -> None:
        assert dynamic.merge({"list": [{"name": "a"}, item]}, {}, {"list": [{"name": "b"}]}) == {
            "list": [{"name": "b"}]
        }

    def test_a_key_whose_value_is_no_scalar_is_none(self) -> None:
        observed = {"list": [{"name": {"x": 1}, "keep": 1}]}
        assert dynamic.merge(observed, {}, {"list": [{"name": {"x": 1}}]}) == {"list": [{"name": {"x": 1}}]}

    def test_a_key_that_repeats_is_none(self) -> None:
        """metacontroller#371: 53/UDP and 53/TCP became TCP twice."""
        both = [{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}]
        assert dynamic.merge({"ports": both[:1]}, {}, {"ports": both}) == {"ports": both}
        subjects = [{"kind": "User", "name": "ci"}, {"kind": "Group", "name": "ci"}]
        assert dynamic.merge({"subjects": subjects}, {"subjects": subjects}, {"subjects": subjects}) == {
            "subjects": subjects
        }

    def test_types_of_keys_count(self) -> None:
        observed = {"list": [{"port": 1, "keep": 1}]}
        assert dynamic.merge(observed, {}, {"list": [{"port": "1"}, {"port": True}]}) == {
            "list": [{"port": 1, "keep": 1}, {"port": "1"}, {"port": True}]
        }

    def test_the_desired_order_of_items_that_are_there_is_kept(self) -> None:
        """metacontroller#562: reordering was ignored."""
        items = [{"name": name} for name in "abc"]
        assert dynamic.merge({"env": [items[0], items[2], items[1]]}, {}, {"env": items}) == {"env": items}


class TestMaps:
    def test_a_scalar_over_a_map_and_the_other_way_round(self) -> None:
        assert dynamic.merge({"a": {"b": 1}}, {"a": {"b": 1}}, {"a": "text"}) == {"a": "text"}
        assert dynamic.merge({"a": "text"}, {}, {"a": {"b": 1}}) == {"a": {"b": 1}}

    def test_null_removes(self) -> None:
        assert dynamic.merge({"a": {"b": 1}, "c": 2}, {}, {"a": None}) == {"c": 2}

    def test_inputs_are_not_changed(self) -> None:
        documents: list[Any] = [{"spec": cat_set(WEB, SIDECAR)}, {"spec": cat_set(WEB)}, {"spec": cat_set()}]
        before = copy(documents)
        dynamic.merge(*documents)
        assert equal(documents, before)

    def test_nesting_without_bound_is_an_error(self) -> None:
        deep: Any = {}
        for _ in range(100_000):
            deep = {"a": deep}
        with pytest.raises(TooDeepError):
            dynamic.merge(deep, deep, deep)
        while deep:
            deep = deep.pop("a")


SCHEMALESS = {"x-kubernetes-preserve-unknown-fields": True, "type": "object"}
LIST = {"type": "array", "items": SCHEMALESS}


def declared(**extensions: Any) -> PatchSchema:
    return crd_schema(
        list={**LIST, **{f"x-kubernetes-{key.replace('_', '-')}": value for key, value in extensions.items()}}
    )


def by_user(rule: ListRule) -> Cluster:
    return custom(None, UserRule(("spec", "list"), rule))


def after(cluster: Cluster, last: list[Any], live: list[Any], desired: list[Any]) -> Any:
    cluster.apply(spec={"list": last})
    cluster.change(spec={"list": live})
    cluster.apply(spec={"list": desired})
    assert cluster.apply(spec={"list": desired}).write is None
    return cluster.live["spec"]["list"]


@pytest.mark.parametrize("cluster", [custom(declared(list_type="atomic")), by_user(ListRule(ATOMIC))])
def test_atomic_lists_of_objects_are_replaced(cluster: Cluster) -> None:
    assert after(cluster, [{"name": "a"}], [{"name": "a", "x": 1}, {"name": "f"}], [{"name": "b"}]) == [{"name": "b"}]


@pytest.mark.parametrize(
    "cluster", [custom(declared(list_type="map", list_map_keys=["host"])), by_user(ListRule(MAP, ("host",)))]
)
def test_unconventional_keys_merge(cluster: Cluster) -> None:
    live = [{"host": "a", "name": "same", "x": 1}, {"host": "f", "name": "same"}, {"host": "old", "name": "same"}]
    last = [{"host": "a", "name": "same"}, {"host": "old", "name": "same"}]
    assert after(cluster, last, live, [{"host": "a", "name": "new"}]) == [
        {"host": "a", "name": "new", "x": 1},
        {"host": "f", "name": "same"},
    ]


@pytest.mark.parametrize(
    "cluster",
    [
        custom(declared(list_type="map", list_map_keys=["port", "protocol"])),
        by_user(ListRule(MAP, ("port", "protocol"))),
    ],
)
def test_keys_of_several_fields_merge(cluster: Cluster) -> None:
    udp, tcp, sctp = ({"port": 53, "protocol": protocol} for protocol in ("UDP", "TCP", "SCTP"))
    assert after(cluster, [udp, tcp], [{**udp, "x": 1}, tcp, sctp], [udp]) == [{**udp, "x": 1}, sctp]


@pytest.mark.parametrize("cluster", [custom(declared(list_type="set")), by_user(ListRule(SET))])
def test_sets_of_scalars_merge(cluster: Cluster) -> None:
    assert after(cluster, ["a", "b"], ["a", "b", "f"], ["a", "c"]) == ["a", "c", "f"]


def test_a_users_rule_goes_before_the_schema() -> None:
    cluster = custom(declared(list_type="atomic"), UserRule(("spec", "list"), ListRule(MAP, ("name",))))
    assert after(cluster, [{"name": "a"}], [{"name": "a"}, {"name": "f"}], [{"name": "b"}]) == [
        {"name": "b"},
        {"name": "f"},
    ]


def test_a_users_rule_reaches_lists_within_lists() -> None:
    cluster = custom(None, UserRule(("spec", "routes", "hosts"), ListRule(SET)))
    cluster.apply(spec={"routes": [{"name": "r", "hosts": ["a"]}]})
    cluster.change(spec={"routes": [{"name": "r", "hosts": ["a", "f"]}]})
    cluster.apply(spec={"routes": [{"name": "r", "hosts": ["b"]}]})
    assert cluster.live["spec"]["routes"] == [{"name": "r", "hosts": ["b", "f"]}]


@pytest.mark.parametrize("key", ["host", "name"])
def test_keys_that_repeat_on_any_side_never_delete_by_key(key: str) -> None:
    cluster = by_user(ListRule(MAP, (key,)))
    own, foreign = {key: "a", "owner": "us"}, {key: "a", "owner": "them"}
    assert after(cluster, [own], [own, foreign], []) == [foreign]


def test_a_list_whose_items_lack_the_declared_key_is_replaced() -> None:
    cluster = custom(declared(list_type="map", list_map_keys=["host"]))
    assert after(cluster, [{"host": "a"}], [{"host": "a"}, {"host": "f"}], [{"other": "b"}]) == [{"other": "b"}]


def test_defaults_complete_a_key() -> None:
    item = {"type": "object", "properties": {"port": {"type": "integer"}, "via": {"type": "string", "default": "tcp"}}}
    ports = {
        "type": "array",
        "items": item,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["port", "via"],
    }
    cluster = custom(crd_schema(list=ports))
    assert after(
        cluster, [{"port": 1}], [{"port": 1, "via": "tcp"}, {"port": 1, "via": "udp"}], [{"port": 1, "x": 2}]
    ) == [
        {"port": 1, "via": "tcp", "x": 2},
        {"port": 1, "via": "udp"},
    ]


class TestPodTemplatesInCustomResources:
    def test_their_lists_merge_as_in_a_pod(self) -> None:
        cluster = custom(crd_schema(template=SCHEMALESS))
        udp, tcp = ({"containerPort": 53, "protocol": protocol} for protocol in ("UDP", "TCP"))
        cluster.apply(spec=cat_set({**WEB, "ports": [udp, tcp]}))
        cluster.change(spec=cat_set({**WEB, "ports": [{**udp, "hostPort": 1}, tcp]}, SIDECAR))
        cluster.apply(spec=cat_set({**WEB, "ports": [udp]}))
        assert cluster.live["spec"] == cat_set({**WEB, "ports": [{**udp, "hostPort": 1}]}, SIDECAR)

    def test_their_atomic_lists_are_atomic(self) -> None:
        cluster = custom(crd_schema(template=SCHEMALESS))
        toleration = {"key": "a", "operator": "Exists"}
        template = cat_set(WEB)
        template["template"]["spec"]["tolerations"] = [toleration]
        cluster.apply(spec=template)
        cluster.change(spec={"template": {"spec": {"tolerations": [toleration, {"key": "foreign"}]}}})
        cluster.apply(spec=template)
        assert cluster.live["spec"] == template

    def test_a_list_of_containers_that_are_none_is_not_taken_for_a_pod(self) -> None:
        cluster = custom()
        cluster.apply(spec={"containers": [{"name": "box", "ports": [{"port": 1, "containerPort": 5}]}]})
        result = cluster.apply(spec={"containers": [{"name": "box", "ports": [{"port": 2, "containerPort": 5}]}]})
        assert [change.path for change in result.changes] == ["spec.containers[name=box].ports[containerPort=5].port"]


def test_the_metadata_of_a_custom_resource_merges_like_any() -> None:
    cluster = custom(crd_schema())
    cluster.apply(metadata={"finalizers": ["a"]}, spec={})
    cluster.change(metadata={"finalizers": ["a", "foreign"]})
    cluster.apply(metadata={"finalizers": ["a", "b"]}, spec={})
    assert cluster.live["metadata"]["finalizers"] == ["a", "b", "foreign"]
