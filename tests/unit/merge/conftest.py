from __future__ import annotations

import pytest

from tests.unit.merge.cluster import Cluster


@pytest.fixture
def deployment() -> Cluster:
    return Cluster()
