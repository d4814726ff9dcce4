from __future__ import annotations

import gzip
import runpy
from pathlib import Path
from typing import Any

import orjson
import pytest

from syncd.merge.schema import ANYTHING, Meaning, PatchSchema, Shape, bundled, from_crd, from_openapi_v3

ROOT = Path(__file__).parents[3]


def descend(schema: PatchSchema | None, *names: str) -> PatchSchema:
    assert schema is not None
    for name in names:
        field = schema.field(name)
        assert field is not None, name
        schema = field.schema.items if field.schema.shape is Shape.LIST else field.schema
    return schema


class TestTheBundledTable:
    def test_it_is_fresh(self) -> None:
        generator = runpy.run_path(str(ROOT / "scripts" / "generate_patch_table.py"))
        stored = gzip.decompress((ROOT / "syncd" / "merge" / "patch_table.json.gz").read_bytes())
        assert orjson.loads(stored) == generator["table"](), "run python scripts/generate_patch_table.py"

    @pytest.mark.parametrize(
        ("group", "version", "kind"),
        [
            ("", "v1", "Pod"),
            ("apps", "v1", "Deployment"),
            ("batch", "v1", "CronJob"),
            ("rbac.authorization.k8s.io", "v1", "ClusterRole"),
            ("apiextensions.k8s.io", "v1", "CustomResourceDefinition"),
            ("apiregistration.k8s.io", "v1", "APIService"),
            ("policy", "v1", "PodDisruptionBudget"),
        ],
    )
    def test_it_has_the_built_in_kinds(self, group: str, version: str, kind: str) -> None:
        schema = bundled(group, version, kind)
        assert schema is not None
        assert schema.accepts_strategic
        assert schema is bundled(group, version, kind)

    def test_it_has_nothing_else(self) -> None:
        assert bundled("example.com", "v1", "Deployment") is None
        assert bundled("apps", "v1beta1", "Deployment") is None

    def test_it_knows_strategies_keys_and_list_types(self) -> None:
        pod = descend(bundled("apps", "v1", "Deployment"), "spec", "template", "spec")
        volumes = pod.field("volumes")
        assert volumes is not None
        assert (volumes.strategy, volumes.retain_keys, volumes.merge_key) == ("merge", True, "name")
        ports = descend(pod, "containers").field("ports")
        assert ports is not None
        assert (ports.merge_key, ports.list_map_keys) == ("containerPort", ("containerPort", "protocol"))
        protocol = ports.schema.items.field("protocol")
        assert protocol is not None
        assert protocol.default == "TCP"
        finalizers = descend(bundled("", "v1", "Pod"), "metadata").field("finalizers")
        assert finalizers is not None
        assert (finalizers.strategy, finalizers.merge_key, finalizers.list_type) == ("merge", "", "set")

    def test_it_knows_what_scalars_mean(self) -> None:
        limits = descend(bundled("", "v1", "Pod"), "spec", "containers", "resources", "limits")
        assert limits.shape is Shape.MAP
        assert descend(limits, "cpu").meaning is Meaning.QUANTITY
        assert descend(bundled("", "v1", "Secret"), "data", "any").meaning is Meaning.BYTES
        assert descend(bundled("", "v1", "Service"), "spec", "ports", "targetPort").meaning is Meaning.INT_OR_STRING
        assert descend(bundled("", "v1", "ConfigMap"), "data", "any").meaning is Meaning.PLAIN

    def test_it_knows_which_kinds_have_a_status(self) -> None:
        deployment, config = bundled("apps", "v1", "Deployment"), bundled("", "v1", "ConfigMap")
        assert deployment is not None
        assert config is not None
        assert deployment.has_status
        assert not config.has_status


def v3_document(content_type: str) -> dict[str, Any]:
    gvk = {"group": "example.com", "version": "v1", "kind": "Thing"}
    patch = {"x-kubernetes-group-version-kind": gvk, "requestBody": {"content": {content_type: {}}}}
    ports = {
        "type": "array",
        "items": {"default": {}, "allOf": [{"$ref": "#/components/schemas/Port"}]},
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["port"],
        "x-kubernetes-patch-strategy": "merge,retainKeys",
        "x-kubernetes-patch-merge-key": "port",
    }
    strategy = {
        "allOf": [{"$ref": "#/components/schemas/Port"}],
        "x-kubernetes-patch-strategy": "retainKeys",
    }
    return {
        "paths": {
            "/apis/example.com/v1/things/{name}": {"patch": patch},
            "/apis/example.com/v1/things/{name}/status": {"patch": patch},
            "/apis/example.com/v1/others/{name}": {"get": {}},
        },
        "components": {
            "schemas": {
                "Thing": {
                    "type": "object",
                    "properties": {
                        "ports": ports,
                        "strategy": strategy,
                        "self": {"$ref": "#/components/schemas/Thing"},
                    },
                    "x-kubernetes-group-version-kind": [gvk],
                },
                "Port": {"type": "object", "properties": {"port": {"type": "integer"}}},
            }
        },
    }


