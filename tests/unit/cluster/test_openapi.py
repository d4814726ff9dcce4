from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from syncd.cluster import openapi
from syncd.cluster.discovery import Resource
from syncd.cluster.openapi import Schemas
from tests.faults.cluster.fakeapi import Exchange, FakeAPI, transport_to

if TYPE_CHECKING:
    from collections.abc import Iterator

WIDGET = Resource("example.com", "v1", "Widget", "widgets", True)
GADGET = Resource("example.com", "v1", "Gadget", "gadgets", True)
DEPLOYMENT = Resource("apps", "v1", "Deployment", "deployments", True)
INDEX = "/openapi/v3"
DOCUMENT = "/openapi/v3/apis/example.com/v1"


def document(*, strategic: bool) -> dict[str, Any]:
    content = ["application/merge-patch+json", *(["application/strategic-merge-patch+json"] if strategic else [])]
    schemas, paths = {}, {}
    for resource in (WIDGET, GADGET):
        mark = {"group": "example.com", "version": "v1", "kind": resource.kind}
        schemas[f"com.example.{resource.kind}"] = {"type": "object", "x-kubernetes-group-version-kind": [mark]}
        patch = {"x-kubernetes-group-version-kind": mark, "requestBody": {"content": {kind: {} for kind in content}}}
        paths[f"/apis/example.com/v1/{resource.plural}/{{name}}"] = {"patch": patch}
    return {"paths": paths, "components": {"schemas": schemas}}


class Server(FakeAPI):
    def __init__(self) -> None:
        super().__init__(self._answer)
        self.hash = "one"
        self.broken = False
        self.document: Any = document(strategic=True)

    def _answer(self, exchange: Exchange) -> None:
        if self.broken:
            exchange.status(503, "ServiceUnavailable")
        elif exchange.request.path == INDEX:
            entry = {"serverRelativeURL": f"{DOCUMENT}?hash={self.hash}"}
            exchange.reply({"paths": {"apis/example.com/v1": entry}})
        else:
            assert exchange.request.query == {"hash": self.hash}
            exchange.reply(self.document)

    def asked(self) -> list[str]:
        return [request.path for request in self.requests]


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        yield running


@pytest.fixture
def schemas(server: Server) -> Iterator[Schemas]:
    with closing(transport_to(server.url)) as transport:
        yield Schemas(transport)


@pytest.mark.parametrize("strategic", [True, False])
def test_the_servers_schema_says_which_patches_it_takes(server: Server, schemas: Schemas, *, strategic: bool) -> None:
    server.document = document(strategic=strategic)
    schema = schemas.schema_for(WIDGET)
    assert schema is not None
    assert schema.accepts_strategic is strategic


def test_one_document_serves_all_kinds_of_its_version(server: Server, schemas: Schemas) -> None:
    assert schemas.schema_for(WIDGET) is schemas.schema_for(WIDGET)
    assert schemas.schema_for(GADGET) is not None
    assert server.asked() == [INDEX, DOCUMENT]


def test_a_document_is_read_again_only_when_its_hash_changes(
    server: Server, schemas: Schemas, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openapi, "INDEX_AGE", 0.0)
    first = schemas.schema_for(WIDGET)
    assert schemas.schema_for(WIDGET) is first
    assert server.asked() == [INDEX, DOCUMENT, INDEX]
    server.hash, server.document = "two", document(strategic=False)
    second = schemas.schema_for(WIDGET)
    assert second is not None
    assert not second.accepts_strategic


def test_a_server_that_cannot_say_leaves_the_bundled_schema(server: Server, schemas: Schemas) -> None:
    server.broken = True
    schema = schemas.schema_for(DEPLOYMENT)
    assert schema is not None
    assert schema.accepts_strategic
    assert schemas.schema_for(WIDGET) is None
    asked = len(server.asked())
    schemas.schema_for(WIDGET)
    assert len(server.asked()) == asked


def test_what_was_learnt_outlives_an_outage(server: Server, schemas: Schemas, monkeypatch: pytest.MonkeyPatch) -> None:
    schema = schemas.schema_for(WIDGET)
    monkeypatch.setattr(openapi, "INDEX_AGE", 0.0)
    server.broken = True
    assert schemas.schema_for(WIDGET) is schema


@pytest.mark.parametrize("nonsense", [[], {"components": 3}, {"components": {"schemas": {"a": 1}}}, "x"])
def test_nonsense_leaves_the_bundled_schema(server: Server, schemas: Schemas, nonsense: Any) -> None:
    server.document = nonsense
    assert schemas.schema_for(WIDGET) is None


def test_a_field_that_is_called_description_stays(server: Server, schemas: Schemas) -> None:
    body = server.document["components"]["schemas"]["com.example.Widget"]
    body["description"] = "Prose."
    body["properties"] = {"description": {"type": "string", "description": "More prose."}}
    schema = schemas.schema_for(WIDGET)
    assert schema is not None
    assert schema.field("description") is not None
    assert schema.field("other") is None


def test_a_kind_that_the_document_lacks_has_no_schema(schemas: Schemas) -> None:
    assert schemas.schema_for(WIDGET._replace(kind="Other")) is None
