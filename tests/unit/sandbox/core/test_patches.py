from __future__ import annotations

import pytest

from tests.unit.sandbox.core.client import (
    APPLY,
    CONFIG_MAPS,
    DEPLOYMENTS,
    JSON_PATCH,
    MERGE,
    STRATEGIC,
    Http,
    config_map,
    deployment,
)


def test_a_merge_patch_sets_and_deletes_fields(http: Http) -> None:
    http.post(CONFIG_MAPS, config_map(data={"x": "1", "y": "2"}))
    patched = http.patch(f"{CONFIG_MAPS}/a", {"data": {"x": None, "z": "3"}}, MERGE)
    assert patched.data["data"] == {"y": "2", "z": "3"}


def test_a_json_patch_adds_moves_and_tests(http: Http) -> None:
    http.post(CONFIG_MAPS, config_map(data={"x": "1"}))
    operations = [
        {"op": "test", "path": "/data/x", "value": "1"},
        {"op": "move", "from": "/data/x", "path": "/data/y"},
        {"op": "add", "path": "/data/z", "value": "2"},
    ]
    assert http.patch(f"{CONFIG_MAPS}/a", operations, JSON_PATCH).data["data"] == {"y": "1", "z": "2"}


@pytest.mark.parametrize(
    "operation",
    [{"op": "test", "path": "/data/x", "value": "2"}, {"op": "remove", "path": "/data/none"}, {"op": "foo"}],
)
def test_a_json_patch_that_does_not_fit_changes_nothing(http: Http, operation: dict[str, str]) -> None:
    created = http.post(CONFIG_MAPS, config_map(data={"x": "1"}))
    refused = http.patch(f"{CONFIG_MAPS}/a", [operation], JSON_PATCH)
    assert (refused.status, refused.message) == (
        422,
        "the server rejected our request due to an error in our request",
    )
    assert http.get(f"{CONFIG_MAPS}/a").version == created.version


def test_a_strategic_patch_merges_containers_by_name(http: Http) -> None:
    http.post(DEPLOYMENTS, deployment())
    container = {"name": "main", "env": [{"name": "A", "value": "1"}]}
    patch = {"spec": {"template": {"spec": {"containers": [container]}}}}
    patched = http.patch(f"{DEPLOYMENTS}/web", patch, STRATEGIC)
    (merged,) = patched.data["spec"]["template"]["spec"]["containers"]
    assert (merged["image"], merged["env"]) == ("nginx:1", [{"name": "A", "value": "1"}])


def test_a_merge_patch_replaces_containers(http: Http) -> None:
    http.post(DEPLOYMENTS, deployment())
    patch = {"spec": {"template": {"spec": {"containers": [{"name": "other", "image": "x"}]}}}}
    patched = http.patch(f"{DEPLOYMENTS}/web", patch, MERGE)
    assert [container["name"] for container in patched.data["spec"]["template"]["spec"]["containers"]] == ["other"]


def test_a_patch_with_an_old_version_is_a_conflict(http: Http) -> None:
    created = http.post(CONFIG_MAPS, config_map())
    http.patch(f"{CONFIG_MAPS}/a", {"data": {"x": "1"}})
    stale = {"metadata": {"resourceVersion": created.version}, "data": {"x": "2"}}
    assert http.patch(f"{CONFIG_MAPS}/a", stale).status == 409


def test_a_patch_that_changes_nothing_keeps_the_version(http: Http) -> None:
    created = http.post(CONFIG_MAPS, config_map(data={"x": "1"}))
    assert http.patch(f"{CONFIG_MAPS}/a", {"data": {"x": "1"}}).version == created.version


def test_what_a_patch_makes_must_be_an_object_of_the_kind(http: Http) -> None:
    http.post(CONFIG_MAPS, config_map())
    refused = http.patch(f"{CONFIG_MAPS}/a", {"data": {"x": 1}})
    assert (refused.status, refused.data["details"]["causes"][0]["field"]) == (422, "patch")
    assert "cannot unmarshal number" in refused.message
    renamed = http.patch(f"{CONFIG_MAPS}/a", {"metadata": {"name": "b"}})
    assert renamed.message == "the name of the object (b) does not match the name on the URL (a)"


@pytest.mark.parametrize(
    ("body", "content_type", "status"),
    [
        (b"{}", "application/json", 415),
        (b"[]", MERGE, 400),
        (b"{", MERGE, 400),
        (b"{}", JSON_PATCH, 400),
        (b"[]", STRATEGIC, 400),
    ],
)
def test_patches_that_cannot_be_read_are_refused(http: Http, body: bytes, content_type: str, status: int) -> None:
    http.post(CONFIG_MAPS, config_map())
    assert http.patch(f"{CONFIG_MAPS}/a", body, content_type).status == status


def test_an_applied_object_is_created_and_then_changed(http: Http) -> None:
    path = f"{CONFIG_MAPS}/a?fieldManager=me"
    created = http.patch(path, config_map(data={"x": "1", "y": "1"}), APPLY)
    assert created.status == 201
    (entry,) = created.data["metadata"]["managedFields"]
    assert (entry["manager"], entry["operation"]) == ("me", "Apply")
    changed = http.patch(path, config_map(data={"x": "2"}), APPLY)
    assert (changed.status, changed.data["data"]) == (200, {"x": "2"})
    assert http.patch(path, config_map(data={"x": "2"}), APPLY).version == changed.version


def test_fields_of_another_manager_are_a_conflict_unless_forced(http: Http) -> None:
    http.patch(f"{CONFIG_MAPS}/a?fieldManager=first", config_map(data={"x": "1"}), APPLY)
    refused = http.patch(f"{CONFIG_MAPS}/a?fieldManager=second", config_map(data={"x": "2"}), APPLY)
    assert (refused.status, refused.message) == (
        409,
        'Apply failed with 1 conflict: conflict with "first": .data.x',
    )
    assert refused.data["details"]["causes"] == [
        {"reason": "FieldManagerConflict", "message": 'conflict with "first"', "field": ".data.x"}
    ]
    forced = http.patch(f"{CONFIG_MAPS}/a?fieldManager=second&force=true", config_map(data={"x": "2"}), APPLY)
    assert forced.data["data"] == {"x": "2"}


@pytest.mark.parametrize(
    ("query", "body", "status"),
    [
        ("", config_map(), 422),
        ("?fieldManager=me", config_map("other"), 400),
        ("?fieldManager=me", config_map(colour="red"), 500),
        ("?fieldManager=me", config_map() | {"metadata": {"name": "a", "managedFields": [{}]}}, 400),
        ("?fieldManager=me", b"a: [", 400),
    ],
)
def test_configurations_that_cannot_be_applied_are_refused(http: Http, query: str, body: object, status: int) -> None:
    assert http.patch(f"{CONFIG_MAPS}/a{query}", body, APPLY).status == status


def test_force_belongs_to_apply(http: Http) -> None:
    refused = http.patch(f"{CONFIG_MAPS}/a?force=true", {})
    assert (refused.status, refused.data["details"]["causes"][0]["field"]) == (422, "force")
