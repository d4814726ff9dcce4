"""What every suite can use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# A loaded machine is slow, not wrong: no test fails by time.
settings.register_profile("syncd", deadline=None)
settings.load_profile("syncd")

pytest_plugins = ["tests.controlplane.fixtures"]

REPOSITORY = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder of real manifests and upstream cases that lies outside this repository."""
    folder = Path(os.environ.get("SYNCD_SHARED") or REPOSITORY.parent / "shared").absolute()
    if not folder.is_dir():
        pytest.skip(f"needs the real manifests and cases outside this repository: {folder} is no folder (SYNCD_SHARED)")
    return folder
