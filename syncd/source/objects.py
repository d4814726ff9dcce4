"""What Git's plumbing writes, read as values: trees and blobs of one bare repository."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence


class EntryType(StrEnum):
    """What stands at a path."""

    FILE = "file"
    LINK = "link"
    FOLDER = "folder"
    SUBMODULE = "submodule"


_TYPES = {
    "100644": EntryType.FILE,
    "100664": EntryType.FILE,  # written by old versions of Git
    "100755": EntryType.FILE,
    "120000": EntryType.LINK,
    "040000": EntryType.FOLDER,
    "160000": EntryType.SUBMODULE,
}


_UNSAFE: Final = frozenset({"", ".", "..", ".git"})
"""Names that Git itself never writes to a tree, because a checkout would leave the folder or overwrite Git's own."""
_RECORD: Final = re.compile(r"(?<![^\0])([0-7]{6}) [a-z]+ ([0-9a-f]{40,64}) +([0-9]+|-)\t([^\0]+)\0")
"""One of ``git ls-tree -z -l``: mode, id, size and path."""


class Entry(NamedTuple):
    """One path in a commit."""

    path: str
    """From the root of the repository, parts joined by ``/``. Bytes that are not UTF-8 are surrogate escapes."""
    mode: str
    """As Git writes it, such as ``100755``."""
    id: str
    size: int
    """In bytes; 0 for folders and submodules."""

    @property
    def type(self) -> EntryType:
        """What stands there."""
        return _TYPES[self.mode]

    @property
    def identity(self) -> str:
        """Equal for entries of the same content and kind, wherever they stand."""
        return f"{self.mode} {self.id}"


class MalformedObjectError(ValueError):
    """Git wrote something that it never should, or a tree holds what no honest Git puts there."""


def parse_listing(output: bytes) -> list[Entry]:
    """Read the output of ``git ls-tree -z -l``.

    Raises:
        MalformedObjectError: A path could lead out of the repository, or a line does not have the format.
    """
    text = output.decode("utf-8", "surrogateescape")
    records = _RECORD.findall(text)
    entries = [Entry(path, mode, id_, int(size) if size != "-" else 0) for mode, id_, size, path in records]
    if len(entries) != text.count("\0") or not {entry.mode for entry in entries} <= _TYPES.keys():
        raise MalformedObjectError(f"git ls-tree wrote {text[:200]!r}")
    names = set("/".join([entry.path for entry in entries]).split("/")) if entries else set()
    unsafe = next((name for name in names if name.lower() in _UNSAFE), None)
    if unsafe is not None:
        path = next(entry.path for entry in entries if unsafe in entry.path.split("/"))
        raise MalformedObjectError(f"the tree holds a path that is not allowed: {path[:200]!r}")
    return entries


def parse_batch(output: bytes, ids: Sequence[str]) -> dict[str, bytes]:
    """Read the output of ``git cat-file --batch`` for blobs that were asked for in this order.

    Raises:
        MalformedObjectError: A blob is missing, or the output ends early.
    """
    blobs: dict[str, bytes] = {}
    at = 0
    for wanted in ids:
        end = output.find(b"\n", at)
        beginning = f"{wanted} blob ".encode("ascii")
        if end < 0 or not output.startswith(beginning, at):
            raise MalformedObjectError(f"git cat-file has no blob {wanted}")
        size, start = int(output[at + len(beginning) : end]), end + 1
        data = output[start : start + size]
        if len(data) != size or output[start + size : start + size + 1] != b"\n":
            raise MalformedObjectError(f"git cat-file ended within blob {wanted}")
        blobs[wanted] = data
        at = start + size + 1
    return blobs


def parse_refs(output: bytes) -> dict[str, str]:
    """Read the output of ``git ls-remote``: the names of refs, and what each points to."""
    refs = {}
    for line in output.decode("utf-8", "surrogateescape").splitlines():
        commit, tab, name = line.partition("\t")
        if tab:
            refs[name] = commit
    return refs
