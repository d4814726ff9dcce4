from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.unit.sandbox.core.client import MERGE, STRATEGIC, TABLE, Http, definition

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.sandbox.core.conftest import Start

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"


def widget(name: str = "a", api_version: str = "example.com/v1", **fields: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": "Widget", "metadata": {"name": name}} | fields


@pytest.fixture
def define(start: Start) -> Callable[..., Http]:
    """Start a server that serves widgets, and wait until it does."""

    def make(**version: Any) -> Http:
        _, http = start(controllers=True)
        assert http.post(DEFINITIONS, definition(**version)).status == 201
        for event in http.watch(f"{DEFINITIONS}?watch=1&fieldSelector=metadata.name%3Dwidgets.example.com"):
            conditions = {c["type"]: c["status"] for c in event["object"].get("status", {}).get("conditions") or ()}
            if conditions.get("Established") == "True":
                break
        return http

    return make


def test_a_definition_brings_a_resource_and_takes_it_away(define: Callable[..., Http]) -> None:
    http = define()
    assert http.post(WIDGETS, widget(spec={"size": 1})).status == 201
    listed = http.get(WIDGETS).data
    assert (listed["kind"], listed["items"][0]["kind"]) == ("WidgetList", "Widget")
    assert "example.com" in {group["name"] for group in http.get("/apis").data["groups"]}
    watch = http.watch(f"{DEFINITIONS}?watch=1")
    http.delete(f"{DEFINITIONS}/widgets.example.com")
    assert any(event["type"] == "DELETED" for event in watch)
    assert http.get(WIDGETS).status == 404


def test_fields_that_the_schema_does_not_know_are_pruned(define: Callable[..., Http]) -> None:
    http = define()
    created = http.post(WIDGETS, widget(spec={"size": 1, "colour": "red"}))
    assert created.data["spec"] == {"size": 1}
    assert created.headers["warning"] == '299 - "unknown field \\"spec.colour\\""'


def test_a_custom_resource_takes_no_strategic_patch_and_needs_a_version_to_be_replaced(
    define: Callable[..., Http],
) -> None:
    http = define()
    http.post(WIDGETS, widget())
    refused = http.patch(f"{WIDGETS}/a", {"spec": {"size": 1}}, STRATEGIC)
    assert (refused.status, refused.data["reason"]) == (415, "UnsupportedMediaType")
    assert http.patch(f"{WIDGETS}/a", {"spec": {"size": 1}}, MERGE).status == 200
    assert http.put(f"{WIDGETS}/a", widget()).status == 422


def test_every_field_but_metadata_counts_as_a_generation(define: Callable[..., Http]) -> None:
    http = define()
    http.post(WIDGETS, widget())
    assert http.patch(f"{WIDGETS}/a", {"metadata": {"labels": {"a": "b"}}}).data["metadata"]["generation"] == 1
    assert http.patch(f"{WIDGETS}/a", {"status": {"phase": "x"}}).data["metadata"]["generation"] == 2


def test_a_status_of_its_own_does_not(define: Callable[..., Http]) -> None:
    http = define(subresources={"status": {}})
    http.post(WIDGETS, widget(spec={"size": 1}))
    patched = http.patch(f"{WIDGETS}/a/status", {"status": {"phase": "x"}, "spec": {"size": 2}})
    assert (patched.data["metadata"]["generation"], patched.data["spec"]) == (1, {"size": 1})


def test_scale_follows_the_paths_that_are_declared(define: Callable[..., Http]) -> None:
    scale = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    http = define(subresources={"status": {}, "scale": scale})
    http.post(WIDGETS, widget())
    assert http.patch(f"{WIDGETS}/a/scale", {"spec": {"replicas": 3}}).data["spec"] == {"replicas": 3}
    assert http.get(f"{WIDGETS}/a").data["spec"] == {"replicas": 3}


def test_tables_have_the_columns_that_are_declared(define: Callable[..., Http]) -> None:
    columns = [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}]
    http = define(additionalPrinterColumns=columns)
    http.post(WIDGETS, widget(spec={"size": 7}))
    table = http.get(WIDGETS, accept=TABLE).data
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Size"]
    assert table["rows"][0]["cells"] == ["a", 7]


def test_declared_fields_can_be_selected_by(define: Callable[..., Http]) -> None:
    http = define(selectableFields=[{"jsonPath": ".spec.size"}])
    http.post(WIDGETS, widget("a", spec={"size": 1}))
    http.post(WIDGETS, widget("b", spec={"size": 2}))
    found = http.get(f"{WIDGETS}?fieldSelector=spec.size%3D2").data["items"]
    assert [item["metadata"]["name"] for item in found] == ["b"]


def test_the_schema_is_published(define: Callable[..., Http]) -> None:
    http = define()
    path = http.get("/openapi/v3").data["paths"]["apis/example.com/v1"]["serverRelativeURL"]
    schema = http.get(path).data["components"]["schemas"]["com.example.v1.Widget"]
    assert schema["properties"]["spec"]["properties"]["size"] == {"type": "integer"}
    assert schema["x-kubernetes-group-version-kind"] == [{"group": "example.com", "version": "v1", "kind": "Widget"}]
    changed = http.get(f"{DEFINITIONS}/widgets.example.com").data
    properties = changed["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    properties["spec"]["properties"]["colour"] = {"type": "string"}
    http.put(f"{DEFINITIONS}/widgets.example.com", changed)
    assert http.get("/openapi/v3").data["paths"]["apis/example.com/v1"]["serverRelativeURL"] != path
