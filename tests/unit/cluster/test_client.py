from __future__ import annotations

from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

import pytest

from syncd.cluster.client import Client
from syncd.cluster.discovery import Resource
from syncd.cluster.errors import ExpiredError, MalformedResponseError
from syncd.model import Write, WriteMethod
from tests.faults.cluster.fakeapi import Exchange, FakeAPI, transport_to

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CONFIG_MAP = Resource("", "v1", "ConfigMap", "configmaps", True)


@contextmanager
def client_of(handler: Callable[[Exchange], None]) -> Iterator[tuple[Client, FakeAPI]]:
    with FakeAPI(handler) as server, closing(transport_to(server.url)) as transport:
        yield Client(transport), server


def echo(exchange: Exchange) -> None:
    exchange.reply({"kind": "ConfigMap"})


def test_create_posts_to_the_namespace_of_the_object() -> None:
    body = {"metadata": {"name": "a", "namespace": "shop"}}
    with client_of(echo) as (client, server):
        client.create(CONFIG_MAP, body)
    request = server.requests[0]
    assert (request.method, request.path) == ("POST", "/api/v1/namespaces/shop/configmaps")
    assert request.query == {"fieldManager": "syncd", "fieldValidation": "Strict"}
    assert request.json() == body


@pytest.mark.parametrize(
    ("method", "content_type"),
    [
        (WriteMethod.STRATEGIC_MERGE_PATCH, "application/strategic-merge-patch+json"),
        (WriteMethod.JSON_MERGE_PATCH, "application/merge-patch+json"),
        (WriteMethod.SERVER_SIDE_APPLY, "application/apply-patch+yaml"),
    ],
)
def test_patch_says_what_kind_of_patch_it_is(method: WriteMethod, content_type: str) -> None:
    with client_of(echo) as (client, server):
        client.patch(CONFIG_MAP, "shop", "a", Write(method, {"data": {}}), dry_run=True)
    request = server.requests[0]
    assert request.headers["Content-Type"] == content_type
    assert request.query["dryRun"] == "All"
    assert ("force" in request.query) is (method is WriteMethod.SERVER_SIDE_APPLY)


def test_delete_carries_its_preconditions() -> None:
    with client_of(echo) as (client, server):
        client.delete(CONFIG_MAP, "shop", "a", Write(WriteMethod.DELETE, uid="u", resource_version="7"), "Foreground")
        client.delete(CONFIG_MAP, "shop", "a", Write(WriteMethod.DELETE), dry_run=True)
    first, second = (request.json() for request in server.requests)
    assert first["preconditions"] == {"uid": "u", "resourceVersion": "7"}
    assert first["propagationPolicy"] == "Foreground"
    assert "preconditions" not in second
    assert second["dryRun"] == ["All"]


def test_list_follows_continue_and_gives_whole_objects() -> None:
    def handler(exchange: Exchange) -> None:
        first = "continue" not in exchange.request.query
        metadata = {"resourceVersion": "9", "continue": "more/=" if first else ""}
        items = [{"metadata": {"name": "a" if first else "b"}}]
        exchange.reply({"kind": "ConfigMapList", "metadata": metadata, "items": items})

    with client_of(handler) as (client, server):
        found = list(client.list(CONFIG_MAP, selector="team in (a,b)", limit=1))
    assert [item["metadata"]["name"] for item in found] == ["a", "b"]
    assert {(item["apiVersion"], item["kind"]) for item in found} == {("v1", "ConfigMap")}
    assert [dict(request.query) for request in server.requests] == [
        {"labelSelector": "team in (a,b)", "limit": "1"},
        {"labelSelector": "team in (a,b)", "limit": "1", "continue": "more/="},
    ]


def test_a_list_that_expires_on_the_way_says_so() -> None:
    def handler(exchange: Exchange) -> None:
        if "continue" in exchange.request.query:
            exchange.status(410, "Expired")
        else:
            exchange.reply({"kind": "ConfigMapList", "metadata": {"continue": "x"}, "items": None})

    with client_of(handler) as (client, _), pytest.raises(ExpiredError):
        list(client.list(CONFIG_MAP))


def test_something_else_than_a_list_is_refused() -> None:
    with client_of(echo) as (client, _), pytest.raises(MalformedResponseError):
        list(client.list(CONFIG_MAP))


def test_watch_asks_for_bookmarks_and_a_bounded_life() -> None:
    def handler(exchange: Exchange) -> None:
        exchange.begin_stream()
        exchange.end_stream()

    with client_of(handler) as (client, server), client.watch(CONFIG_MAP, "42", "a=b", lifetime=12.4) as stream:
        assert list(stream) == []
    assert server.requests[0].query == {
        "watch": "true",
        "allowWatchBookmarks": "true",
        "resourceVersion": "42",
        "timeoutSeconds": "12",
        "labelSelector": "a=b",
    }
