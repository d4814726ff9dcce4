"""The files of one commit, looked up in the mirror when somebody asks for them."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Final

from syncd.source.errors import LimitExceededError
from syncd.source.objects import Entry, EntryType, MalformedObjectError, parse_batch, parse_listing
from syncd.source.processes import ProcessOutputError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from syncd.source.mirror import Mirror

ROOT: Final = "."
_FOLDER_MODE: Final = "040000"
_LINKS_LIMIT: Final = 40  # as Linux has it
_LISTING_LIMIT: Final = 64 << 20
_ARGUMENTS_AT_ONCE: Final = 500


class LeavesRepositoryError(Exception):
    """A path or a link leads out of the repository; the message says how."""


class Snapshot:
    """One commit of one mirror. Not for several threads at once.

    Args:
        mirror: Has the commit.
        commit: Its id.
        deadline: For all that is asked, on ``time.monotonic()``'s clock.
    """

    def __init__(self, mirror: Mirror, commit: str, deadline: float) -> None:
        self.mirror = mirror
        self.commit = commit
        self._deadline = deadline
        self._entries: dict[str, Entry | None] = {}
        self._below: dict[str, list[Entry]] = {}

    def entry(self, path: str) -> Entry | None:
        """What stands at a path, links not followed; None if nothing does."""
        self.look_up([path])
        return self._entries[path]

    def look_up(self, paths: Iterable[str]) -> dict[str, Entry | None]:
        """What stands at these paths, in one question to Git."""
        wanted = list(paths)
        unknown = sorted({path for path in wanted if path not in self._entries})
        for path in unknown:
            if path != ROOT and self._is_listed(path):
                self._entries[path] = None  # else the listing would have brought it
        unknown = [path for path in unknown if path not in self._entries]
        if ROOT in unknown:
            unknown.remove(ROOT)
            self._entries[ROOT] = self._root()
        for start in range(0, len(unknown), _ARGUMENTS_AT_ONCE):
            some = unknown[start : start + _ARGUMENTS_AT_ONCE]
            self._entries.update(dict.fromkeys(some))
            self._entries.update({entry.path: entry for entry in self._ls_tree("-t", paths=some)})
        return {path: self._entries[path] for path in wanted}

    def below(self, folder: str) -> list[Entry]:
        """Everything below a folder, folders too, sorted by path; brings what stands at its own path along."""
        if folder not in self._below:
            around = next((known for known in self._below if is_below(folder, known)), None)
            if around is not None:
                entries = self._below[around]
            else:
                entries = self._ls_tree("-r", "-t", paths=[] if folder == ROOT else [folder])
                entries.sort()  # Git puts "a.b" before "a/b", and "a/b" before "a0"
                self._entries.update({entry.path: entry for entry in entries})
            inside = "" if folder == ROOT else f"{folder}/"
            self._below[folder] = [entry for entry in entries if entry.path.startswith(inside)]
        return self._below[folder]

    def read(self, entries: Iterable[Entry]) -> dict[str, bytes]:
        """The contents of files (or the targets of links), by path, in one question to Git."""
        wanted = list(entries)
        ids = list(dict.fromkeys(entry.id for entry in wanted))  # in the order of paths, in which packs are compact
        if not ids:
            return {}
        size = sum({entry.id: entry.size for entry in wanted}.values())
        output = self.mirror.read(
            "cat-file", "--batch", "--buffer",
            stdin="".join(f"{id_}\n" for id_ in ids).encode("ascii"),
            deadline=self._deadline,
            output_limit=size + 200 * len(ids),
        )  # fmt: skip
        try:
            blobs = parse_batch(output, ids)
        except MalformedObjectError as error:
            raise self.mirror.damaged(str(error)) from None
        return {entry.path: blobs[entry.id] for entry in wanted}

    def follow(self, path: str, passed: set[str] | None = None) -> Entry | None:
        """What a path leads to when links are followed, as the operating system would in a checkout.

        A path into a submodule ends at the submodule, whose files are in another repository.

        Args:
            path: From the root of the repository; may hold ``..``.
            passed: Gets the paths of all the links on the way, and of what is missing at its end.

        Raises:
            LeavesRepositoryError: The path or a link leads out of the repository, or links go round in a circle.
        """
        self.look_up(_prefixes(path))
        to_do = path.split("/")[::-1]
        done: list[str] = []
        hops = 0
        while to_do:
            part = to_do.pop()
            if part in ("", "."):
                continue
            if part == "..":
                if not done:
                    raise LeavesRepositoryError(f"{path} leads out of the repository")
                done.pop()
                continue
            here = "/".join([*done, part])
            entry = self.entry(here)
            if entry is not None and entry.type is not EntryType.LINK:
                done.append(part)
                continue
            if passed is not None:
                passed.add(here)
            if entry is None:
                around = self.entry("/".join(done)) if done else None
                return around if around is not None and around.type is EntryType.SUBMODULE else None
            hops += 1
            if hops > _LINKS_LIMIT:
                raise LeavesRepositoryError(f"{path} leads through too many links")
            to_do += self._target(entry).split("/")[::-1]
        return self.entry("/".join(done) or ROOT)

    def _target(self, link: Entry) -> str:
        target = self.read([link])[link.path].decode("utf-8", "surrogateescape")
        if target.startswith("/"):
            raise LeavesRepositoryError(f"the link {link.path} leads out of the repository")
        return target

    def _is_listed(self, path: str) -> bool:
        return any(path == folder or is_below(path, folder) for folder in self._below)

    def _root(self) -> Entry:
        question = f"{self.commit}^{{tree}}\n".encode("ascii")
        answer = self.mirror.read("cat-file", "--batch-check", stdin=question, deadline=self._deadline).split()
        if len(answer) != 3 or answer[1] != b"tree":
            raise self.mirror.damaged(f"the commit {self.commit} has no tree")
        return Entry(ROOT, _FOLDER_MODE, answer[0].decode("ascii"), 0)

    def _ls_tree(self, *options: str, paths: list[str]) -> list[Entry]:
        try:
            output = self.mirror.read(
                "ls-tree", "-z", "-l", "--full-tree", *options, self.commit, "--", *paths,
                deadline=self._deadline,
                output_limit=_LISTING_LIMIT,
            )  # fmt: skip
        except ProcessOutputError:
            where = paths[0] if paths else "the repository"
            raise LimitExceededError(f"{self.mirror.url}: {where} has more files than syncd reads") from None
        try:
            return parse_listing(output)
        except MalformedObjectError as error:
            raise LimitExceededError(f"{self.mirror.url}: {error}") from None


def is_below(path: str, folder: str) -> bool:
    """Whether a path lies inside of a folder (and is not the folder itself)."""
    return path != ROOT if folder == ROOT else path.startswith(folder + "/")


def join(folder: str, path: str) -> str:
    """A path that was written relative to a folder, seen from the root; ``..`` stays, as links may stand before it."""
    return path if folder == ROOT else posixpath.join(folder, path)


def _prefixes(path: str) -> list[str]:
    """The paths that following a path would look at if there were no links."""
    done: list[str] = []
    found = []
    for part in path.split("/"):
        if part == "..":
            del done[-1:]
        elif part not in ("", "."):
            done.append(part)
            found.append("/".join(done))
    return found
