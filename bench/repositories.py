"""Git: what a poll, a fetch and reading cost, each beside plain git's own time in the same run.

    python -m bench.repositories [--files 5000] [--commits 200] [--rounds 15]

Bounds that the project holds itself to: a poll without change of a server at most 1.3 times ``git ls-remote``; reading
2,000 files under 50 ms after the fetch. The exit status is 1 when one is missed; on a machine that does other things at
the same time that says nothing.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from syncd.cli.commands.run import NEW_OBJECTS
from syncd.source import Repositories
from syncd.spec import GitSource
from tests.unit.source.gitrepo import large_repository
from tests.unit.source.gitserver import serving

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.source.gitrepo import GitRepo

_FAR = 600.0
POLL_LIMIT = 1.3
"""How many times the time of ``git ls-remote``."""
READ_LIMIT = 50.0
"""In milliseconds."""


def median(work: Callable[[], object], rounds: int) -> float:
    """The median time of one round, in milliseconds."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return float(statistics.median(times)) * 1000


def polls(repo: GitRepo, directory: Path, url: str, rounds: int) -> float:
    """A poll without change, as syncd and as plain git do it: how many times git's time it takes."""
    repositories = Repositories(directory / "mirrors")
    git = GitSource(url=url)
    start = time.perf_counter()
    repositories.resolve(git, "apps", deadline=time.monotonic() + _FAR)
    first = (time.perf_counter() - start) * 1000

    def poll() -> None:
        repositories.resolve(git, "apps", deadline=time.monotonic() + _FAR)

    def plain() -> None:
        subprocess.run(["git", "ls-remote", url, "HEAD"], cwd=repo.bare, check=True, capture_output=True)

    both = [(median(plain, 1), median(poll, 1)) for _ in range(rounds)]
    own, ours = (statistics.median(times) for times in zip(*both, strict=True))
    scheme = url.partition(":")[0]
    ratio = float(ours / own)
    print(
        f"{scheme}: first fetch {first:.0f} ms; poll {ours:.1f} ms, git ls-remote {own:.1f} ms: "
        f"{ratio:.2f} times (bound {POLL_LIMIT})"
    )
    return ratio


def reading(repo: GitRepo, directory: Path, count: int, rounds: int) -> float:
    """Reading files of a commit that is there: how many milliseconds it takes."""
    repositories = Repositories(directory / "mirrors")
    git = GitSource(url=repo.url)
    revision = repositories.resolve(git, "apps", deadline=time.monotonic() + _FAR)

    def read() -> None:
        tree = repositories.tree(git, revision, "apps", deadline=time.monotonic() + _FAR)
        paths = [path for path in tree.entries if path.endswith(".yaml")][:count]
        assert len(tree.read(paths)) == count

    def plain() -> None:
        with (directory / "ids").open("rb") as ids:
            for arguments in (listing, ("cat-file", "--batch", "--buffer")):
                subprocess.run(["git", *arguments], cwd=repo.bare, check=True, stdin=ids, stdout=subprocess.DEVNULL)

    listing = ("ls-tree", "-r", "-l", revision.commit, "apps")
    listed = subprocess.run(["git", *listing], cwd=repo.bare, check=True, capture_output=True).stdout.splitlines()
    (directory / "ids").write_bytes(b"".join(line.split()[2] + b"\n" for line in listed[:count]))
    both = [(median(plain, 1), median(read, 1)) for _ in range(rounds)]
    own, ours = (statistics.median(times) for times in zip(*both, strict=True))
    print(
        f"reading {count} of the files: {ours:.1f} ms (bound {READ_LIMIT:.0f}); "
        f"git ls-tree and cat-file, read by nobody: {own:.1f} ms"
    )
    return float(ours)


def main() -> int:
    """Run the benchmark, and judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=5000)
    parser.add_argument("--commits", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    gc.set_threshold(NEW_OBJECTS)  # as the daemon has it
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        repo = large_repository(directory, options.files, options.commits)
        with serving(directory) as server:
            poll = polls(repo, directory, f"{server.url}/shop.git", options.rounds)
        polls(repo, directory, repo.url, options.rounds)  # nothing but processes: what syncd adds shows most
        read = reading(repo, directory, 2000, options.rounds)
    return int(poll > POLL_LIMIT or read >= READ_LIMIT)


if __name__ == "__main__":
    sys.exit(main())
