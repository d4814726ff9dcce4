"""The three kinds of patches that are not server-side apply."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.contract.client import JSON_PATCH, MERGE, STRATEGIC, path

if TYPE_CHECKING:
    from tests.contract.client import Client

WEB: dict[str, Any] = {
    "metadata": {"name": "web"},
    "spec": {
        "replicas": 0,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {
                "containers": [
                    {
                        "name": "web",
                        "image": "web:1",
                        "args": ["a", "b"],
                        "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
                        "ports": [{"containerPort": 80}],
                        "livenessProbe": {"httpGet": {"path": "/", "port": 80}},
                    },
                    {"name": "side", "image": "side:1"},
                ],
                "volumes": [{"name": "tmp", "emptyDir": {}}],
            },
        },
    },
}


@pytest.fixture
def settings(client: Client, namespace: str) -> str:
    """Where a ConfigMap is."""
    body = {"metadata": {"name": "settings", "labels": {"l": "1"}}, "data": {"a": "1", "b": "2"}}
    client.made(path("configmaps", namespace), body)
    return path("configmaps", namespace, "settings")


@pytest.fixture
def web(client: Client, namespace: str) -> str:
    """Where a Deployment is."""
    client.made(path("deployments", namespace), WEB)
    return path("deployments", namespace, "web")


def pod_of(deployment: dict[str, Any]) -> Any:
    return deployment["spec"]["template"]["spec"]


def patched_pod(client: Client, web: str, pod: dict[str, Any]) -> Any:
    answer = client.patch(web, {"spec": {"template": {"spec": pod}}}, STRATEGIC)
    assert answer.status == 200, answer.data
    return pod_of(answer.body)


def test_a_merge_patch_sets_adds_and_removes(client: Client, settings: str) -> None:
    answer = client.patch(settings, {"data": {"a": "new", "b": None, "c": "3"}}, MERGE)
    assert answer.status == 200
    assert answer.body["data"] == {"a": "new", "c": "3"}
    assert client.get(settings).body == answer.body


def test_a_merge_patch_removes_a_map(client: Client, settings: str) -> None:
    body = client.patch(settings, {"data": None, "metadata": {"labels": None}}, MERGE).body
    assert "data" not in body
    assert "labels" not in body["metadata"]


def test_a_merge_patch_replaces_lists_whole(client: Client, web: str) -> None:
    answer = client.patch(web, {"spec": {"template": {"spec": {"containers": [{"name": "one", "image": "one:1"}]}}}})
    assert [it["name"] for it in pod_of(answer.body)["containers"]] == ["one"]


@pytest.mark.parametrize("kind", [MERGE, STRATEGIC])
def test_a_patch_that_changes_nothing_keeps_the_version(client: Client, settings: str, kind: str) -> None:
    before = client.get(settings).body
    assert client.patch(settings, {"data": {"a": "1"}}, kind).body == before
    assert client.patch(settings, {}, kind).body == before


def test_a_change_of_the_spec_raises_the_generation_and_a_label_does_not(client: Client, web: str) -> None:
    assert client.patch(web, {"metadata": {"labels": {"a": "b"}}}).body["metadata"]["generation"] == 1
    assert client.patch(web, {"spec": {"paused": True}}).body["metadata"]["generation"] == 2


def test_a_patch_with_the_present_version_is_done(client: Client, settings: str) -> None:
    version = client.get(settings).body["metadata"]["resourceVersion"]
    answer = client.patch(settings, {"metadata": {"resourceVersion": version}, "data": {"a": "2"}})
    assert answer.status == 200
    assert answer.body["metadata"]["resourceVersion"] != version


def test_a_patch_cannot_change_what_the_server_sets(client: Client, settings: str) -> None:
    before = client.get(settings).body["metadata"]
    after = client.patch(settings, {"metadata": {"creationTimestamp": "2001-01-01T00:00:00Z"}}).body["metadata"]
    assert after["creationTimestamp"] == before["creationTimestamp"]


def test_a_json_patch_does_its_operations_in_order(client: Client, settings: str) -> None:
    operations = [
        {"op": "test", "path": "/data/a", "value": "1"},
        {"op": "replace", "path": "/data/a", "value": "2"},
        {"op": "copy", "from": "/data/a", "path": "/data/c"},
        {"op": "move", "from": "/data/b", "path": "/data/d"},
        {"op": "add", "path": "/metadata/annotations", "value": {"x/y": "z"}},
        {"op": "replace", "path": "/metadata/annotations/x~1y", "value": "new"},
        {"op": "remove", "path": "/metadata/labels/l"},
    ]
    body = client.patch(settings, operations, JSON_PATCH).body
    assert body["data"] == {"a": "2", "c": "2", "d": "2"}
    assert body["metadata"]["annotations"] == {"x/y": "new"}
    assert "labels" not in body["metadata"]


def test_a_json_patch_fails_whole(client: Client, settings: str) -> None:
    operations = [{"op": "remove", "path": "/data/a"}, {"op": "test", "path": "/data/b", "value": "other"}]
    before = client.get(settings).body
    assert client.patch(settings, operations, JSON_PATCH).status == 422
    assert client.get(settings).body == before


def test_a_strategic_patch_merges_lists_by_their_key(client: Client, web: str) -> None:
    pod = patched_pod(client, web, {"containers": [{"name": "side", "image": "side:2"}]})
    assert [(it["name"], it["image"]) for it in pod["containers"]] == [("web", "web:1"), ("side", "side:2")]


def test_a_strategic_patch_adds_before_what_is_there(client: Client, web: str) -> None:
    pod = patched_pod(client, web, {"containers": [{"name": "new", "image": "new:1"}]})
    assert [it["name"] for it in pod["containers"]] == ["new", "web", "side"]


def test_a_strategic_patch_deletes_one_item(client: Client, web: str) -> None:
    pod = patched_pod(client, web, {"containers": [{"name": "side", "$patch": "delete"}]})
    assert [it["name"] for it in pod["containers"]] == ["web"]


def test_a_strategic_patch_replaces_a_list(client: Client, web: str) -> None:
    pod = patched_pod(client, web, {"containers": [{"name": "one", "image": "one:1"}, {"$patch": "replace"}]})
    assert [it["name"] for it in pod["containers"]] == ["one"]


def test_a_strategic_patch_replaces_a_map(client: Client, web: str) -> None:
    probe = {"$patch": "replace", "tcpSocket": {"port": 81}}
    pod = patched_pod(client, web, {"containers": [{"name": "web", "livenessProbe": probe}]})
    patched = pod["containers"][0]["livenessProbe"]
    assert "httpGet" not in patched
    assert patched["tcpSocket"] == {"port": 81}


def test_a_strategic_patch_puts_lists_in_the_order_that_it_asks_for(client: Client, web: str) -> None:
    patch = {"$setElementOrder/containers": [{"name": "side"}, {"name": "web"}], "containers": [{"name": "web"}]}
    assert [it["name"] for it in patched_pod(client, web, patch)["containers"]] == ["side", "web"]


def test_a_strategic_patch_retains_the_keys_of_a_union(client: Client, web: str) -> None:
    patch = {"volumes": [{"name": "tmp", "$retainKeys": ["name", "configMap"], "configMap": {"name": "settings"}}]}
    (volume,) = patched_pod(client, web, patch)["volumes"]
    assert "emptyDir" not in volume
    assert volume["configMap"]["name"] == "settings"


def test_a_strategic_patch_merges_and_deletes_from_lists_of_values(client: Client, settings: str) -> None:
    client.patch(settings, {"metadata": {"finalizers": ["example.com/a", "example.com/b"]}}, STRATEGIC)
    patch = {"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/a"], "finalizers": ["example.com/c"]}}
    body = client.patch(settings, patch, STRATEGIC).body
    client.patch(settings, {"metadata": {"finalizers": None}})
    assert sorted(body["metadata"]["finalizers"]) == ["example.com/b", "example.com/c"]


def test_a_strategic_patch_replaces_lists_without_key(client: Client, web: str) -> None:
    pod = patched_pod(client, web, {"containers": [{"name": "web", "args": ["c"]}]})
    assert pod["containers"][0]["args"] == ["c"]


def test_a_strategic_patch_removes_with_null(client: Client, web: str) -> None:
    pod = patched_pod(client, web, {"containers": [{"name": "web", "livenessProbe": None}], "volumes": None})
    assert "livenessProbe" not in pod["containers"][0]
    assert "volumes" not in pod


def test_ports_on_tcp_and_udp_are_one_to_a_strategic_patch(client: Client, namespace: str) -> None:
    ports = [
        {"name": "tcp", "port": 53, "protocol": "TCP"},
        {"name": "udp", "port": 53, "protocol": "UDP"},
    ]
    client.made(path("services", namespace), {"metadata": {"name": "dns"}, "spec": {"ports": ports}})
    patch = {"spec": {"ports": [{"port": 53, "name": "changed"}]}}
    body = client.patch(path("services", namespace, "dns"), patch, STRATEGIC).body
    assert [(it["name"], it["protocol"]) for it in body["spec"]["ports"]] == [("changed", "TCP"), ("udp", "UDP")]


def test_a_patch_of_the_status_leaves_the_spec_alone(client: Client, web: str) -> None:
    patch = {"spec": {"paused": True}, "status": {"observedGeneration": 7}}
    body = client.patch(f"{web}/status", patch, MERGE).body
    assert "paused" not in body["spec"]


def test_a_patch_of_the_object_leaves_the_status_alone(client: Client, namespace: str) -> None:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    client.made(path("persistentvolumeclaims", namespace), {"metadata": {"name": "claim"}, "spec": spec})
    where = path("persistentvolumeclaims", namespace, "claim")
    assert client.patch(where, {"status": {"phase": "Lost"}}).body["status"]["phase"] != "Lost"


def test_the_scale_subresource_reads_and_writes_the_replicas(client: Client, web: str) -> None:
    scale = client.get(f"{web}/scale").body
    assert (scale["kind"], scale["apiVersion"]) == ("Scale", "autoscaling/v1")
    assert scale["status"]["selector"] == "app=web"
    assert client.patch(f"{web}/scale", {"spec": {"replicas": 2}}).body["spec"] == {"replicas": 2}
    assert client.get(web).body["spec"]["replicas"] == 2
