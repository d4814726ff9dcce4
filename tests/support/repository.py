"""A bare Git repository that tests commit to."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_IDENTITY = b"committer Test <test@example.com> 1700000000 +0000\n"
_ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "HOME": "/nowhere",
}


class Repository:
    """A bare repository with one branch, main; files are given whole, and nothing is ever checked out."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._files: dict[str, bytes] = {}
        _git(path.parent, "init", "--quiet", "--bare", "--initial-branch=main", str(path))

    @property
    def url(self) -> str:
        """Its file:// URL."""
        return f"file://{self.path}"

    @property
    def files(self) -> Mapping[str, bytes]:
        """What the newest commit holds."""
        return dict(self._files)

    def commit(
        self, changes: Mapping[str, str | bytes | None], message: str = "Change", *, rewrite: bool = False
    ) -> str:
        """Commit files; None deletes one; ``rewrite`` throws the history away. Gives the commit's id."""
        for name, content in changes.items():
            if content is None:
                del self._files[name]
            else:
                self._files[name] = content.encode() if isinstance(content, str) else content
        stream = [b"commit refs/heads/main\n", _IDENTITY, b"data %d\n%s\n" % (len(message.encode()), message.encode())]
        if self._exists() and not rewrite:
            stream.append(b"from refs/heads/main^0\n")
        stream.append(b"deleteall\n")
        for name, data in sorted(self._files.items()):
            stream.append(b"M 100644 inline %s\ndata %d\n%s\n" % (name.encode(), len(data), data))
        _git(self.path, "fast-import", "--quiet", "--force", stdin=b"".join(stream))
        return _git(self.path, "rev-parse", "refs/heads/main").decode().strip()

    def add_folder(self, folder: Path, prefix: str = "", *, message: str = "Add a folder") -> str:
        """Commit every file below a folder."""
        files = {
            prefix + str(file.relative_to(folder)): file.read_bytes()
            for file in sorted(folder.rglob("*"))
            if file.is_file()
        }
        return self.commit(files, message)

    def _exists(self) -> bool:
        found = subprocess.run(
            ["git", "rev-parse", "--verify", "--quiet", "refs/heads/main"],
            cwd=self.path,
            env=_ENVIRONMENT,
            stdout=subprocess.DEVNULL,
            check=False,
        )
        return found.returncode == 0


def _git(folder: Path, *arguments: str, stdin: bytes = b"") -> bytes:
    done = subprocess.run(
        ["git", *arguments], cwd=folder, env=_ENVIRONMENT, input=stdin, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout
