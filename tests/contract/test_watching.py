"""Watches: what comes first, what follows, and how they end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.contract.client import path
from tests.contract.customs import defined

if TYPE_CHECKING:
    from tests.contract.client import Client
    from tests.contract.servers import Server

BODY: dict[str, Any] = {"spec": {"podSelector": {}}}


@pytest.fixture
def policies(namespace: str) -> str:
    """A collection that is empty."""
    return path("networkpolicies", namespace)


def make(client: Client, where: str, name: str, **labels: str) -> Any:
    return client.made(where, {"metadata": {"name": name, "labels": labels}, **BODY})


def version_of(client: Client, where: str) -> str:
    return str(client.get(where).body["metadata"]["resourceVersion"])


def brief(event: dict[str, Any]) -> tuple[str, str]:
    return event["type"], event["object"]["metadata"]["name"]


@pytest.mark.parametrize("version", ["", "0"])
def test_a_watch_without_version_begins_with_what_is_there(client: Client, policies: str, version: str) -> None:
    made = make(client, policies, "a")
    query = {"resourceVersion": version} if version else {}
    with client.watch(policies, **query) as events:
        assert next(events) == {"type": "ADDED", "object": made}
        make(client, policies, "b")
        assert brief(next(events)) == ("ADDED", "b")


def test_a_watch_from_a_version_has_all_since_and_nothing_before(client: Client, policies: str) -> None:
    make(client, policies, "a")
    version = version_of(client, policies)
    make(client, policies, "b", x="1")
    client.patch(f"{policies}/b", {"metadata": {"labels": {"x": "2"}}})
    client.delete(f"{policies}/b")
    with client.watch(policies, resourceVersion=version) as events:
        seen = [next(events) for _ in range(3)]
        assert [brief(event) for event in seen] == [("ADDED", "b"), ("MODIFIED", "b"), ("DELETED", "b")]
        versions = [int(event["object"]["metadata"]["resourceVersion"]) for event in seen]
        assert versions == sorted(set(versions))
        make(client, policies, "c")
        assert brief(next(events)) == ("ADDED", "c")


def test_what_is_deleted_is_shown_as_it_was_with_the_version_of_its_deletion(client: Client, policies: str) -> None:
    made = make(client, policies, "a", x="1")
    client.delete(f"{policies}/a")
    (event,) = client.events(policies, 1, resourceVersion=made["metadata"]["resourceVersion"])
    version = event["object"]["metadata"].pop("resourceVersion")
    assert int(version) > int(made["metadata"].pop("resourceVersion"))
    assert event == {"type": "DELETED", "object": made}


def test_a_write_that_changes_nothing_has_no_event(client: Client, policies: str) -> None:
    made = make(client, policies, "a")
    client.patch(f"{policies}/a", {"spec": {"podSelector": {}}})
    client.replace(f"{policies}/a", made)
    client.patch(f"{policies}/a", {"metadata": {"labels": {"real": "change"}}})
    (event,) = client.events(policies, 1, resourceVersion=made["metadata"]["resourceVersion"])
    assert event["object"]["metadata"]["labels"] == {"real": "change"}


def test_a_selector_turns_coming_into_sight_and_leaving_it_into_events(client: Client, policies: str) -> None:
    version = version_of(client, policies)
    make(client, policies, "a", app="db")
    where = f"{policies}/a"
    with client.watch(policies, resourceVersion=version, labelSelector="app=web") as events:
        client.patch(where, {"metadata": {"labels": {"app": "web"}}})
        assert brief(next(events)) == ("ADDED", "a")
        client.patch(where, {"metadata": {"labels": {"more": "1"}}})
        assert brief(next(events)) == ("MODIFIED", "a")
        left = client.patch(where, {"metadata": {"labels": {"app": "db"}}}).body
        event = next(events)
        assert brief(event) == ("DELETED", "a")
        assert event["object"]["metadata"]["labels"]["app"] == "web"
        assert event["object"]["metadata"]["resourceVersion"] == left["metadata"]["resourceVersion"]


def test_field_selectors_and_names_choose_what_is_watched(client: Client, policies: str) -> None:
    version = version_of(client, policies)
    make(client, policies, "a")
    make(client, policies, "b")
    chosen = client.events(policies, 1, resourceVersion=version, fieldSelector="metadata.name=b")
    assert brief(chosen[0]) == ("ADDED", "b")


def test_one_namespace_is_watched_apart(client: Client, policies: str, namespace: str) -> None:
    version = version_of(client, policies)
    make(client, policies, "a")
    everywhere = client.events(path("networkpolicies"), 1, resourceVersion=version)
    assert brief(everywhere[0]) == ("ADDED", "a")
    assert everywhere[0]["object"]["metadata"]["namespace"] == namespace


def test_bookmarks_say_how_far_the_watch_is(client: Client, policies: str) -> None:
    made = make(client, policies, "a")
    with client.watch(policies, resourceVersion="0", allowWatchBookmarks="true", timeoutSeconds=4) as events:
        assert brief(next(events)) == ("ADDED", "a")
        bookmark = next(events)
    assert bookmark["type"] == "BOOKMARK"
    shown = bookmark["object"]
    assert (shown["kind"], shown["apiVersion"]) == ("NetworkPolicy", "networking.k8s.io/v1")
    assert int(shown["metadata"]["resourceVersion"]) >= int(made["metadata"]["resourceVersion"])


def test_a_watch_goes_on_from_a_bookmark(client: Client, policies: str) -> None:
    make(client, policies, "a")
    with client.watch(policies, resourceVersion="0", allowWatchBookmarks="true", timeoutSeconds=4) as events:
        bookmark = next(event for event in events if event["type"] == "BOOKMARK")
    make(client, policies, "b")
    version = bookmark["object"]["metadata"]["resourceVersion"]
    assert brief(client.events(policies, 1, resourceVersion=version)[0]) == ("ADDED", "b")


def test_initial_events_end_with_a_marked_bookmark(client: Client, policies: str) -> None:
    make(client, policies, "a")
    query = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}
    first, bookmark = client.events(policies, 2, **query)
    assert brief(first) == ("ADDED", "a")
    assert bookmark["type"] == "BOOKMARK"
    assert bookmark["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


def test_a_watch_ends_at_its_timeout(client: Client, policies: str) -> None:
    make(client, policies, "a")
    with client.watch(policies, timeoutSeconds=1) as events:
        assert [brief(event) for event in events] == [("ADDED", "a")]


def test_a_watch_from_history_that_is_gone_gets_an_error_event(server: Server, namespace: str) -> None:
    # A real server keeps some minutes of events of each kind, but none from before it served the kind.
    with defined(server.client) as custom:
        server.client.made(custom.path(namespace), custom.manifest())
        server.compact()
        events = server.client.events(custom.path(namespace), 1, resourceVersion="1")
    assert events[0]["type"] == "ERROR"
    status = events[0]["object"]
    assert (status["kind"], status["status"], status["code"]) == ("Status", "Failure", 410)
    assert status["reason"] == "Expired"
    assert status["message"].startswith("too old resource version: 1 (")


def test_partial_metadata_can_be_watched(client: Client, policies: str) -> None:
    make(client, policies, "a", x="1")
    accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
    answer = client.ask("GET", policies, headers={"Accept": accept}, watch="true", timeoutSeconds=1)
    shown = answer.body["object"]
    assert (shown["kind"], shown["apiVersion"]) == ("PartialObjectMetadata", "meta.k8s.io/v1")
    assert shown["metadata"]["labels"] == {"x": "1"}
    assert "spec" not in shown


def test_tables_can_be_watched(client: Client, policies: str) -> None:
    make(client, policies, "a")
    accept = "application/json;as=Table;g=meta.k8s.io;v=v1"
    answer = client.ask("GET", policies, headers={"Accept": accept}, watch="true", timeoutSeconds=1)
    event = answer.body
    assert event["object"]["kind"] == "Table"
    assert event["object"]["rows"][0]["cells"][0] == "a"


def test_a_watch_in_flight_sees_the_finalizer_and_then_the_end(client: Client, policies: str) -> None:
    made = client.made(policies, {"metadata": {"name": "a", "finalizers": ["example.com/wait"]}, **BODY})
    with client.watch(policies, resourceVersion=made["metadata"]["resourceVersion"]) as events:
        client.delete(f"{policies}/a")
        marked = next(events)
        assert brief(marked) == ("MODIFIED", "a")
        assert marked["object"]["metadata"]["deletionTimestamp"]
        client.patch(f"{policies}/a", {"metadata": {"finalizers": None}})
        assert brief(next(events)) == ("DELETED", "a")
