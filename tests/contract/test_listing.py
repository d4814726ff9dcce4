"""Lists: selectors, pages, and what a resourceVersion asks for."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode
from typing import TYPE_CHECKING, Any

import pytest

from tests.contract.client import path
from tests.support.daemon import eventually

if TYPE_CHECKING:
    from tests.contract.client import Client
    from tests.contract.servers import Server

LABELS: dict[str, dict[str, str]] = {
    "a": {"app": "web", "tier": "front"},
    "b": {"app": "web", "tier": "back"},
    "c": {"app": "db"},
    "d": {},
}


@pytest.fixture
def policies(client: Client, namespace: str) -> str:
    """Where four objects are; of a kind that no controller makes any of."""
    where = path("networkpolicies", namespace)
    for name, labels in LABELS.items():
        client.made(where, {"metadata": {"name": name, "labels": labels}, "spec": {"podSelector": {}}})
    return where


def names(body: dict[str, Any]) -> list[str]:
    return [item["metadata"]["name"] for item in body["items"]]


def test_a_list_has_its_kind_and_version_and_items_without(client: Client, policies: str) -> None:
    body = client.get(policies).body
    assert (body["kind"], body["apiVersion"]) == ("NetworkPolicyList", "networking.k8s.io/v1")
    assert int(body["metadata"]["resourceVersion"]) > 0
    assert names(body) == ["a", "b", "c", "d"]
    assert all("kind" not in item and "apiVersion" not in item for item in body["items"])


def test_an_empty_list_has_no_null(client: Client, namespace: str) -> None:
    assert client.get(path("cronjobs", namespace)).body["items"] == []


@pytest.mark.usefixtures("policies")
def test_a_list_of_all_namespaces_has_those_of_each(client: Client, namespace: str) -> None:
    items = client.get(path("networkpolicies")).body["items"]
    assert [it["metadata"]["name"] for it in items if it["metadata"]["namespace"] == namespace] == list(LABELS)


@pytest.mark.parametrize(
    ("selector", "found"),
    [
        ("app=web", "ab"),
        ("app==web", "ab"),
        ("app!=web", "cd"),
        ("app in (web,db)", "abc"),
        ("app in (web), tier in (back)", "b"),
        ("app notin (web)", "cd"),
        ("tier", "ab"),
        ("!tier", "cd"),
        ("app,!tier", "c"),
        ("app=web,tier!=front", "b"),
        ("app=", ""),
        ("nothing", ""),
        ("", "abcd"),
    ],
)
def test_label_selectors_choose(client: Client, policies: str, selector: str, found: str) -> None:
    assert names(client.get(policies, labelSelector=selector).body) == list(found)


@pytest.mark.parametrize(
    ("selector", "found"),
    [
        ("metadata.name=a", "a"),
        ("metadata.name==a", "a"),
        ("metadata.name!=a", "bcd"),
        ("metadata.name!=a,metadata.name!=b", "cd"),
        ("metadata.namespace=elsewhere", ""),
    ],
)
def test_field_selectors_choose(client: Client, policies: str, selector: str, found: str) -> None:
    assert names(client.get(policies, fieldSelector=selector).body) == list(found)


def test_kinds_have_field_selectors_of_their_own(client: Client, namespace: str) -> None:
    for name, kind in (("plain", "Opaque"), ("special", "example.com/special")):
        client.made(path("secrets", namespace), {"metadata": {"name": name}, "type": kind})
    assert names(client.get(path("secrets", namespace), fieldSelector="type=example.com/special").body) == ["special"]
    pod = {"containers": [{"name": "web", "image": "web:1"}]}
    client.made(path("pods", namespace), {"metadata": {"name": "web"}, "spec": pod})
    eventually(
        "the Pod runs", lambda: names(client.get(path("pods", namespace), fieldSelector="status.phase=Running").body)
    )
    assert names(client.get(path("pods", namespace), fieldSelector="spec.nodeName=nowhere").body) == []


def test_pages_go_on_where_the_last_one_ended(client: Client, policies: str) -> None:
    first = client.get(policies, limit=3).body
    assert names(first) == ["a", "b", "c"]
    assert first["metadata"]["remainingItemCount"] == 1
    second = client.get(policies, limit=3, **{"continue": first["metadata"]["continue"]}).body
    assert names(second) == ["d"]
    assert "continue" not in second["metadata"]
    assert "remainingItemCount" not in second["metadata"]


def test_pages_show_one_moment(client: Client, policies: str) -> None:
    first = client.get(policies, limit=1).body
    client.made(policies, {"metadata": {"name": "aa"}, "spec": {"podSelector": {}}})
    client.delete(f"{policies}/b")
    token = first["metadata"]["continue"]
    second = client.get(policies, limit=10, **{"continue": token}).body
    assert names(second) == ["b", "c", "d"]
    assert second["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


def test_a_page_of_selected_objects_does_not_say_how_many_remain(client: Client, policies: str) -> None:
    metadata = client.get(policies, limit=1, labelSelector="app=web").body["metadata"]
    assert metadata["continue"]
    assert "remainingItemCount" not in metadata


def test_a_page_that_ends_with_the_last_object_has_no_next(client: Client, policies: str) -> None:
    assert "continue" not in client.get(policies, limit=4).body["metadata"]


def test_a_continue_token_and_a_version_exclude_each_other(client: Client, policies: str) -> None:
    first = client.get(policies, limit=1).body["metadata"]
    answer = client.get(policies, resourceVersion=first["resourceVersion"], **{"continue": first["continue"]})
    assert answer.status == 400


def test_version_zero_and_an_old_version_mean_any_state_that_is_new_enough(client: Client, policies: str) -> None:
    version = client.get(policies).body["metadata"]["resourceVersion"]
    assert names(client.get(policies, resourceVersion=version).body) == list(LABELS)
    eventually("the cache has them", lambda: names(client.get(policies, resourceVersion="0").body) == list(LABELS))


def test_an_exact_version_shows_that_moment(client: Client, policies: str) -> None:
    version = client.get(policies).body["metadata"]["resourceVersion"]
    client.delete(f"{policies}/a")
    then = client.get(policies, resourceVersion=version, resourceVersionMatch="Exact").body
    assert names(then) == list(LABELS)
    assert then["metadata"]["resourceVersion"] == version
    now = client.get(policies, resourceVersion=version, resourceVersionMatch="NotOlderThan").body
    assert names(now) == ["b", "c", "d"]


def test_history_that_is_compacted_is_gone_with_a_way_to_go_on(server: Server, policies: str) -> None:
    client = server.client
    first = client.get(policies, limit=2).body["metadata"]
    client.delete(f"{policies}/d")
    server.compact()
    exact = {"resourceVersion": first["resourceVersion"], "resourceVersionMatch": "Exact", "limit": 1}
    eventually("the server has noticed", lambda: client.get(policies, **exact).reason == "Expired")
    assert client.get(policies, **exact).status == 410
    answer = client.get(policies, limit=2, **{"continue": first["continue"]})
    assert (answer.status, answer.reason) == (410, "Expired")
    assert answer.message.startswith("The provided continue parameter is too old")
    rest = client.get(policies, limit=2, **{"continue": answer.body["metadata"]["continue"]})
    assert names(rest.body) == ["c"]


def test_a_version_that_is_still_to_come_times_out(client: Client, policies: str) -> None:
    answer = client.get(policies, resourceVersion="999999999")
    assert (answer.status, answer.reason) == (504, "Timeout")
    assert answer.body["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"


def test_continue_tokens_are_opaque_but_printable(client: Client, policies: str) -> None:
    token = client.get(policies, limit=1).body["metadata"]["continue"]
    assert json.loads(urlsafe_b64decode(token + "=" * (-len(token) % 4)))


def test_partial_metadata_has_no_spec(client: Client, policies: str) -> None:
    accept = {"Accept": "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"}
    body = client.ask("GET", policies, headers=accept).body
    assert (body["kind"], body["apiVersion"]) == ("PartialObjectMetadataList", "meta.k8s.io/v1")
    assert names(body) == list(LABELS)
    assert all(set(item) - {"kind", "apiVersion"} == {"metadata"} for item in body["items"])
    one = {"Accept": "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"}
    body = client.ask("GET", f"{policies}/a", headers=one).body
    assert (body["kind"], body["metadata"]["labels"]) == ("PartialObjectMetadata", LABELS["a"])
    assert set(body) == {"kind", "apiVersion", "metadata"}


def test_a_form_that_cannot_be_made_falls_back_to_the_next(client: Client, policies: str) -> None:
    accept = {"Accept": "application/json;as=Poem;g=meta.k8s.io;v=v1, application/json"}
    assert client.ask("GET", policies, headers=accept).body["kind"] == "NetworkPolicyList"
