"""Creating and replacing objects, and what a dry run leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.contract.client import APPLY, JSON_PATCH, MERGE, STRATEGIC, path

if TYPE_CHECKING:
    from tests.contract.client import Client

MANIFEST = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"a": "1"}}


@pytest.fixture
def settings(client: Client, namespace: str) -> str:
    """Where a ConfigMap is."""
    client.made(path("configmaps", namespace), MANIFEST)
    return path("configmaps", namespace, "settings")


def test_a_new_object_has_identity_version_and_time(client: Client, namespace: str) -> None:
    made = client.made(path("configmaps", namespace), MANIFEST)
    metadata = made["metadata"]
    assert metadata["namespace"] == namespace
    assert metadata["uid"]
    assert int(metadata["resourceVersion"])
    assert metadata["creationTimestamp"].endswith("Z")
    assert "generation" not in metadata
    assert client.get(path("configmaps", namespace, "settings")).body == made


def test_what_only_the_server_may_set_is_ignored(client: Client, namespace: str) -> None:
    metadata = {
        "name": "new",
        "uid": "1234",
        "creationTimestamp": "2001-01-01T00:00:00Z",
        "deletionTimestamp": "2001-01-01T00:00:00Z",
        "selfLink": "/somewhere",
    }
    found = client.made(path("configmaps", namespace), {"metadata": metadata})["metadata"]
    assert found["uid"] != "1234"
    assert not found["creationTimestamp"].startswith("2001")
    assert "deletionTimestamp" not in found
    assert "selfLink" not in found


def test_a_name_is_made_of_a_prefix(client: Client, namespace: str) -> None:
    body = {"metadata": {"generateName": "made-"}}
    names = [client.made(path("configmaps", namespace), body)["metadata"]["name"] for _ in range(3)]
    assert len(set(names)) == 3
    assert all(name.startswith("made-") and len(name) == len("made-") + 5 for name in names)


def test_nothing_is_made_in_a_namespace_that_is_not_there(client: Client, unique: str) -> None:
    answer = client.create(path("configmaps", unique), MANIFEST)
    assert (answer.status, answer.reason) == (404, "NotFound")
    assert answer.message == f'namespaces "{unique}" not found'
    assert answer.body["details"] == {"name": unique, "kind": "namespaces"}


def test_the_type_may_be_left_out_where_the_path_says_it(client: Client, settings: str) -> None:
    body = client.replace(settings, {"metadata": {"name": "settings"}, "data": {"a": "2"}}).body
    assert (body["apiVersion"], body["kind"], body["data"]) == ("v1", "ConfigMap", {"a": "2"})


def test_unknown_and_repeated_fields_are_warned_of(client: Client, namespace: str) -> None:
    body = '{"metadata":{"name":"new"},"data":{"a":"1","a":"2"},"dta":{}}'
    answer = client.create(path("configmaps", namespace), body)
    assert answer.status == 201
    assert answer.warnings == ['299 - "duplicate field \\"data.a\\""', '299 - "unknown field \\"dta\\""']
    assert "dta" not in answer.body
    assert answer.body["data"] == {"a": "2"}


def test_unknown_fields_can_be_ignored(client: Client, namespace: str) -> None:
    answer = client.create(
        path("configmaps", namespace), {"metadata": {"name": "new"}, "dta": {}}, fieldValidation="Ignore"
    )
    assert answer.status == 201
    assert answer.warnings == []


def test_names_of_fields_are_read_in_their_case(client: Client, namespace: str) -> None:
    answer = client.create(path("configmaps", namespace), {"metadata": {"name": "new"}, "Data": {"a": "1"}})
    assert "data" not in answer.body


def test_a_replacement_without_version_wins(client: Client, settings: str) -> None:
    before = client.get(settings).body
    after = client.replace(settings, {**MANIFEST, "data": {"b": "2"}}).body
    assert after["data"] == {"b": "2"}
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert int(after["metadata"]["resourceVersion"]) > int(before["metadata"]["resourceVersion"])


def test_a_replacement_with_an_old_version_conflicts(client: Client, settings: str) -> None:
    old = client.get(settings).body
    assert client.replace(settings, {**old, "data": {"a": "2"}}).status == 200
    answer = client.replace(settings, {**old, "data": {"a": "3"}})
    assert (answer.status, answer.reason) == (409, "Conflict")
    assert answer.message == (
        'Operation cannot be fulfilled on configmaps "settings": the object has been modified; '
        "please apply your changes to the latest version and try again"
    )
    assert answer.body["details"] == {"name": "settings", "kind": "configmaps"}


def test_a_replacement_that_changes_nothing_keeps_the_version(client: Client, settings: str) -> None:
    before = client.get(settings).body
    assert client.replace(settings, before).body == before
    assert client.replace(settings, MANIFEST).body == before


def test_a_replacement_keeps_what_the_server_allocated(client: Client, namespace: str) -> None:
    made = client.made(path("services", namespace), {"metadata": {"name": "web"}, "spec": {"ports": [{"port": 80}]}})
    body = {"metadata": {"name": "web"}, "spec": {"ports": [{"port": 81}]}}
    answer = client.replace(path("services", namespace, "web"), body)
    assert answer.status == 200
    assert answer.body["spec"]["clusterIP"] == made["spec"]["clusterIP"]


def test_a_secret_keeps_text_as_data(client: Client, namespace: str) -> None:
    made = client.made(path("secrets", namespace), {"metadata": {"name": "key"}, "stringData": {"a": "hello"}})
    assert made["data"] == {"a": "aGVsbG8="}
    assert "stringData" not in made
    assert made["type"] == "Opaque"


def test_a_replacement_creates_what_its_kind_allows_to(client: Client, namespace: str) -> None:
    lease = {"metadata": {"name": "leader"}, "spec": {"holderIdentity": "me"}}
    answer = client.replace(path("leases", namespace, "leader"), lease)
    assert answer.status == 201


def a_dry_run(client: Client, settings: str, verb: str) -> Any:
    everything = settings.rpartition("/")[0]
    if verb == "create":
        return client.create(everything, {**MANIFEST, "metadata": {"name": "other"}}, dryRun="All")
    if verb == "replace":
        return client.replace(settings, {**MANIFEST, "data": {"a": "2"}}, dryRun="All")
    if verb == "delete":
        return client.delete(settings, dryRun="All")
    if verb == "delete-by-body":
        return client.delete(settings, {"dryRun": ["All"]})
    if verb == "delete-collection":
        return client.delete(everything, dryRun="All")
    patch: Any = [{"op": "replace", "path": "/data/a", "value": "2"}] if verb == JSON_PATCH else {"data": {"a": "2"}}
    more = {"fieldManager": "one", "force": "true"} if verb == APPLY else {}
    body = {**MANIFEST, **patch} if verb == APPLY else patch
    return client.patch(settings, body, verb, dryRun="All", **more)


@pytest.mark.parametrize(
    "verb",
    ["create", "replace", "delete", "delete-by-body", "delete-collection", MERGE, STRATEGIC, JSON_PATCH, APPLY],
)
def test_a_dry_run_answers_as_the_real_thing_and_leaves_nothing(client: Client, settings: str, verb: str) -> None:
    everything = settings.rpartition("/")[0]
    before = client.get(everything).body["items"]
    answer = a_dry_run(client, settings, verb)
    assert answer.status in (200, 201)
    if "delete" not in verb:
        assert answer.body["data"] == {"a": "1" if verb == "create" else "2"}
    assert client.get(everything).body["items"] == before


def test_a_dry_run_of_a_patch_keeps_the_version(client: Client, settings: str) -> None:
    before = client.get(settings).body["metadata"]
    after = client.patch(settings, {"data": {"a": "2"}}, dryRun="All").body["metadata"]
    assert after["resourceVersion"] == before["resourceVersion"]


def test_a_dry_run_of_a_creation_has_an_identity_but_no_version(client: Client, namespace: str) -> None:
    metadata = client.made(path("configmaps", namespace), MANIFEST, dryRun="All")["metadata"]
    assert metadata["uid"]
    assert "resourceVersion" not in metadata


def test_a_dry_run_is_refused_like_the_real_thing(client: Client, settings: str) -> None:
    stale = {"metadata": {"name": "settings", "resourceVersion": "1"}}
    assert client.create(settings.rpartition("/")[0], MANIFEST, dryRun="All").reason == "AlreadyExists"
    assert client.replace(settings, stale, dryRun="All").reason == "Conflict"


def test_yaml_is_read_and_written(client: Client, namespace: str) -> None:
    body = "metadata:\n  name: new\ndata:\n  a: '1'\n"
    headers = {"Content-Type": "application/yaml", "Accept": "application/yaml"}
    answer = client.ask("POST", path("configmaps", namespace), body, headers=headers)
    assert (answer.status, answer.headers["Content-Type"]) == (201, "application/yaml")
    assert b"\nkind: ConfigMap\n" in answer.data
