"""The two servers of the parity tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.controlplane.fixtures import need_parts
from tests.controlplane.server import ControlPlane
from tests.parity.sides import Pair

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.controlplane.binaries import Binaries

_PARTS = ("etcd", "kube-apiserver")
"""Without controllers nobody else writes, and both servers stay comparable."""


@pytest.fixture(scope="package")
def pair(control_plane_binaries: Binaries, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Two empty API servers for all tests of this folder: use own names."""
    need_parts(control_plane_binaries, *_PARTS)
    folders = [tmp_path_factory.mktemp(name) for name in ("syncd", "kubectl")]
    with (
        ControlPlane.start(folders[0], parts=_PARTS, binaries=control_plane_binaries) as one,
        ControlPlane.start(folders[1], parts=_PARTS, binaries=control_plane_binaries) as other,
    ):
        for side in (one, other):
            side.api.create("/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "default"}})
        both = Pair(one, other)
        yield both
        both.close()