class TestOpenApiV3:
    def test_extensions_are_read_before_references_are_followed(self) -> None:
        schema = from_openapi_v3(v3_document("application/strategic-merge-patch+json"), "example.com", "v1", "Thing")
        assert schema is not None
        ports, strategy = schema.field("ports"), schema.field("strategy")
        assert ports is not None
        assert strategy is not None
        assert (ports.strategy, ports.retain_keys, ports.merge_key) == ("merge", True, "port")
        assert ports.list_map_keys == ("port",)
        assert (strategy.strategy, strategy.retain_keys) == ("", True)
        assert ports.schema.items.field("port") is not None
        assert strategy.schema.field("port") is not None

    def test_recursive_schemas_are_one_schema(self) -> None:
        schema = from_openapi_v3(v3_document("x"), "example.com", "v1", "Thing")
        assert descend(schema, "self", "self", "self") is schema

    def test_the_patch_operation_says_whether_the_server_takes_strategic_merge(self) -> None:
        for content_type, accepts in (
            ("application/strategic-merge-patch+json", True),
            ("application/merge-patch+json", False),
        ):
            schema = from_openapi_v3(v3_document(content_type), "example.com", "v1", "Thing")
            assert schema is not None
            assert schema.accepts_strategic is accepts
            assert schema.has_status

    def test_a_kind_that_the_document_lacks(self) -> None:
        assert from_openapi_v3(v3_document("x"), "example.com", "v1", "Other") is None
        assert from_openapi_v3({}, "example.com", "v1", "Thing") is None

    def test_a_reference_to_nowhere_says_nothing(self) -> None:
        document = v3_document("x")
        del document["components"]["schemas"]["Port"]
        assert descend(from_openapi_v3(document, "example.com", "v1", "Thing"), "strategy") is ANYTHING


def crd(schema: dict[str, Any], **version: Any) -> dict[str, Any]:
    return {"spec": {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": schema}, **version}, {"name": "v2"}]}}


class TestCustomResourceDefinitions:
    def test_lists_maps_and_metadata(self) -> None:
        rules = {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["host"],
            "items": {"type": "object"},
        }
        schema = from_crd(
            crd({"type": "object", "properties": {"spec": {"type": "object", "properties": {"rules": rules}}}}), "v1"
        )
        field = descend(schema, "spec").field("rules")
        assert field is not None
        assert (field.list_type, field.list_map_keys) == ("map", ("host",))
        finalizers = descend(schema, "metadata").field("finalizers")
        assert finalizers is not None
        assert finalizers.list_type == "set"
        assert not schema.accepts_strategic

    def test_a_version_without_a_schema_says_nothing_but_metadata(self) -> None:
        schema = from_crd(crd({}), "v2")
        assert descend(schema, "metadata", "labels").shape is Shape.MAP
        assert schema.field("spec") is None

    def test_a_version_that_is_not_there(self) -> None:
        with pytest.raises(KeyError):
            from_crd(crd({}), "v3")

    def test_the_status_subresource(self) -> None:
        assert from_crd(crd({}, subresources={"status": {}}), "v1").has_status
        assert not from_crd(crd({}), "v1").has_status

    def test_unknown_fields_that_are_preserved_can_be_anything(self) -> None:
        free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        named = {**free, "properties": {"known": {"type": "string"}}}
        schema = from_crd(crd({"type": "object", "properties": {"free": free, "named": named}}), "v1")
        assert descend(schema, "free", "any", "thing").shape is Shape.ANY
        assert descend(schema, "named", "any").shape is Shape.ANY
        assert descend(schema, "named", "known").shape is Shape.SCALAR

    def test_embedded_resources_have_metadata(self) -> None:
        embedded = {
            "type": "object",
            "x-kubernetes-embedded-resource": True,
            "properties": {"spec": {"type": "object"}},
        }
        schema = from_crd(crd({"type": "object", "properties": {"template": embedded}}), "v1")
        assert descend(schema, "template", "metadata").field("finalizers") is not None

    def test_quantities_and_ints_or_strings(self) -> None:
        quantity = {
            "x-kubernetes-int-or-string": True,
            "pattern": r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE])?$",
        }
        properties = {"memory": quantity, "port": {"x-kubernetes-int-or-string": True}}
        schema = from_crd(crd({"type": "object", "properties": properties}), "v1")
        assert descend(schema, "memory").meaning is Meaning.QUANTITY
        assert descend(schema, "port").meaning is Meaning.INT_OR_STRING

    def test_declared_unions(self) -> None:
        branches = [{"required": ["a"]}, {"required": ["b"]}]
        assert [union.members for union in from_crd(crd({"type": "object", "oneOf": branches}), "v1").unions] == [
            {"a", "b"}
        ]
        assert (
            from_crd(crd({"type": "object", "oneOf": [{"required": ["a", "b"]}, {"required": ["c"]}]}), "v1").unions
            == ()
        )
        assert from_crd(crd({"type": "object", "oneOf": [{"type": "string"}]}), "v1").unions == ()


def test_a_definition_that_is_not_there() -> None:
    with pytest.raises(KeyError):
        PatchSchema.from_openapi({}, "Missing")


def test_the_schema_that_says_nothing() -> None:
    assert descend(ANYTHING, "a", "b", "c") is ANYTHING
    assert ANYTHING.items is ANYTHING
    assert not ANYTHING.accepts_strategic
