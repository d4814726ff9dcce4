"""The life of a custom kind: defined, established, served, validated, and gone again with all its objects."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import pytest

from tests.contract.client import MERGE, STRATEGIC
from tests.contract.customs import DEFINITIONS, SCHEMA, condition, defined, definition, new_custom, wait_served
from tests.contract.differences import differs
from tests.support.daemon import eventually

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.contract.client import Answer, Client
    from tests.contract.customs import Custom


@pytest.fixture(scope="session")
def shared_kinds() -> Callable[[Client], Custom]:
    """Gives the kind of a server that all tests share which only make objects of it: defining one takes seconds."""

    @functools.cache
    def define_once(client: Client) -> Custom:
        custom = new_custom()
        client.made(DEFINITIONS, definition(custom))
        wait_served(client, custom)
        return custom

    return define_once


@pytest.fixture
def custom(client: Client, shared_kinds: Callable[[Client], Custom]) -> Custom:
    """A kind that is served, not to be changed."""
    return shared_kinds(client)


@pytest.fixture
def own(client: Client) -> Iterator[Custom]:
    """A kind that is served, of the test's own."""
    with defined(client) as found:
        yield found


def causes(answer: Any) -> list[tuple[str, str]]:
    return [(cause["field"], cause["reason"]) for cause in answer.body["details"]["causes"]]


def listed_group(client: Client, custom: Custom) -> Any:
    return next((group for group in client.get("/apis").body["groups"] if group["name"] == custom.group), None)


def makes_extra(client: Client, own: Custom, namespace: str) -> bool:
    """Whether a new object gets the new field."""
    answer = client.create(own.path(namespace), own.manifest("new"), dryRun="All")
    return answer.status == 201 and "extra" in answer.body["spec"]


def test_a_definition_is_answered_before_it_is_established(client: Client) -> None:
    custom = new_custom()
    made = client.made(DEFINITIONS, definition(custom))
    assert condition(made, "Established") == ""
    assert made["spec"]["conversion"] == {"strategy": "None"}
    assert made["spec"]["names"]["singular"] == "widget"
    assert made["spec"]["names"]["listKind"] == "WidgetList"
    assert made["status"]["storedVersions"] == ["v1"]
    wait_served(client, custom)
    found = client.get(custom.definition).body
    assert found["metadata"]["generation"] == 1
    assert {item["type"]: item["reason"] for item in found["status"]["conditions"]} == {
        "NamesAccepted": "NoConflicts",
        "Established": "InitialNamesAccepted",
    }
    assert found["status"]["acceptedNames"] == found["spec"]["names"]
    client.delete(custom.definition)


def test_a_served_kind_is_discovered(client: Client, custom: Custom) -> None:
    root = f"/apis/{custom.group}/v1"
    eventually("it is discovered", lambda: client.get(root).status == 200)
    resources = {item["name"]: item for item in client.get(root).body["resources"]}
    assert set(resources) == {"widgets", "widgets/status", "widgets/scale"}
    found = resources["widgets"]
    assert (found["kind"], found["singularName"], found["namespaced"]) == ("Widget", "widget", True)
    assert (found["shortNames"], found["categories"]) == (["wg"], ["things"])
    assert sorted(found["verbs"]) == sorted(
        ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
    )
    assert (resources["widgets/scale"]["kind"], resources["widgets/scale"]["group"]) == ("Scale", "autoscaling")
    group = eventually("its group is listed", lambda: listed_group(client, custom))
    assert group["preferredVersion"] == {"groupVersion": custom.api_version, "version": "v1"}


def test_a_served_kind_has_a_document(client: Client, custom: Custom) -> None:
    where = f"/openapi/v3/apis/{custom.group}/v1"
    document = eventually("there is a document", lambda: (a := client.get(where)).status == 200 and a.body)
    schemas = document["components"]["schemas"]
    (widget,) = [
        schema
        for schema in schemas.values()
        if {"group": custom.group, "version": "v1", "kind": "Widget"}
        in schema.get("x-kubernetes-group-version-kind", [])
        and "spec" in schema.get("properties", {})
    ]
    spec = widget["properties"]["spec"]["properties"]
    assert spec["ports"]["x-kubernetes-list-map-keys"] == ["port", "protocol"]
    assert spec["colour"]["default"] == "red"
    patch = document["paths"][f"/apis/{custom.group}/v1/namespaces/{{namespace}}/widgets/{{name}}"]["patch"]
    assert "application/strategic-merge-patch+json" not in patch["requestBody"]["content"]
    assert MERGE in patch["requestBody"]["content"]


def test_defaults_are_filled_in_and_unknown_fields_pruned(client: Client, custom: Custom, namespace: str) -> None:
    body = custom.manifest(nonsense=1, free={"any": {"thing": 1}}, ports=[{"port": 1, "x": 2}])
    answer = client.create(custom.path(namespace), {**body, "extra": 1})
    assert answer.status == 201
    assert answer.body["spec"] == {
        "size": 1,
        "colour": "red",
        "free": {"any": {"thing": 1}},
        "ports": [{"port": 1, "protocol": "TCP"}],
    }
    assert "extra" not in answer.body
    assert answer.warnings == [
        '299 - "unknown field \\"extra\\""',
        '299 - "unknown field \\"spec.nonsense\\""',
        '299 - "unknown field \\"spec.ports[0].x\\""',
    ]


