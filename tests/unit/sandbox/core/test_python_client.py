"""The official Python client, typed and dynamic, against the sandbox."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import pytest

from tests.unit.sandbox.core.client import config_map, deployment

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.unit.sandbox.core.conftest import Start


# The package ships types for some of its functions only; what has none is called as it is.
kubernetes: Any = importlib.import_module("kubernetes")
dynamic: Any = importlib.import_module("kubernetes.dynamic")


@pytest.fixture
def client(start: Start, tmp_path: Path) -> Iterator[Any]:
    server, _ = start()
    path = server.write_kubeconfig(tmp_path / "kubeconfig")
    api = kubernetes.config.new_client_from_config(config_file=str(path))
    yield api
    api.close()


def test_typed_objects_go_there_and_back(client: Any) -> None:
    core = kubernetes.client.CoreV1Api(client)
    core.create_namespaced_config_map("default", config_map(data={"x": "1"}))
    assert core.read_namespaced_config_map("a", "default").data == {"x": "1"}
    assert [item.metadata.name for item in core.list_namespaced_config_map("default").items] == ["a"]
    apps = kubernetes.client.AppsV1Api(client)
    apps.create_namespaced_deployment("default", deployment())
    patched = apps.patch_namespaced_deployment("web", "default", {"spec": {"replicas": 2}})
    assert patched.spec.replicas == 2


def test_a_typed_watch_sees_objects(client: Any) -> None:
    core = kubernetes.client.CoreV1Api(client)
    core.create_namespaced_config_map("default", config_map())
    events = kubernetes.watch.Watch().stream(core.list_namespaced_config_map, "default", timeout_seconds=1)
    assert [(event["type"], event["object"].metadata.name) for event in events] == [("ADDED", "a")]


def test_the_dynamic_client_finds_and_lists_kinds(client: Any) -> None:
    resources = dynamic.DynamicClient(client).resources.get(api_version="apps/v1", kind="Deployment")
    resources.create(body=deployment(), namespace="default")
    assert [item.metadata.name for item in resources.get(namespace="default").items] == ["web"]
    resources.delete(name="web", namespace="default")
    assert resources.get(namespace="default").items == []
