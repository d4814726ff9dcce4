from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.faults.cluster.fakekube import FakeKube
from tests.faults.cluster.watcher import QUICK, Watcher, started

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def server() -> Iterator[FakeKube]:
    with FakeKube() as fake:
        yield fake


@pytest.fixture
def watcher(server: FakeKube) -> Iterator[Watcher]:
    with started(server, QUICK) as watcher:
        yield watcher
