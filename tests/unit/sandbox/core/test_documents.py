from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from scripts import generate_sandbox_openapi
from syncd.merge import schema as patch_schema
from syncd.sandbox import openapi
from syncd.sandbox.kinds import BUILT_IN, built_in

if TYPE_CHECKING:
    from tests.unit.sandbox.core.client import Http

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
V2_PROTOBUF = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"


def test_the_committed_schemas_are_those_of_the_package() -> None:
    written = orjson.loads(gzip.decompress(generate_sandbox_openapi.TARGET.read_bytes()))
    expected = {"release": generate_sandbox_openapi.RELEASE, "definitions": generate_sandbox_openapi.definitions()}
    assert written == expected, "run python scripts/generate_sandbox_openapi.py"


def test_classic_and_aggregated_discovery_name_the_same(http: Http) -> None:
    classic = set()
    roots = ["/api/v1"]
    roots += [f"/apis/{v['groupVersion']}" for group in http.get("/apis").data["groups"] for v in group["versions"]]
    for root in roots:
        document = http.get(root).data
        classic |= {(document["groupVersion"], resource["name"]) for resource in document["resources"]}
    aggregated = set()
    for root in ("/api", "/apis"):
        for group in http.get(root, accept=AGGREGATED).data["items"]:
            for version in group["versions"]:
                name = group["metadata"].get("name")
                prefix = f"{name}/{version['version']}" if name else version["version"]
                for resource in version["resources"]:
                    aggregated.add((prefix, resource["resource"]))
                    for subresource in resource.get("subresources", ()):
                        aggregated.add((prefix, f"{resource['resource']}/{subresource['subresource']}"))
    assert classic == aggregated
    assert ("apps/v1", "deployments/scale") in classic


def test_the_core_group_is_told_apart(http: Http) -> None:
    assert http.get("/api").data["versions"] == ["v1"]
    assert http.get("/apis/apps").data["preferredVersion"] == {"groupVersion": "apps/v1", "version": "v1"}
    assert http.get("/apis/nope").status == 404
    assert http.get("/apis/apps/v9").status == 404


def test_autoscaling_prefers_its_second_version(http: Http) -> None:
    assert http.get("/apis/autoscaling").data["preferredVersion"]["version"] == "v2"


def test_openapi_documents_can_be_kept_by_their_hash(http: Http) -> None:
    paths = http.get("/openapi/v3").data["paths"]
    assert len(paths) == len({(kind.group, kind.version) for kind in BUILT_IN})
    url = paths["apis/apps/v1"]["serverRelativeURL"]
    document = http.get(url)
    assert "immutable" in document.headers["cache-control"]
    assert http.get(url, if_none_match=document.headers["etag"]).status == 304
    assert http.get("/openapi/v3/apis/nope/v1").status == 404


@pytest.mark.parametrize("kind", [kind for kind in BUILT_IN if "patch" in kind.verbs], ids=str)
def test_every_kind_has_a_schema_that_patches_can_be_made_with(kind: Any) -> None:
    found = openapi.built_in_schema(kind)
    assert found.field("metadata") is not None
    assert openapi.name_of(kind) in openapi.definitions()


def test_a_document_says_how_lists_merge(http: Http) -> None:
    document = http.get("/openapi/v3/apis/apps/v1").data
    schemas = document["components"]["schemas"]
    containers = schemas["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"]
    assert containers["x-kubernetes-patch-merge-key"] == "name"
    assert containers["x-kubernetes-list-map-keys"] == ["name"]
    assert patch_schema.from_openapi_v3(document, "apps", "v1", "Deployment") is not None


def test_a_document_says_which_patches_and_parameters_are_taken(http: Http) -> None:
    document = http.get("/openapi/v3/apis/apps/v1").data
    operation = document["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["patch"]
    assert "application/strategic-merge-patch+json" in operation["requestBody"]["content"]
    assert {"dryRun", "fieldValidation"} <= {parameter["name"] for parameter in operation["parameters"]}


def test_references_of_every_document_lead_somewhere(http: Http) -> None:
    def references(value: Any) -> set[str]:
        if isinstance(value, dict):
            own = {value["$ref"]} if isinstance(value.get("$ref"), str) else set()
            return own.union(*map(references, value.values()))
        return set().union(*map(references, value)) if isinstance(value, list) else set()

    for path in http.get("/openapi/v3").data["paths"].values():
        document = http.get(path["serverRelativeURL"]).data
        known = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}
        assert references(document) <= known
    second = http.get("/openapi/v2").data
    assert references(second) <= {f"#/definitions/{name}" for name in second["definitions"]}


def test_version_2_is_made_in_json_and_protobuf(http: Http) -> None:
    assert http.get("/openapi/v2", accept=f"{V2_PROTOBUF},application/json").data.startswith(b"\n\x032.0")
    assert http.get("/openapi/v2", accept="application/json").data["swagger"] == "2.0"
    assert http.get("/openapi/v2", accept="text/html").status == 406


def test_schemas_walk_through_references() -> None:
    root = openapi.built_in_schema(built_in("apps", "Deployment"))
    template = root.field("spec") and root.field("spec").field("template")  # type: ignore[union-attr]  # just seen
    assert template is not None
    spec = template.field("spec")
    assert spec is not None
    containers = spec.field("containers")
    assert containers is not None
    assert (containers.type, containers.list_type, containers.list_map_keys) == ("array", "map", ("name",))
    assert containers.items is not None
    assert containers.items.knows("image")
    assert not containers.items.knows("imagine")


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz", "/readyz/etcd"])
def test_the_server_says_that_it_is_well(http: Http, path: str) -> None:
    assert http.get(path).data == b"ok"


def test_the_version_tells_that_it_is_no_real_server(http: Http) -> None:
    assert http.get("/version").data["gitVersion"].endswith("+sandbox")
