"""Discovery and the OpenAPI documents: how clients learn what there is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.contract import golden
from tests.contract.client import APPLY, JSON_PATCH, MERGE, STRATEGIC
from tests.contract.differences import differs

if TYPE_CHECKING:
    from tests.contract.client import Client
    from tests.contract.servers import Server

GROUPS = [
    "/api/v1",
    "/apis/admissionregistration.k8s.io/v1",
    "/apis/apiextensions.k8s.io/v1",
    "/apis/apiregistration.k8s.io/v1",
    "/apis/apps/v1",
    "/apis/authentication.k8s.io/v1",
    "/apis/authorization.k8s.io/v1",
    "/apis/autoscaling/v1",
    "/apis/autoscaling/v2",
    "/apis/batch/v1",
    "/apis/certificates.k8s.io/v1",
    "/apis/coordination.k8s.io/v1",
    "/apis/discovery.k8s.io/v1",
    "/apis/events.k8s.io/v1",
    "/apis/flowcontrol.apiserver.k8s.io/v1",
    "/apis/networking.k8s.io/v1",
    "/apis/node.k8s.io/v1",
    "/apis/policy/v1",
    "/apis/rbac.authorization.k8s.io/v1",
    "/apis/resource.k8s.io/v1",
    "/apis/scheduling.k8s.io/v1",
    "/apis/storage.k8s.io/v1",
]
NO_KUBELET = {
    "pods/attach",
    "pods/binding",
    "pods/ephemeralcontainers",
    "pods/exec",
    "pods/log",
    "pods/portforward",
    "pods/proxy",
    "pods/resize",
    "services/proxy",
    "nodes/proxy",
    "bindings",
    "componentstatuses",
}
"""What only a kubelet, a scheduler or a proxy could answer."""
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


def sorted_resources(body: dict[str, Any]) -> dict[str, Any]:
    found = {}
    for resource in body["resources"]:
        entry = {key: value for key, value in resource.items() if key != "storageVersionHash"}
        found[entry.pop("name")] = {**entry, "verbs": sorted(entry["verbs"])}
    return found


@pytest.mark.parametrize("where", GROUPS)
def test_a_group_lists_the_same_resources(server: Server, where: str) -> None:
    answer = server.client.get(where)
    assert answer.status == 200
    found = sorted_resources(answer.body)
    expected = {key: value for key, value in found.items() if key not in NO_KUBELET}
    name = where.removeprefix("/apis/").strip("/").replace("/", "-")
    golden.check(f"discovery/{name}", expected, real=server.real)


@differs("no-kubelet")
def test_what_only_a_kubelet_answers_is_served(client: Client) -> None:
    assert set(sorted_resources(client.get("/api/v1").body)) >= NO_KUBELET


def test_the_groups_are_listed_with_their_preferred_versions(client: Client) -> None:
    body = client.get("/apis").body
    assert (body["kind"], body["apiVersion"]) == ("APIGroupList", "v1")
    listed = {version["groupVersion"] for group in body["groups"] for version in group["versions"]}
    assert listed >= {where.removeprefix("/apis/") for where in GROUPS if where.startswith("/apis/")}
    autoscaling = next(group for group in body["groups"] if group["name"] == "autoscaling")
    assert autoscaling["preferredVersion"] == {"groupVersion": "autoscaling/v2", "version": "v2"}
    assert [version["version"] for version in autoscaling["versions"]] == ["v2", "v1"]


def test_one_group_tells_its_versions(client: Client) -> None:
    assert client.get("/apis/apps").body == {
        "kind": "APIGroup",
        "apiVersion": "v1",
        "name": "apps",
        "versions": [{"groupVersion": "apps/v1", "version": "v1"}],
        "preferredVersion": {"groupVersion": "apps/v1", "version": "v1"},
    }


@pytest.mark.parametrize("root", ["/api", "/apis"])
def test_everything_is_discovered_in_two_requests(client: Client, root: str) -> None:
    answer = client.ask("GET", root, headers={"Accept": f"{AGGREGATED},application/json"})
    assert answer.headers["Content-Type"] == AGGREGATED
    assert answer.headers["ETag"]
    body = answer.body
    assert (body["kind"], body["apiVersion"]) == ("APIGroupDiscoveryList", "apidiscovery.k8s.io/v2")
    for group in body["items"]:
        for version in group["versions"]:
            name = group["metadata"].get("name", "")
            where = f"/apis/{name}/{version['version']}" if name else f"/api/{version['version']}"
            if where not in GROUPS:
                continue
            plain = client.get(where).body["resources"]
            assert flat(version["resources"]) == {
                (item["name"], item["kind"], tuple(sorted(item["verbs"]))) for item in plain
            }


def flat(resources: list[dict[str, Any]]) -> set[tuple[str, str, tuple[str, ...]]]:
    found = set()
    for item in resources:
        found.add((item["resource"], item["responseKind"]["kind"], tuple(sorted(item["verbs"]))))
        for sub in item.get("subresources", ()):
            name = f"{item['resource']}/{sub['subresource']}"
            found.add((name, sub["responseKind"]["kind"], tuple(sorted(sub["verbs"]))))
    return found


def test_a_document_of_discovery_is_sent_once(client: Client) -> None:
    headers = {"Accept": AGGREGATED}
    tag = client.ask("GET", "/apis", headers=headers).headers["ETag"]
    again = client.ask("GET", "/apis", headers={**headers, "If-None-Match": tag})
    assert again.status in (200, 304)
    if again.status == 200:  # another test has defined a kind meanwhile
        assert again.headers["ETag"] != tag


def test_the_version_is_told(client: Client) -> None:
    body = client.get("/version").body
    assert (body["major"], body["minor"]) == ("1", "36")
    assert set(body) >= {"gitVersion", "gitCommit", "gitTreeState", "buildDate", "goVersion", "compiler", "platform"}


@pytest.mark.parametrize("where", ["/healthz", "/livez", "/readyz"])
def test_health_is_told(client: Client, where: str) -> None:
    answer = client.get(where)
    assert (answer.status, answer.data) == (200, b"ok")


def document(client: Client, where: str) -> Any:
    paths = client.get("/openapi/v3").body["paths"]
    url = paths[where.lstrip("/")]["serverRelativeURL"]
    assert "?hash=" in url
    return client.get(url).body


@pytest.mark.parametrize("where", GROUPS)
def test_each_group_has_a_document_with_its_kinds(client: Client, where: str) -> None:
    found = document(client, where)
    group, version = ("", "v1") if where == "/api/v1" else where.removeprefix("/apis/").split("/")
    documented = {
        entry["kind"]
        for schema in found["components"]["schemas"].values()
        for entry in schema.get("x-kubernetes-group-version-kind", ())
        if (entry["group"], entry["version"]) == (group, version)
    }
    resources = client.get(where).body["resources"]
    served = {item["kind"] for item in resources if "/" not in item["name"] and "list" in item["verbs"]}
    assert documented >= served


def test_documents_say_which_patches_a_kind_takes(client: Client) -> None:
    for where, one in (
        ("/apis/apps/v1", "/apis/apps/v1/namespaces/{namespace}/deployments/{name}"),
        ("/api/v1", "/api/v1/namespaces/{namespace}/configmaps/{name}"),
        ("/apis/apiextensions.k8s.io/v1", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}"),
    ):
        content = document(client, where)["paths"][one]["patch"]["requestBody"]["content"]
        assert set(content) >= {APPLY, JSON_PATCH, MERGE, STRATEGIC}


def test_documents_have_the_extensions_that_patches_need(client: Client) -> None:
    schemas = document(client, "/apis/apps/v1")["components"]["schemas"]
    pod = schemas["io.k8s.api.core.v1.PodSpec"]["properties"]
    assert pod["containers"]["x-kubernetes-patch-merge-key"] == "name"
    assert pod["containers"]["x-kubernetes-patch-strategy"] == "merge"
    assert pod["containers"]["x-kubernetes-list-type"] == "map"
    assert pod["containers"]["x-kubernetes-list-map-keys"] == ["name"]
    assert pod["volumes"]["x-kubernetes-patch-strategy"] == "merge,retainKeys"
    ports = schemas["io.k8s.api.core.v1.Container"]["properties"]["ports"]
    assert ports["x-kubernetes-list-map-keys"] == ["containerPort", "protocol"]
    selector = schemas["io.k8s.api.apps.v1.DeploymentSpec"]["properties"]["selector"]
    assert selector["allOf"][0]["$ref"] == "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector"
    assert schemas["io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector"]["x-kubernetes-map-type"] == "atomic"


def without_words(value: Any) -> Any:
    """A schema without descriptions, and without what the sandbox is known to leave out of it."""
    if isinstance(value, list):
        return [without_words(item) for item in value]
    if not isinstance(value, dict):
        return value
    left_out = {"description"}
    if isinstance(value.get("enum"), list):
        left_out.add("enum")
    if value.get("default") in ("", 0, {}):
        left_out.add("default")
    rest = {key: without_words(item) for key, item in value.items() if key not in left_out}
    # A reference alone is wrapped only because of the default beside it.
    return rest["allOf"][0] if set(rest) == {"allOf"} else rest


KINDS = {
    "/apis/apps/v1": ["Deployment", "DeploymentSpec", "StatefulSetSpec"],
    "/api/v1": ["ConfigMap", "Container", "PodSpec", "PodTemplateSpec", "Secret", "ServiceSpec", "Volume"],
    "/apis/networking.k8s.io/v1": ["Ingress", "IngressSpec"],
    "/apis/batch/v1": ["CronJobSpec", "JobSpec"],
    "/apis/autoscaling/v2": ["HorizontalPodAutoscalerSpec"],
    "/apis/rbac.authorization.k8s.io/v1": ["Role", "RoleBinding"],
}


@pytest.mark.parametrize("where", KINDS)
def test_schemas_are_the_same(server: Server, where: str) -> None:
    schemas = document(server.client, where)["components"]["schemas"]
    found = {}
    for name, schema in schemas.items():
        last = name.rpartition(".")[2]
        if last in KINDS[where] and name.startswith("io.k8s.api."):
            found[last] = without_words(schema)
    golden.check(f"schemas/{where.strip('/').replace('/', '-')}", found, real=server.real)


@differs("enums")
def test_schemas_name_the_values_that_a_field_may_have(client: Client) -> None:
    schemas = document(client, "/apis/batch/v1")["components"]["schemas"]
    policy = schemas["io.k8s.api.batch.v1.CronJobSpec"]["properties"]["concurrencyPolicy"]
    assert policy["enum"] == ["Allow", "Forbid", "Replace"]


@differs("zero-defaults")
def test_schemas_name_the_zero_values_of_go(client: Client) -> None:
    schemas = document(client, "/apis/batch/v1")["components"]["schemas"]
    spec = schemas["io.k8s.api.batch.v1.CronJobSpec"]["properties"]
    assert (spec["schedule"]["default"], spec["jobTemplate"]["default"]) == ("", {})


def test_the_old_document_has_definitions_for_the_same_kinds(client: Client) -> None:
    definitions = client.get("/openapi/v2").body["definitions"]
    deployment = definitions["io.k8s.api.apps.v1.Deployment"]
    assert deployment["x-kubernetes-group-version-kind"] == [{"group": "apps", "version": "v1", "kind": "Deployment"}]
    containers = definitions["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"]
    assert containers["x-kubernetes-patch-merge-key"] == "name"
