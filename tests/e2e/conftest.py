"""What the end-to-end tests run on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.clusters import ClusterUnderTest, RealCluster, Sandbox
from tests.support.repository import Repository

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.controlplane.fixtures import StartControlPlane


@pytest.fixture(params=["sandbox", pytest.param("controlplane", marks=pytest.mark.controlplane)])
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ClusterUnderTest]:
    """Each test runs against the sandbox and against a real control plane, both empty."""
    if request.param == "sandbox":
        sandbox = Sandbox(tmp_path)
        yield sandbox
        sandbox.server.stop()
    else:
        start: StartControlPlane = request.getfixturevalue("start_control_plane")
        yield RealCluster(start())


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """A repository without any commit."""
    return Repository(tmp_path / "repository.git")
