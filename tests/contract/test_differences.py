"""What the sandbox leaves out on purpose, and that its README says so."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.contract import describe
from tests.contract.client import path
from tests.contract.customs import defined
from tests.contract.differences import DIFFERENCES, differs
from tests.support.daemon import eventually

if TYPE_CHECKING:
    from tests.contract.client import Client

POD = {"containers": [{"name": "web", "image": "web:1"}]}


@differs("users")
def test_nobody_unknown_is_served(client: Client) -> None:
    answer = client.ask("GET", "/api/v1/namespaces", headers={"Authorization": "Bearer nobody"})
    assert (answer.status, answer.reason) == (401, "Unauthorized")


@differs("admission")
def test_a_limit_range_sets_limits(client: Client, namespace: str) -> None:
    limit = {"type": "Container", "default": {"cpu": "1"}}
    client.made(path("limitranges", namespace), {"metadata": {"name": "limits"}, "spec": {"limits": [limit]}})
    attempts = range(100)  # the admission plugin learns of it a little later

    def limits(_: int) -> Any:
        pod = client.made(path("pods", namespace), {"metadata": {"name": "web"}, "spec": POD}, dryRun="All")
        return pod["spec"]["containers"][0]["resources"].get("limits")

    assert {"cpu": "1"} in map(limits, attempts)


@differs("no-kubelet")
def test_a_pod_gets_time_to_end(client: Client, namespace: str) -> None:
    where = path("pods", namespace, "web")
    client.made(path("pods", namespace), {"metadata": {"name": "web"}, "spec": POD})
    eventually("it runs", lambda: client.get(where).body["status"].get("phase") == "Running")
    assert client.delete(where).body["metadata"]["deletionGracePeriodSeconds"] == 30


@differs("protobuf")
def test_answers_come_in_protobuf(client: Client, namespace: str) -> None:
    form = "application/vnd.kubernetes.protobuf"
    answer = client.ask("GET", path("configmaps", namespace), headers={"Accept": form})
    assert (answer.status, answer.headers["Content-Type"]) == (200, form)


@differs("syntax-words")
def test_an_error_of_syntax_has_the_words_of_go(client: Client, namespace: str) -> None:
    answer = client.create(path("configmaps", namespace), "nothing")
    assert (answer.status, answer.reason) == (400, "BadRequest")
    assert "invalid character 'o' in literal null (expecting 'u')" in answer.message


@differs("repeated-objects")
def test_objects_that_come_twice_are_merged(client: Client, namespace: str) -> None:
    body = '{"metadata":{"name":"new"},"data":{"a":"1"},"data":{"b":"2"}}'
    assert client.made(path("configmaps", namespace), body)["data"] == {"a": "1", "b": "2"}


@differs("storage-hashes")
def test_discovery_has_the_hashes_of_storage_versions(client: Client) -> None:
    (found,) = [item for item in client.get("/api/v1").body["resources"] if item["name"] == "configmaps"]
    assert found["storageVersionHash"] == "qFsyl6wFWjQ="


@differs("scale-managers")
def test_scaling_a_custom_resource_is_noted_without_time(client: Client, namespace: str) -> None:
    with defined(client) as custom:
        client.made(custom.path(namespace), custom.manifest())
        where = custom.path(namespace, "one")
        client.patch(f"{where}/scale", {"spec": {"replicas": 4}}, fieldManager="scaler")
        managers = client.get(where).body["metadata"]["managedFields"]
    (scaler,) = [entry for entry in managers if entry["manager"] == "scaler"]
    assert "time" not in scaler


@differs("version")
def test_the_version_is_that_of_a_release(client: Client) -> None:
    assert "+" not in client.get("/version").body["gitVersion"]


def test_the_readme_lists_the_differences() -> None:
    assert describe.README.read_text(encoding="utf-8") == describe.with_section(), (
        "write it anew: python -m tests.contract.describe"
    )


@pytest.mark.parametrize("name", DIFFERENCES)
def test_each_difference_has_a_test(name: str) -> None:
    folder = Path(inspect.getfile(describe)).parent
    texts = [file.read_text(encoding="utf-8") for file in sorted(folder.glob("test_*.py"))]
    assert any(f'"{name}"' in text for text in texts)
