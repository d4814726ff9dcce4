"""Which files of a Sync's folder are read as they are, and which folders Kustomize builds."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Final, NamedTuple

import pathspec

from syncd.render.errors import InvalidManifestError, RenderFailedError
from syncd.source.errors import UnsupportedContentError
from syncd.source.kustomization import FILE_NAMES
from syncd.source.objects import Entry, EntryType
from syncd.source.snapshot import is_below

if TYPE_CHECKING:
    from collections.abc import Callable

    from syncd.model import Origin
    from syncd.source.tree import Tree
    from syncd.spec import Render

IGNORE_FILE: Final = ".syncdignore"
_MANIFESTS: Final = (".yaml", ".yml", ".json")


class Layout(NamedTuple):
    """What is to be rendered, and how."""

    files: tuple[str, ...]
    """Read as they are."""
    kustomizations: tuple[str, ...]
    """Folders to build with Kustomize."""


def layout(tree: Tree, render: Render) -> Layout:
    """Look through a Sync's folder.

    Without a renderer in the Sync, every topmost folder that has a kustomization file is built with Kustomize, and all
    other manifests are read as they are. What ``.syncdignore`` names, and what has a name that starts with a dot, does
    not count.

    Raises:
        RenderFailedError: The Sync wants Kustomize, and there is no kustomization file.
        InvalidManifestError: The Sync wants plain files, and there is a kustomization file among them.
        UnsupportedContentError: A submodule is in the way, or ``.syncdignore`` cannot be read.
    """
    counts = _filter(tree)
    entries = [entry for entry in tree.below(tree.folder) if counts(entry.path)]
    named = [entry.path for entry in entries if posixpath.basename(entry.path) in FILE_NAMES and _is_readable(entry)]
    if render.kustomize is not None or (render.plain is None and _folders(named) == [tree.folder]):
        if tree.folder not in (posixpath.dirname(path) or "." for path in named):
            raise RenderFailedError(f"there is no {FILE_NAMES[0]}, which spec.render.kustomize needs", _place(tree))
        return Layout((), (tree.folder,))
    if render.plain is not None and named:
        problem = "this is a kustomization, which spec.render.plain does not build; leave it out with .syncdignore"
        raise InvalidManifestError(problem, tree.origin(named[0]))
    folders = _folders(named)
    files = []
    for entry in entries:
        if any(is_below(entry.path, folder) for folder in folders):
            continue
        if entry.type is EntryType.SUBMODULE:
            problem = "it is a submodule, which syncd does not fetch; leave it out with .syncdignore"
            raise UnsupportedContentError(problem, tree.origin(entry.path))
        if entry.path.endswith(_MANIFESTS) and _is_manifest(tree, entry):
            files.append(entry.path)
    return Layout(tuple(files), tuple(folders))


def _place(tree: Tree) -> Origin:
    return tree.origin(tree.folder)


def _folders(named: list[str]) -> list[str]:
    """The topmost folders of these files, sorted."""
    folders = sorted({posixpath.dirname(path) or "." for path in named})
    return [folder for folder in folders if not any(is_below(folder, other) for other in folders)]


def _is_readable(entry: Entry) -> bool:
    return entry.type in (EntryType.FILE, EntryType.LINK)


def _is_manifest(tree: Tree, entry: Entry) -> bool:
    """Whether it is a file, or a link that does not lead to a folder (such links are not followed, as in kubectl)."""
    if entry.type is not EntryType.LINK:
        return entry.type is EntryType.FILE
    target = tree.follow(entry.path)
    return target is None or target.type is not EntryType.FOLDER


def _filter(tree: Tree) -> Callable[[str], bool]:
    """What counts, by its path from the root of the repository."""
    name = IGNORE_FILE if tree.folder == "." else f"{tree.folder}/{IGNORE_FILE}"
    start = 0 if tree.folder == "." else len(tree.folder) + 1
    ignored = _patterns(tree, name) if tree.follow(name) is not None else pathspec.GitIgnoreSpec([])

    def counts(path: str) -> bool:
        relative = path[start:]
        return not any(part.startswith(".") for part in relative.split("/")) and not ignored.match_file(relative)

    return counts


def _patterns(tree: Tree, name: str) -> pathspec.GitIgnoreSpec:
    try:
        return pathspec.GitIgnoreSpec.from_lines(tree.read([name])[name].decode("utf-8").splitlines())
    except ValueError as error:
        raise UnsupportedContentError(f"it cannot be read: {error}", tree.origin(name)) from None
