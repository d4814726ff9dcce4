"""Deletion: preconditions, finalizers, dependents, and whole collections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.contract.client import path
from tests.support.daemon import eventually

if TYPE_CHECKING:
    from tests.contract.client import Client

FINALIZER = "example.com/wait"


def a_map(client: Client, namespace: str, name: str = "owner", **metadata: Any) -> Any:
    return client.made(path("configmaps", namespace), {"metadata": {"name": name, **metadata}})


def owned_by(owner: dict[str, Any], **more: Any) -> list[dict[str, Any]]:
    metadata = owner["metadata"]
    return [{"apiVersion": "v1", "kind": "ConfigMap", "name": metadata["name"], "uid": metadata["uid"], **more}]


def gone(client: Client, where: str) -> None:
    eventually(f"{where} is gone", lambda: client.get(where).status == 404)


def test_a_deletion_says_what_was_deleted(client: Client, namespace: str) -> None:
    made = a_map(client, namespace)
    answer = client.delete(path("configmaps", namespace, "owner"))
    assert answer.status == 200
    assert answer.body == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {"name": "owner", "kind": "configmaps", "uid": made["metadata"]["uid"]},
    }
    assert client.get(path("configmaps", namespace, "owner")).status == 404


def test_a_deletion_names_the_group(client: Client, namespace: str) -> None:
    client.made(path("roles", namespace), {"metadata": {"name": "reader"}, "rules": []})
    details = client.delete(path("roles", namespace, "reader")).body["details"]
    assert (details["group"], details["kind"]) == ("rbac.authorization.k8s.io", "roles")


def test_a_deletion_holds_to_its_preconditions(client: Client, namespace: str) -> None:
    where = path("configmaps", namespace, "owner")
    metadata = a_map(client, namespace)["metadata"]
    for wrong in ({"uid": "other"}, {"resourceVersion": "1"}):
        answer = client.delete(where, {"preconditions": wrong})
        assert (answer.status, answer.reason) == (409, "Conflict")
    right = {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}
    assert client.delete(where, {"preconditions": right}).status == 200


def test_options_may_be_in_the_query(client: Client, namespace: str) -> None:
    owner = a_map(client, namespace)
    a_map(client, namespace, "child", ownerReferences=owned_by(owner, blockOwnerDeletion=True))
    assert client.delete(path("configmaps", namespace, "owner"), propagationPolicy="Foreground").status == 200
    gone(client, path("configmaps", namespace, "child"))
    gone(client, path("configmaps", namespace, "owner"))


def test_a_finalizer_holds_an_object(client: Client, namespace: str) -> None:
    where = path("configmaps", namespace, "owner")
    a_map(client, namespace, finalizers=[FINALIZER])
    answer = client.delete(where)
    assert answer.status == 200
    assert answer.body["kind"] == "ConfigMap"
    assert answer.body["metadata"]["deletionTimestamp"]
    assert answer.body["metadata"]["deletionGracePeriodSeconds"] == 0
    assert client.get(where).body == answer.body
    last = client.patch(where, {"metadata": {"finalizers": None}})
    assert last.status == 200
    assert last.body["metadata"]["deletionTimestamp"] == answer.body["metadata"]["deletionTimestamp"]
    assert client.get(where).status == 404


def test_a_second_deletion_changes_nothing(client: Client, namespace: str) -> None:
    where = path("configmaps", namespace, "owner")
    a_map(client, namespace, finalizers=[FINALIZER])
    first = client.delete(where).body
    assert client.delete(where).body == first
    client.patch(where, {"metadata": {"finalizers": None}})


def test_what_is_being_deleted_gets_no_new_finalizer(client: Client, namespace: str) -> None:
    where = path("configmaps", namespace, "owner")
    a_map(client, namespace, finalizers=[FINALIZER])
    client.delete(where)
    answer = client.patch(where, {"metadata": {"finalizers": [FINALIZER, "example.com/more"]}})
    assert (answer.status, answer.reason) == (422, "Invalid")
    assert answer.body["details"]["causes"][0]["field"] == "metadata.finalizers"
    assert client.patch(where, {"data": {"a": "1"}}).status == 200
    client.patch(where, {"metadata": {"finalizers": None}})


def test_a_deletion_mark_cannot_be_taken_back(client: Client, namespace: str) -> None:
    where = path("configmaps", namespace, "owner")
    a_map(client, namespace, finalizers=[FINALIZER])
    marked = client.delete(where).body["metadata"]["deletionTimestamp"]
    after = client.patch(where, {"metadata": {"deletionTimestamp": None}}).body
    assert after["metadata"]["deletionTimestamp"] == marked
    client.patch(where, {"metadata": {"finalizers": None}})


def test_dependents_go_after_their_owner(client: Client, namespace: str) -> None:
    owner = a_map(client, namespace)
    a_map(client, namespace, "child", ownerReferences=owned_by(owner))
    assert client.delete(path("configmaps", namespace, "owner")).body["status"] == "Success"
    gone(client, path("configmaps", namespace, "child"))


def test_dependents_go_before_their_owner_when_that_is_asked_for(client: Client, namespace: str) -> None:
    owner = a_map(client, namespace)
    references = owned_by(owner, blockOwnerDeletion=True)
    a_map(client, namespace, "child", ownerReferences=references, finalizers=[FINALIZER])
    answer = client.delete(path("configmaps", namespace, "owner"), {"propagationPolicy": "Foreground"})
    assert answer.body["metadata"]["finalizers"] == ["foregroundDeletion"]
    child = path("configmaps", namespace, "child")
    eventually("the child is marked", lambda: client.get(child).body["metadata"].get("deletionTimestamp"))
    assert client.get(path("configmaps", namespace, "owner")).status == 200
    client.patch(child, {"metadata": {"finalizers": None}})
    gone(client, path("configmaps", namespace, "owner"))


def test_dependents_stay_when_they_are_orphaned(client: Client, namespace: str) -> None:
    owner = a_map(client, namespace)
    a_map(client, namespace, "child", ownerReferences=owned_by(owner))
    answer = client.delete(path("configmaps", namespace, "owner"), {"propagationPolicy": "Orphan"})
    assert answer.body["metadata"]["finalizers"] == ["orphan"]
    gone(client, path("configmaps", namespace, "owner"))
    assert "ownerReferences" not in client.get(path("configmaps", namespace, "child")).body["metadata"]


def test_a_dependent_with_another_owner_stays(client: Client, namespace: str) -> None:
    first, second = a_map(client, namespace), a_map(client, namespace, "second")
    references = owned_by(first) + owned_by(second)
    a_map(client, namespace, "child", ownerReferences=references)
    client.delete(path("configmaps", namespace, "owner"))
    child = path("configmaps", namespace, "child")
    kept = owned_by(second)
    eventually("the reference is gone", lambda: client.get(child).body["metadata"]["ownerReferences"] == kept)


def test_a_dependent_of_what_never_was_goes(client: Client, namespace: str) -> None:
    nobody = {"metadata": {"name": "nobody", "uid": "7d1c3c1c-0000-4000-8000-000000000000"}}
    a_map(client, namespace, "child", ownerReferences=owned_by(nobody))
    gone(client, path("configmaps", namespace, "child"))


def test_a_deployment_takes_its_replica_sets_and_pods_along(client: Client, namespace: str) -> None:
    pod = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": "web:1"}]}}
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": pod}
    client.made(path("deployments", namespace), {"metadata": {"name": "web"}, "spec": spec})
    pods = path("pods", namespace)
    eventually("there is a Pod", lambda: client.get(pods).body["items"])
    client.delete(path("deployments", namespace, "web"))
    eventually("no Pod is left", lambda: not client.get(pods).body["items"])
    assert client.get(path("replicasets", namespace)).body["items"] == []


@pytest.mark.parametrize(
    ("query", "left"),
    [
        ({"labelSelector": "app=a"}, ["three"]),
        ({"fieldSelector": "metadata.name=two"}, ["one", "three"]),
        ({"labelSelector": "app", "fieldSelector": "metadata.name!=one"}, ["one"]),
        ({}, []),
    ],
)
def test_a_collection_is_deleted_by_selectors(
    client: Client, namespace: str, query: dict[str, str], left: list[str]
) -> None:
    for name, app in (("one", "a"), ("two", "a"), ("three", "b")):
        body = {"metadata": {"name": name, "labels": {"app": app}}, "spec": {}}
        client.made(path("networkpolicies", namespace), {**body, "spec": {"podSelector": {}}})
    answer = client.delete(path("networkpolicies", namespace), **query)
    assert (answer.status, answer.body["kind"]) == (200, "NetworkPolicyList")
    rest = client.get(path("networkpolicies", namespace)).body["items"]
    assert [item["metadata"]["name"] for item in rest] == left


def test_deleting_a_collection_leaves_what_finalizers_hold(client: Client, namespace: str) -> None:
    a_map(client, namespace, finalizers=[FINALIZER])
    a_map(client, namespace, "other")
    client.delete(path("configmaps", namespace), fieldSelector="metadata.name!=kube-root-ca.crt")
    where = path("configmaps", namespace, "owner")
    assert client.get(where).body["metadata"]["deletionTimestamp"]
    assert client.get(path("configmaps", namespace, "other")).status == 404
    client.patch(where, {"metadata": {"finalizers": None}})
