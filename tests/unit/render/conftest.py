from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from syncd.render import Renderer
from syncd.source import Repositories
from syncd.spec import SyncSpec
from tests.unit.source.gitrepo import GitRepo

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from syncd.model import Manifest

SECONDS = 60


class Bench:
    """A repository and what renders it."""

    def __init__(self, directory: Path) -> None:
        self.repo = GitRepo(directory)
        self.repositories = Repositories(directory / "mirrors")
        self.renderer = Renderer()

    def spec(self, path: str = ".", **render: Any) -> SyncSpec:
        return self.sync(path=path, render=render)

    def sync(self, **fields: Any) -> SyncSpec:
        """A Sync of the repository with these fields."""
        return SyncSpec.model_validate({"source": {"git": {"url": self.repo.url}}, **fields})

    def render(self, spec: SyncSpec | None = None) -> tuple[Manifest, ...]:
        """What the last commit says."""
        spec = spec or self.spec()
        deadline = time.monotonic() + SECONDS
        revision = self.repositories.resolve(spec.source.git, spec.path, deadline=deadline)
        return self.renderer.render(self.repositories, spec, revision, deadline=deadline, namespace="team")

    def commit_and_render(
        self, files: Mapping[str, str | bytes], path: str = ".", **render: Any
    ) -> tuple[Manifest, ...]:
        self.repo.commit(files)
        return self.render(self.spec(path, **render))


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)
