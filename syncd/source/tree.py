"""What a Sync reads of one commit: files by path, within limits, and never from outside of the repository."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from syncd.model import Origin
from syncd.source.errors import LimitExceededError, UnsupportedContentError
from syncd.source.objects import Entry, EntryType
from syncd.source.snapshot import LeavesRepositoryError, Snapshot, is_below

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from syncd.source.inputs import Inputs

_LFS_POINTER: Final = b"version https://git-lfs.github.com/spec/"
_LFS_POINTER_BYTES: Final = 1024
"""A pointer is always smaller, by the specification of Git LFS."""
_EXECUTABLE: Final = "100755"


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one Sync may read of a repository. Generous for manifests, far below what would hurt the daemon."""

    files: int = 20_000
    file_bytes: int = 16 << 20
    total_bytes: int = 256 << 20


class Tree:
    """The inputs of one Sync in one commit. Nothing is read before somebody asks. Not for several threads at once.

    Attributes:
        source: The repository's URL as it may be shown; what errors and origins call it.
        inputs: The Sync's folder, and everything that its manifests can depend on.
    """

    def __init__(self, snapshot: Snapshot, inputs: Inputs, limits: Limits) -> None:
        self._snapshot = snapshot
        self._limits = limits
        self._decrypt: Callable[[bytes, Origin], bytes] | None = None
        self.source = snapshot.mirror.url
        self.inputs = inputs

    def decrypted(self, decrypt: Callable[[bytes, Origin], bytes]) -> Tree:
        """The same tree, in which the contents of all files go through a function."""
        tree = Tree(self._snapshot, self.inputs, self._limits)
        tree._decrypt = decrypt
        return tree

    @property
    def folder(self) -> str:
        """The Sync's folder from the root of the repository, links followed."""
        return self.inputs.folder

    @property
    def identity(self) -> str:
        """Equal for trees that say the same thing: the ``tree`` of the revision."""
        return self.inputs.identity

    @cached_property
    def entries(self) -> Mapping[str, Entry]:
        """Everything in the inputs by its path from the root of the repository, sorted."""
        found: list[Entry] = []
        for part in self.inputs.parts:
            below = self._snapshot.below(part.path)  # first, as it brings the entry along
            entry = self._snapshot.entry(part.path)
            found += [entry, *below] if entry is not None else below
        return {entry.path: entry for entry in sorted(found)}

    def below(self, folder: str) -> list[Entry]:
        """Everything in the inputs below a folder, sorted by path."""
        return [entry for path, entry in self.entries.items() if is_below(path, folder)]

    def origin(self, path: str) -> Origin:
        """The origin of a file."""
        return Origin(self.source, path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace"))

    def follow(self, path: str, passed: set[str] | None = None) -> Entry | None:
        """What stands at a path from the root of the repository when links are followed; None if nothing does.

        Of a path into a submodule that is the submodule.

        Args:
            path: May hold ``..``, and need not be among the inputs.
            passed: Gets the paths of all the links on the way, and of what is missing at its end.

        Raises:
            UnsupportedContentError: The path or a link leads out of the repository.
        """
        try:
            return self._snapshot.follow(path, passed)
        except LeavesRepositoryError as error:
            raise UnsupportedContentError(str(error), self.origin(path)) from None

    def check(self, paths: Iterable[str]) -> None:
        """Refuse files that :meth:`read` would refuse, without reading large ones.

        Raises:
            UnsupportedContentError: One is a submodule, a folder, or in Git LFS, or a link that leads nowhere.
            LimitExceededError: One, or all together, are larger than allowed.
        """
        entries = {path: self._file(path) for path in paths}
        self._check_size(entries.values())
        self.read(path for path, entry in entries.items() if entry.size <= _LFS_POINTER_BYTES)

    def read(self, paths: Iterable[str]) -> dict[str, bytes]:
        """The contents of files, links followed, by the paths that were asked for.

        Raises:
            UnsupportedContentError: One is a submodule, a folder, or in Git LFS, or a link that leads nowhere.
            LimitExceededError: One, or all together, are larger than allowed.
        """
        entries = {path: self._file(path) for path in paths}
        self._check_size(entries.values())
        contents = self._snapshot.read(entries.values())
        found = {path: contents[entry.path] for path, entry in entries.items()}
        for path, data in found.items():
            if data.startswith(_LFS_POINTER):
                raise UnsupportedContentError(
                    "its content is in Git LFS, which syncd does not fetch", self.origin(path)
                )
        return {path: self._plain(entries[path], data) for path, data in found.items()}

    def materialise(self, directory: Path, paths: Iterable[str]) -> None:
        """Write files and links to disk, at their paths from the root of the repository.

        What cannot be written stays away, for whoever needs it to complain: folders, submodules, files in Git LFS, and
        files that are larger than allowed.

        Args:
            directory: Empty, and nobody else's.
            paths: Among :attr:`entries`.

        Raises:
            UnsupportedContentError: A link leads out of the repository.
            LimitExceededError: All together are larger than allowed.
        """
        entries = [self.entries[path] for path in paths]
        links = [entry for entry in entries if entry.type is EntryType.LINK]
        files = [entry for entry in entries if entry.type is EntryType.FILE and entry.size <= self._limits.file_bytes]
        for link in links:
            self.follow(link.path)
        self._check_size(files)
        contents = self._snapshot.read([*links, *files])
        for entry in (*links, *files):
            # Python writes surrogate escapes to disk as the bytes that they stand for.
            place = directory / entry.path
            place.parent.mkdir(parents=True, exist_ok=True)
            if entry.type is EntryType.LINK:
                place.symlink_to(os.fsdecode(contents[entry.path]))
            elif not contents[entry.path].startswith(_LFS_POINTER):
                place.write_bytes(self._plain(entry, contents[entry.path]))
                place.chmod(0o700 if entry.mode == _EXECUTABLE else 0o600)

    def _plain(self, file: Entry, data: bytes) -> bytes:
        return self._decrypt(data, self.origin(file.path)) if self._decrypt is not None else data

    def _file(self, path: str) -> Entry:
        entry = self.entries.get(path)
        if entry is not None and entry.type is EntryType.FILE:  # most often
            return entry
        entry = self.follow(path)
        if entry is not None and entry.type is EntryType.FILE:
            return entry
        if entry is None:
            problem = "it is a link that leads to nothing" if self._snapshot.entry(path) else "there is no such file"
        elif entry.type is EntryType.SUBMODULE:
            problem = f"{entry.path} is a submodule, which syncd does not fetch; give its repository a Sync of its own"
        else:
            problem = f"it is a {entry.type}, not a file"
        raise UnsupportedContentError(problem, self.origin(path))

    def _check_size(self, entries: Iterable[Entry]) -> None:
        files = list(entries)
        limits = self._limits
        for entry in files:
            if entry.size > limits.file_bytes:
                problem = f"it has {entry.size} bytes, and syncd reads files of up to {limits.file_bytes} bytes"
                raise LimitExceededError(f"{problem}; leave it out with .syncdignore", self.origin(entry.path))
        total = sum(entry.size for entry in files)
        if len(files) > limits.files or total > limits.total_bytes:
            raise LimitExceededError(
                f"there are {len(files)} files with {total} bytes to read, and syncd reads up to {limits.files} files "
                f"and {limits.total_bytes} bytes for one Sync; leave some out with .syncdignore",
                self.origin(self.folder),
            )
