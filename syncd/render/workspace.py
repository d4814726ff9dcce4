"""The private folder in which an external renderer sees the files that it needs, and nothing else."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from syncd.source.objects import EntryType

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from syncd.source.tree import Tree

_MESSAGE_LIMIT: Final = 1000
_PREFIX: Final = "syncd-render-"
_SETTLED_SECONDS: Final = 60.0
"""A folder that is younger may not be locked yet by who made it."""


@dataclass(frozen=True, slots=True)
class Workspace:
    """Two folders that are gone afterwards.

    Attributes:
        files: Files of the repository, at their paths in it.
        home: Empty; what the renderer has for a home.
    """

    files: Path
    home: Path

    def message(self, stderr: str) -> str:
        """What a program wrote before it failed: one line, with the repository's own paths."""
        text = stderr.replace(f"{self.files}/", "").replace(str(self.files), "the repository")
        lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
        start = next((index for index, line in enumerate(lines) if line.lower().startswith("error:")), 0)
        message = " ".join(lines[start:]) or "it gave no reason"
        message = message.removeprefix("error: ").removeprefix("Error: ")
        if len(message) > _MESSAGE_LIMIT:
            half = _MESSAGE_LIMIT // 2
            message = f"{message[:half]} … {message[-half:]}"  # what matters stands at the end of long chains
        return message


@contextmanager
def private_folders() -> Iterator[Workspace]:
    """Two empty folders that nobody else may enter, for as long as the block runs."""
    with tempfile.TemporaryDirectory(prefix=_PREFIX) as name, _held(name):  # made with mode 0700
        place = Path(name).resolve()  # as programs name files in their messages
        made = Workspace(place / "repository", place / "home")
        made.files.mkdir()
        made.home.mkdir()
        yield made


def remove_left_over() -> None:
    """Remove what a killed process of this user has left behind; it may hold decrypted files."""
    for place in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):  # somebody else's, in use, or gone by now
            stat = place.lstat()
            if stat.st_uid == os.getuid() and time.time() - stat.st_ctime > _SETTLED_SECONDS:
                with _held(place):
                    shutil.rmtree(place)


@contextmanager
def _held(folder: str | Path) -> Iterator[None]:
    """Hold a lock on a folder, which ends with this process whatever becomes of it.

    Raises:
        BlockingIOError: Another process holds it.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def workspace(tree: Tree, folders: Iterable[str], paths: Iterable[str] = ()) -> Iterator[Workspace]:
    """Write folders of the repository, and more files and links, for as long as the block runs.

    Raises:
        UnsupportedContentError: A link leads out of the repository.
        LimitExceededError: It is more than a Sync may read.
    """
    with private_folders() as made:
        tree.materialise(made.files, _with_targets(tree, folders, paths))
        yield made


def _with_targets(tree: Tree, folders: Iterable[str], paths: Iterable[str]) -> list[str]:
    """All files and links below the folders, and what these links need to lead to the same files as in a checkout."""
    wanted = set(paths)
    for folder in folders:
        for entry in tree.below(folder):
            if entry.type is EntryType.LINK:
                target = tree.follow(entry.path, wanted)
                if target is not None and target.type is EntryType.FILE:
                    wanted.add(target.path)
            if entry.type in (EntryType.FILE, EntryType.LINK):
                wanted.add(entry.path)
    return sorted(path for path in wanted if path in tree.entries)
