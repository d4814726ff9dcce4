"""What a client gets back of a small manifest of each kind: defaults, status, and who manages what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.contract import golden
from tests.contract.client import JSON, path
from tests.contract.differences import differs
from tests.contract.manifests import MANIFESTS, NAMES

if TYPE_CHECKING:
    from tests.contract.servers import Server

TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"


def made(server: Server, namespace: str, name: str, accept: str = JSON) -> Any:
    """A manifest as it comes back; by a dry run, which does all but storing, so that no controller meddles."""
    resource, body = MANIFESTS[name]
    wide = name.startswith("/")
    called = NAMES.get(name, f"{namespace}-made" if wide else "made")
    where = path(resource, "" if wide else namespace)
    manifest = {"metadata": {"name": called}, **body}
    answer = server.client.ask("POST", where, manifest, headers={"Accept": accept}, dryRun="All")
    assert answer.status == 201, answer.data
    return golden.stable(answer.body, namespace)


@pytest.mark.parametrize("name", MANIFESTS)
def test_a_manifest_comes_back_the_same(server: Server, namespace: str, name: str) -> None:
    found = made(server, namespace, name)
    golden.check(f"defaults/{name.lstrip('/')}", found, real=server.real)


@pytest.mark.parametrize("name", MANIFESTS)
def test_a_table_has_the_same_columns_and_cells(server: Server, namespace: str, name: str) -> None:
    table = made(server, namespace, name, TABLE)
    columns = [
        {key: item for key, item in column.items() if key != "description"} for column in table["columnDefinitions"]
    ]
    (row,) = table["rows"]
    found = {**table, "columnDefinitions": columns, "rows": [row["cells"]]}
    golden.check(f"tables/{name.lstrip('/')}", found, real=server.real)
    assert row["object"]["kind"] == "PartialObjectMetadata"


@differs("column-descriptions")
def test_columns_of_tables_have_descriptions(server: Server, namespace: str) -> None:
    columns = made(server, namespace, "configmap", TABLE)["columnDefinitions"]
    assert all(column["description"] for column in columns)
