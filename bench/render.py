"""How well rendering uses the cores: many kustomizations one after another, and by as many threads as there are cores.

    python -m bench.render [--kustomizations 100]

The work is in child processes, so threads are enough, as long as what syncd does itself around them stays small. On a
machine that others use too, compare the processor time: it says what one render costs, and what of that is syncd's own.
The exit status is 1 when all of them together are not at least 1.6 times as fast, which takes two idle cores.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from syncd.render import Renderer
from syncd.source import Repositories
from syncd.spec import SyncSpec
from tests.unit.source.gitrepo import GitRepo

if TYPE_CHECKING:
    from syncd.model import Manifest

_SECONDS = 600.0
WANTED = 1.6
"""How many times as fast all of them together are as one after another."""


class Cost(NamedTuple):
    """What a run took, in seconds."""

    wall: float
    children: float
    own: float


def main() -> int:
    """Print both runs and their ratio, and judge."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kustomizations", type=int, default=100)
    number = parser.parse_args().kustomizations
    cores = len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory(prefix="syncd-bench-") as folder:
        specs = make_repository(Path(folder), number)
        repositories = Repositories(Path(folder) / "mirrors")
        alone = run(repositories, specs, 1)
        together = run(repositories, specs, cores)
    print(f"{number} kustomizations, {cores} cores, load {os.getloadavg()[0]:.1f}")
    for name, cost in (("one after another", alone), (f"{cores} at a time", together)):
        busy = (cost.children + cost.own) / cost.wall
        print(
            f"{name:<18} {cost.wall:6.2f} s, of processors: {cost.children:6.2f} s in kustomize and git, "
            f"{cost.own:5.2f} s in syncd; {busy:.2f} cores busy"
        )
    ratio = alone.wall / together.wall
    print(f"ratio              {ratio:6.2f} (wanted: {WANTED} on two idle cores)")
    return int(ratio < WANTED)


def make_repository(folder: Path, number: int) -> list[SyncSpec]:
    """Make a repository of overlays over one base, and a Sync for each."""
    files: dict[str, str | bytes] = {}
    files["base/kustomization.yaml"] = "resources: [app.yaml]\nconfigMapGenerator: [{name: env, literals: [a=b]}]\n"
    files["base/app.yaml"] = (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n"
        "  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n"
        "    spec: {containers: [{name: web, image: web, envFrom: [{configMapRef: {name: env}}]}]}\n"
    )
    for index in range(number):
        overlay = f"resources: [../base]\nnamePrefix: a{index}-\nimages: [{{name: web, newTag: v{index}}}]\n"
        files[f"{index}/kustomization.yaml"] = overlay
    repo = GitRepo(folder)
    repo.commit(files)
    source = {"git": {"url": repo.url}}
    return [SyncSpec.model_validate({"source": source, "path": str(index)}) for index in range(number)]


def run(repositories: Repositories, specs: list[SyncSpec], threads: int) -> Cost:
    """Render all of them, with nothing remembered, by so many threads."""
    renderer = Renderer()
    deadline = time.monotonic() + _SECONDS
    revisions = [repositories.resolve(spec.source.git, spec.path, deadline=deadline) for spec in specs]

    def render(index: int) -> tuple[Manifest, ...]:
        return renderer.render(repositories, specs[index], revisions[index], deadline=deadline)

    begin, before = time.perf_counter(), os.times()
    with ThreadPoolExecutor(threads) as pool:
        assert all(len(found) == 2 for found in pool.map(render, range(len(specs))))
    wall, after = time.perf_counter() - begin, os.times()
    children = after.children_user + after.children_system - before.children_user - before.children_system
    return Cost(wall, children, after.user + after.system - before.user - before.system)


if __name__ == "__main__":
    sys.exit(main())
