"""A sandbox on a port."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from syncd.sandbox.server import SandboxServer
from tests.unit.sandbox.core.client import Http

Start = Callable[..., tuple[SandboxServer, Http]]


@pytest.fixture
def start() -> Iterator[Start]:
    """Start servers with settings of the test's own; controllers only where asked for."""
    started: list[tuple[SandboxServer, Http]] = []

    def make(**settings: Any) -> tuple[SandboxServer, Http]:
        server = SandboxServer(**({"controllers": False} | settings)).start()
        started.append((server, Http(server.url)))
        return started[-1]

    yield make
    for server, http in started:
        http.pool.clear()
        server.stop()


@pytest.fixture
def http(start: Start) -> Http:
    """A client of a fresh server without controllers."""
    return start()[1]