def test_unknown_fields_are_refused_where_that_is_asked_for(client: Client, custom: Custom, namespace: str) -> None:
    body = {**custom.manifest(nonsense=1), "extra": 1}
    answer = client.create(custom.path(namespace), body, fieldValidation="Strict")
    assert (answer.status, answer.reason) == (400, "BadRequest")
    assert 'strict decoding error: unknown field "extra", unknown field "spec.nonsense"' in answer.message


@pytest.mark.parametrize(
    ("spec", "cause"),
    [
        ({"size": 0}, ("spec.size", "FieldValueInvalid")),
        ({"size": 10}, ("spec.size", "FieldValueInvalid")),
        ({"size": "many"}, ("spec.size", "FieldValueTypeInvalid")),
        ({"size": None}, ("spec.size", "FieldValueRequired")),
        ({"colour": "green"}, ("spec.colour", "FieldValueNotSupported")),
        ({"size": 2, "code": "A"}, ("spec.code", "FieldValueInvalid")),
        ({"size": 2, "code": "abcdef"}, ("spec.code", "FieldValueTooLong")),
        ({"tags": ["a", "a"]}, ("spec.tags[1]", "FieldValueDuplicate")),
        ({"ports": [{"port": 1}, {"port": 1}]}, ("spec.ports[1]", "FieldValueDuplicate")),
        ({"ports": [{"name": "a"}]}, ("spec.ports[0].port", "FieldValueRequired")),
        ({"plain": ["a"]}, ("spec.plain[0]", "FieldValueTypeInvalid")),
        ({"either": []}, ("spec.either", "FieldValueTypeInvalid")),
        pytest.param({"code": "a"}, ("spec", "FieldValueInvalid"), marks=differs("cel")),
    ],
)
def test_the_schema_is_held_to(
    client: Client, custom: Custom, namespace: str, spec: dict[str, Any], cause: tuple[str, str]
) -> None:
    answer = client.create(custom.path(namespace), custom.manifest(**spec))
    assert (answer.status, answer.reason) == (422, "Invalid"), answer.body
    assert cause in causes(answer)


@differs("cel")
def test_rules_may_compare_with_the_old_state(client: Client, custom: Custom, namespace: str) -> None:
    client.made(custom.path(namespace), custom.manifest(fixed="a"))
    answer = client.patch(custom.path(namespace, "one"), {"spec": {"fixed": "b"}})
    assert (answer.status, causes(answer)) == (422, [("spec.fixed", "FieldValueInvalid")])
    assert answer.message.endswith('spec.fixed: Invalid value: "b": fixed is fixed')


def test_null_is_kept_only_where_it_may_be(client: Client, custom: Custom, namespace: str) -> None:
    made = client.made(custom.path(namespace), custom.manifest(maybe=None, colour=None))
    assert made["spec"]["colour"] == "red"
    assert made["spec"]["maybe"] is None


def test_a_custom_resource_takes_no_strategic_patch(client: Client, custom: Custom, namespace: str) -> None:
    client.made(custom.path(namespace), custom.manifest())
    answer = client.patch(custom.path(namespace, "one"), {"spec": {"size": 2}}, STRATEGIC)
    assert (answer.status, answer.reason) == (415, "UnsupportedMediaType")
    assert answer.message == (
        "the body of the request was in an unknown format - accepted media types include: "
        "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
    )


def test_a_replacement_of_a_custom_resource_needs_a_version(client: Client, custom: Custom, namespace: str) -> None:
    made = client.made(custom.path(namespace), custom.manifest())
    answer = client.replace(custom.path(namespace, "one"), custom.manifest(size=2))
    assert (answer.status, causes(answer)) == (422, [("metadata.resourceVersion", "FieldValueInvalid")])
    made["spec"]["size"] = 2
    assert client.replace(custom.path(namespace, "one"), made).body["metadata"]["generation"] == 2


def test_the_status_is_written_apart(client: Client, custom: Custom, namespace: str) -> None:
    where = custom.path(namespace, "one")
    made = client.made(custom.path(namespace), {**custom.manifest(), "status": {"ready": True}})
    assert "status" not in made
    assert "status" not in client.patch(where, {"status": {"ready": True}}).body
    after = client.patch(f"{where}/status", {"spec": {"size": 3}, "status": {"ready": True}}).body
    assert (after["spec"]["size"], after["status"]) == (1, {"ready": True})
    assert after["metadata"]["generation"] == 1
    assert client.patch(f"{where}/status", {"status": {"ready": "yes"}}).status == 422


def test_a_kind_without_status_subresource_keeps_its_status(client: Client, namespace: str) -> None:
    with defined(client, version={"subresources": {}}) as custom:
        made = client.made(custom.path(namespace), {**custom.manifest(), "status": {"ready": True}})
        assert made["status"] == {"ready": True}
        assert client.get(custom.path(namespace, "one", "status")).status == 404


