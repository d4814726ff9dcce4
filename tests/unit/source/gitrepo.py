"""A Git repository that a test writes, with plain git and no help from the code under test."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from syncd.spec import GitRef, GitSource

if TYPE_CHECKING:
    from collections.abc import Mapping

_ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.com", "GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z",
    "GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@example.com", "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z",
    "LC_ALL": "C",
}  # fmt: skip


class GitRepo:
    """A bare repository and a working copy that pushes to it."""

    def __init__(self, directory: Path, name: str = "shop") -> None:
        self.bare = directory / f"{name}.git"
        self.work = directory / f"{name}.work"
        self.bare.mkdir(parents=True)
        self.work.mkdir()
        self._run("init", "-q", "--bare", "-b", "main", cwd=self.bare)
        self._run("init", "-q", "-b", "main", cwd=self.work)
        self.git("remote", "add", "origin", str(self.bare))

    @property
    def url(self) -> str:
        return f"file://{self.bare}"

    def source(self, **ref: str) -> GitSource:
        return GitSource(url=self.url, ref=GitRef(**ref))

    def git(self, *arguments: str) -> str:
        return self._run(*arguments, cwd=self.work)

    def write(self, files: Mapping[str, str | bytes]) -> None:
        for path, content in files.items():
            place = self.work / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content if isinstance(content, bytes) else content.encode())

    def commit(self, files: Mapping[str, str | bytes] | None = None, *, push: str = "main") -> str:
        """Write the files, commit everything that differs, push it to a branch and return the commit's id."""
        self.write(files or {})
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "a change")
        self.git("push", "-q", "--force", "origin", f"HEAD:refs/heads/{push}")
        return self.git("rev-parse", "HEAD")

    def tag(self, name: str, *, annotated: bool = False) -> None:
        self.git("tag", *(["-a", "-m", name] if annotated else []), name)
        self.git("push", "-q", "origin", f"refs/tags/{name}")

    def fast_import(self, stream: str) -> None:
        """Commit to the bare repository what the stream says, however much that is."""
        place = self.bare.parent / "stream"
        place.write_text(stream)
        self._run("fast-import", "--quiet", cwd=self.bare, stdin=place)

    @staticmethod
    def _run(*arguments: str, cwd: Path, stdin: Path | None = None) -> str:
        with (stdin or Path(os.devnull)).open("rb") as file:
            done = subprocess.run(
                ["git", *arguments], cwd=cwd, env=_ENVIRONMENT, check=True, capture_output=True, stdin=file
            )
        return done.stdout.decode().strip()


def large_repository(directory: Path, files: int, commits: int) -> GitRepo:
    """A repository with many files below ``apps`` and some history."""
    repo = GitRepo(directory)
    body = "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: m{}}}\ndata: {{a: '{}'}}\n"
    stream = []
    for commit in range(commits):
        stream.append("commit refs/heads/main\ncommitter A <a@example.com> 0 +0000\ndata 0\n")
        numbers = range(files) if commit == 0 else [commit % files]
        for number in numbers:
            text = body.format(number, commit)
            stream.append(f"M 100644 inline apps/{number % 100}/{number}.yaml\ndata {len(text)}\n{text}\n")
    repo.fast_import("".join(stream))
    repo._run("gc", "--quiet", cwd=repo.bare)
    return repo
