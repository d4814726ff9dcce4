"""Both servers, each started once, and a fresh namespace for each test."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import pytest

from tests.contract.differences import DIFFERENCES, MARK
from tests.contract.servers import Real, Sandbox, Server, new_namespace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.contract.client import Client
    from tests.controlplane.server import ControlPlane


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", f"{MARK}(name): the sandbox is known to differ here")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Expect a test of a known difference to fail on the sandbox; strictly, so that none is listed that is no more."""
    for item in items:
        mark = item.get_closest_marker(MARK)
        spec = getattr(item, "callspec", None)
        if mark and spec and spec.params.get("server") == "sandbox":
            reason = DIFFERENCES[mark.args[0]].why
            item.add_marker(pytest.mark.xfail(strict=True, reason=reason))


@pytest.fixture(scope="session")
def sandbox_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    sandbox = Sandbox(tmp_path_factory.mktemp("sandbox"))
    yield sandbox
    sandbox.close()


@pytest.fixture(scope="session")
def real_server(control_plane: ControlPlane) -> Iterator[Real]:
    real = Real(control_plane)
    yield real
    real.close()


# One parameter for each test, and not one for the session: random order would start and end servers all the time.
@pytest.fixture(params=["sandbox", pytest.param("controlplane", marks=pytest.mark.controlplane)])
def server(request: pytest.FixtureRequest) -> Server:
    """The server that this run of the test is for."""
    fixture = "sandbox_server" if request.param == "sandbox" else "real_server"
    found: Server = request.getfixturevalue(fixture)
    return found


@pytest.fixture
def client(server: Server) -> Client:
    return server.client


@pytest.fixture
def namespace(server: Server) -> Iterator[str]:
    """A namespace of the test's own; nobody waits until it has gone."""
    name = new_namespace(server)
    yield name
    server.client.delete(f"/api/v1/namespaces/{name}")


@pytest.fixture
def unique() -> str:
    """A name for an object without namespace that no other test has."""
    return f"contract-{secrets.token_hex(4)}"
