"""What a Sync's manifests can depend on, and its identity: the ``tree`` of a revision.

The rule, and why it holds, is in ``docs/decisions/0002-inputs.md``.
"""

from __future__ import annotations

import contextlib
import hashlib
import posixpath
from typing import TYPE_CHECKING, Final, NamedTuple

from syncd.kubeyaml import YAMLError, load_all
from syncd.source.errors import PathNotFoundError, UnsupportedContentError
from syncd.source.kustomization import FILE_NAMES, references
from syncd.source.objects import EntryType
from syncd.source.snapshot import LeavesRepositoryError, is_below, join

if TYPE_CHECKING:
    from syncd.source.objects import Entry
    from syncd.source.snapshot import Snapshot

_KUSTOMIZATION_LIMIT: Final = 1 << 20
"""In bytes; nobody writes a larger one."""


class Input(NamedTuple):
    """A folder (with all that is below it) or a file that the manifests can depend on."""

    path: str
    identity: str
    """Mode and id of what stands there; "" if nothing does."""


class Inputs(NamedTuple):
    """Everything that the manifests of one path can depend on."""

    folder: str
    """The Sync's folder, links followed."""
    parts: tuple[Input, ...]
    """Sorted by path."""

    @property
    def identity(self) -> str:
        """Equal in two commits if and only if every input is.

        For a Sync that reads nothing outside of its folder, that folder's tree id.
        """
        if len(self.parts) == 1:
            return self.parts[0].identity.partition(" ")[2]
        text = f"{self.folder}\0" + "".join(f"{part.path}\0{part.identity}\0" for part in self.parts)
        return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def still_hold(inputs: Inputs, snapshot: Snapshot) -> bool:
    """Whether another commit has the very same inputs."""
    now = snapshot.look_up(part.path for part in inputs.parts)
    return all(_identity(now[part.path]) == part.identity for part in inputs.parts)


def scan(snapshot: Snapshot, path: str) -> Inputs:
    """Find the inputs of a Sync's path.

    Raises:
        PathNotFoundError: There is no such folder in the commit.
        UnsupportedContentError: The path leads out of the repository.
    """
    found: dict[str, str] = {}
    folder = _start(snapshot, path, found)
    folders: list[str] = []
    to_visit = [folder]
    while to_visit:
        here = to_visit.pop()
        if any(here == known or is_below(here, known) for known in folders):
            continue
        folders.append(here)
        entry = snapshot.entry(here)
        found[here] = _identity(entry)
        if entry is not None and entry.type is EntryType.FOLDER:
            to_visit += _ways_out(snapshot, snapshot.below(here), found)
    parts = (
        Input(here, identity) for here, identity in found.items() if not any(is_below(here, known) for known in folders)
    )
    return Inputs(folder, tuple(sorted(parts)))


def _start(snapshot: Snapshot, path: str, found: dict[str, str]) -> str:
    where = f"{snapshot.mirror.url}: path {path!r}"
    try:
        entry = _follow(snapshot, path, found)
    except LeavesRepositoryError as error:
        raise UnsupportedContentError(f"{where}: {error}") from None
    if entry is None:
        raise PathNotFoundError(f"{where} is not there in commit {snapshot.commit[:12]}")
    if entry.type is EntryType.SUBMODULE:
        problem = f"leads into the submodule {entry.path}, which syncd does not fetch"
        raise UnsupportedContentError(f"{where} {problem}; give its repository a Sync of its own")
    if entry.type is not EntryType.FOLDER:
        raise PathNotFoundError(f"{where} is a {entry.type}, not a folder, in commit {snapshot.commit[:12]}")
    return entry.path


def _follow(snapshot: Snapshot, path: str, found: dict[str, str]) -> Entry | None:
    """Follow a path; whatever decides where it leads goes to ``found``."""
    passed: set[str] = set()
    try:
        return snapshot.follow(path, passed)
    finally:
        found.update({place: _identity(snapshot.entry(place)) for place in passed})


def _ways_out(snapshot: Snapshot, entries: list[Entry], found: dict[str, str]) -> list[str]:
    """Where links and kustomizations among these entries lead."""
    files = [entry for entry in entries if entry.type is EntryType.FILE and _is_kustomization(entry)]
    contents = snapshot.read(files)
    paths = [join(posixpath.dirname(path) or ".", text) for path in contents for text in _references(contents[path])]
    paths += [entry.path for entry in entries if entry.type is EntryType.LINK]
    leads_to = []
    for path in paths:
        # What leads out of the repository is in no commit, so it cannot change; who needs it will be told.
        with contextlib.suppress(LeavesRepositoryError):
            entry = _follow(snapshot, path, found)
            if entry is not None:
                leads_to.append(entry.path)
    return leads_to


def _is_kustomization(entry: Entry) -> bool:
    return posixpath.basename(entry.path) in FILE_NAMES and entry.size <= _KUSTOMIZATION_LIMIT


def _references(data: bytes) -> list[str]:
    """The local references of a kustomization file; none of one that does not parse, whose render will fail."""
    try:
        documents = load_all(data)
    except YAMLError:
        return []
    return [
        reference.text
        for document in documents
        for reference in references(document.value)
        if not reference.is_remote and "\0" not in reference.text
    ]


def _identity(entry: Entry | None) -> str:
    return entry.identity if entry is not None else ""
