"""Pytest fixtures: list this module in `pytest_plugins` of the conftest."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Protocol

import pytest

from tests.controlplane.binaries import Binaries, MissingProgramsError, find_binaries
from tests.controlplane.server import ControlPlane

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class StartControlPlane(Protocol):
    """Starts a control plane that ends with the test."""

    def __call__(self, *, parts: Sequence[str] | None = None) -> ControlPlane:
        """Start one with these parts; all that there are by default."""


class NewNamespace(Protocol):
    """Makes a namespace of the shared control plane."""

    def __call__(self, prefix: str = "test") -> str:
        """Make one with a name that nobody else has, ready for Pods, and return the name."""


@pytest.fixture(scope="session")
def control_plane_binaries() -> Binaries:
    """Return the programs to test with, or skip; in CI that is a failure, as a skip there would stay unseen."""
    try:
        return find_binaries()
    except MissingProgramsError as missing:
        if os.environ.get("CI"):
            pytest.fail(str(missing), pytrace=False)
        pytest.skip(str(missing))


@pytest.fixture(scope="session")
def control_plane(control_plane_binaries: Binaries, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Start the control plane that all tests of this process share: use own namespaces, and leave it running."""
    folder = tmp_path_factory.mktemp("control-plane")
    with ControlPlane.start(folder, binaries=control_plane_binaries) as shared:
        yield shared


@pytest.fixture
def start_control_plane(
    control_plane_binaries: Binaries, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[StartControlPlane]:
    """Return a function that starts control planes of this test's own."""
    started: list[ControlPlane] = []

    def start(*, parts: Sequence[str] | None = None) -> ControlPlane:
        need_parts(control_plane_binaries, *(parts or ()))
        folder = tmp_path_factory.mktemp("own-control-plane")
        started.append(ControlPlane.start(folder, parts=parts, binaries=control_plane_binaries))
        return started[-1]

    yield start
    for control_plane in started:
        control_plane.stop()


@pytest.fixture
def fresh_control_plane(start_control_plane: StartControlPlane) -> ControlPlane:
    """Start a control plane of this test's own, with all parts, to break as it likes."""
    return start_control_plane()


@pytest.fixture
def namespace_factory(control_plane: ControlPlane) -> Iterator[NewNamespace]:
    """Return a function that makes namespaces, which go when the test has ended (nobody waits for that)."""
    made: list[str] = []

    def create(prefix: str = "test") -> str:
        made.append(control_plane.create_namespace(prefix))
        return made[-1]

    yield create
    for name in made:
        # A test may have deleted it already, and where there is no controller manager it never goes.
        control_plane.api.ask("DELETE", f"/api/v1/namespaces/{name}")


def need_parts(binaries: Binaries, *parts: str) -> None:
    """Skip the test if there is no program for a part, as with KUBEBUILDER_ASSETS made by setup-envtest."""
    if lacking := [part for part in parts if part not in binaries.parts]:
        pytest.skip(f"needs {', '.join(lacking)}, which {binaries.origin} has not")
