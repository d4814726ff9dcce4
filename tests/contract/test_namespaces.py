"""Namespaces: what they begin with, and how they go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.contract.client import path
from tests.contract.customs import defined
from tests.contract.servers import new_namespace
from tests.support.daemon import eventually

if TYPE_CHECKING:
    from tests.contract.client import Client
    from tests.contract.servers import Server


def test_a_new_namespace_is_active_and_named_by_a_label(client: Client, unique: str) -> None:
    made = client.made("/api/v1/namespaces", {"metadata": {"name": unique}})
    assert made["spec"] == {"finalizers": ["kubernetes"]}
    assert made["status"] == {"phase": "Active"}
    assert made["metadata"]["labels"] == {"kubernetes.io/metadata.name": unique}
    client.delete(f"/api/v1/namespaces/{unique}")


def test_the_label_with_the_name_cannot_be_taken_away(client: Client, namespace: str) -> None:
    answer = client.patch(f"/api/v1/namespaces/{namespace}", {"metadata": {"labels": None}})
    assert answer.status == 200
    assert answer.body["metadata"]["labels"] == {"kubernetes.io/metadata.name": namespace}


def test_a_namespace_gets_an_account_and_the_authority(client: Client, namespace: str) -> None:
    eventually("the account", lambda: client.get(path("serviceaccounts", namespace, "default")).status == 200)
    eventually("the authority", lambda: client.get(path("configmaps", namespace, "kube-root-ca.crt")).status == 200)


def test_a_namespace_goes_with_all_that_is_in_it(server: Server) -> None:
    client, namespace = server.client, new_namespace(server)
    held = path("configmaps", namespace, "held")
    client.made(path("configmaps", namespace), {"metadata": {"name": "held", "finalizers": ["example.com/wait"]}})
    client.made(path("secrets", namespace), {"metadata": {"name": "key"}})
    with defined(client) as custom:
        client.made(custom.path(namespace), custom.manifest())
        answer = client.delete(f"/api/v1/namespaces/{namespace}")
        assert answer.status == 200
        assert answer.body["status"]["phase"] == "Terminating"
        assert answer.body["metadata"]["deletionTimestamp"]

        refused = client.create(path("configmaps", namespace), {"metadata": {"name": "new"}})
        assert (refused.status, refused.reason) == (403, "Forbidden")
        assert refused.message == (
            f'configmaps "new" is forbidden: unable to create new content in namespace {namespace} '
            "because it is being terminated"
        )
        assert refused.body["details"]["causes"] == [
            {
                "reason": "NamespaceTerminating",
                "message": f"namespace {namespace} is being terminated",
                "field": "metadata.namespace",
            }
        ]
        eventually("the Secret is gone", lambda: client.get(path("secrets", namespace, "key")).status == 404)
        eventually("the Widget is gone", lambda: client.get(custom.path(namespace, "one")).status == 404)
        eventually("the ConfigMap is marked", lambda: client.get(held).body["metadata"].get("deletionTimestamp"))
        assert client.get(f"/api/v1/namespaces/{namespace}").status == 200
        assert client.patch(held, {"metadata": {"finalizers": None}}).status == 200
        eventually("it is gone", lambda: client.get(f"/api/v1/namespaces/{namespace}").status == 404)
    again = client.create("/api/v1/namespaces", {"metadata": {"name": namespace}})
    assert again.status == 201
    client.delete(f"/api/v1/namespaces/{namespace}")


def test_objects_may_be_changed_while_their_namespace_goes(server: Server) -> None:
    client, namespace = server.client, new_namespace(server)
    held = path("configmaps", namespace, "held")
    client.made(path("configmaps", namespace), {"metadata": {"name": "held", "finalizers": ["example.com/wait"]}})
    client.delete(f"/api/v1/namespaces/{namespace}")
    assert client.patch(held, {"data": {"a": "1"}}).status == 200
    client.patch(held, {"metadata": {"finalizers": None}})


def test_the_namespaces_of_the_system_stay(client: Client) -> None:
    for name in ("default", "kube-system"):
        answer = client.delete(f"/api/v1/namespaces/{name}")
        assert (answer.status, answer.reason) == (403, "Forbidden")
        assert answer.message == f'namespaces "{name}" is forbidden: this namespace may not be deleted'


def test_a_namespace_says_why_it_does_not_go(server: Server) -> None:
    client, namespace = server.client, new_namespace(server)
    held = path("configmaps", namespace, "held")
    client.made(path("configmaps", namespace), {"metadata": {"name": "held", "finalizers": ["example.com/wait"]}})
    client.delete(f"/api/v1/namespaces/{namespace}")

    def told() -> bool:
        status = client.get(f"/api/v1/namespaces/{namespace}").body["status"]
        conditions = {item["type"]: item for item in status.get("conditions", [])}
        remaining = conditions.get("NamespaceFinalizersRemaining", {})
        return remaining.get("status") == "True" and "example.com/wait in 1 resource instances" in remaining["message"]

    eventually("the finalizer is named", told)
    client.patch(held, {"metadata": {"finalizers": None}})
