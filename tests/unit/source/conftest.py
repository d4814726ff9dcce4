from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from syncd.source.repository import Repositories
from tests.unit.source.gitrepo import GitRepo

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def repo(tmp_path: Path) -> GitRepo:
    return GitRepo(tmp_path)


@pytest.fixture
def repositories(tmp_path: Path) -> Repositories:
    return Repositories(tmp_path / "mirrors")


@pytest.fixture
def deadline() -> float:
    return time.monotonic() + 60