def test_a_custom_resource_can_be_scaled(client: Client, custom: Custom, namespace: str) -> None:
    where = custom.path(namespace, "one")
    client.made(custom.path(namespace), custom.manifest())
    assert client.get(f"{where}/scale").body["spec"] == {"replicas": 1}
    assert client.patch(f"{where}/scale", {"spec": {"replicas": 4}}).status == 200
    assert client.get(where).body["spec"]["size"] == 4


def test_a_kind_may_be_cluster_wide(client: Client, namespace: str) -> None:
    with defined(client, scope="Cluster") as custom:
        made = client.made(custom.path(""), custom.manifest())
        assert "namespace" not in made["metadata"]
        assert client.create(custom.path(namespace), custom.manifest("two")).status == 404


@differs("defaults-on-read")
def test_a_new_default_shows_in_old_objects(client: Client, own: Custom, namespace: str) -> None:
    where = own.path(namespace, "one")
    client.made(own.path(namespace), own.manifest())
    add_field(client, own)
    # A new object has it as soon as the definition took effect; then an old one has, or never will.
    eventually("it took effect", lambda: makes_extra(client, own, namespace))
    assert client.get(where).body["spec"]["extra"] == "new"


def test_a_change_of_the_schema_takes_effect(client: Client, own: Custom, namespace: str) -> None:
    add_field(client, own)
    eventually("it took effect", lambda: makes_extra(client, own, namespace))


def add_field(client: Client, own: Custom) -> None:
    spec = {**SCHEMA["properties"]["spec"]["properties"], "extra": {"type": "string", "default": "new"}}
    schema = {
        **SCHEMA,
        "properties": {"spec": {**SCHEMA["properties"]["spec"], "properties": spec}},
    }
    found = client.get(own.definition).body
    found["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = schema
    assert client.replace(own.definition, found).body["metadata"]["generation"] == 2


def test_an_object_can_be_read_in_each_version(client: Client, namespace: str) -> None:
    custom = new_custom()
    body = definition(custom)
    first = body["spec"]["versions"][0]
    body["spec"]["versions"] = [{**first, "name": "v1beta1", "storage": False}, first]
    client.made(DEFINITIONS, body)
    wait_served(client, custom)
    client.made(custom.path(namespace), custom.manifest())
    older = custom.path(namespace, "one").replace("/v1/", "/v1beta1/")
    assert client.get(older).body["apiVersion"] == f"{custom.group}/v1beta1"
    group = eventually("its group is listed", lambda: listed_group(client, custom))
    assert [version["version"] for version in group["versions"]] == ["v1", "v1beta1"]
    client.delete(custom.definition)


def test_a_definition_takes_its_objects_along(client: Client, namespace: str) -> None:
    with defined(client) as custom:
        client.made(custom.path(namespace), {**custom.manifest(), "metadata": {"name": "one"}})
        held = custom.manifest("held")
        held["metadata"]["finalizers"] = ["example.com/wait"]
        client.made(custom.path(namespace), held)
        marked = client.delete(custom.definition).body["metadata"]
        assert marked["deletionTimestamp"]
        assert marked["finalizers"] == ["customresourcecleanup.apiextensions.k8s.io"]
        where = custom.path(namespace, "held")
        eventually("its object is marked", lambda: client.get(where).body["metadata"].get("deletionTimestamp"))
        assert client.get(custom.definition).status == 200
        client.patch(where, {"metadata": {"finalizers": None}})
        eventually("it is gone", lambda: client.get(custom.definition).status == 404)
        eventually("it is served no more", lambda: client.get(custom.path(namespace)).status == 404)
        eventually("its group is gone", lambda: client.get(f"/apis/{custom.group}").status == 404)


def test_no_new_object_is_made_while_a_definition_goes(client: Client, own: Custom, namespace: str) -> None:
    held = own.manifest("held")
    held["metadata"]["finalizers"] = ["example.com/wait"]
    client.made(own.path(namespace), held)
    client.delete(own.definition)

    def attempt() -> Answer | None:
        answer = client.create(own.path(namespace), own.manifest("new"), dryRun="All")
        return answer if answer.status != 201 else None

    answer = eventually("creation is refused", attempt)
    assert (answer.status, answer.reason) == (403, "Forbidden")
    assert answer.message.endswith("create not allowed while custom resource definition is terminating")
    client.patch(own.path(namespace, "held"), {"metadata": {"finalizers": None}})


def test_a_definition_whose_names_are_taken_is_not_served(client: Client, custom: Custom) -> None:
    other = definition(custom)
    other["metadata"]["name"] = f"gadgets.{custom.group}"
    other["spec"]["names"] = {"plural": "gadgets", "kind": "Widget"}
    client.made(DEFINITIONS, other)
    where = f"{DEFINITIONS}/gadgets.{custom.group}"
    eventually("it is refused", lambda: condition(client.get(where).body, "NamesAccepted") == "False")
    assert condition(client.get(where).body, "Established") == "False"
    client.delete(where)
