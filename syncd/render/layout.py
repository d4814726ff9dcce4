"""Which files of a Sync's folder are read as they are, and which folders Kustomize and Helm render."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Final, NamedTuple

import pathspec

from syncd.render.errors import InvalidManifestError, RenderFailedError
from syncd.render.helm import CHART_FILE
from syncd.source.errors import UnsupportedContentError
from syncd.source.kustomization import FILE_NAMES
from syncd.source.objects import EntryType
from syncd.source.snapshot import is_below, join
from syncd.spec import PlainRender

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from syncd.source.objects import Entry
    from syncd.source.tree import Tree
    from syncd.spec import Render

IGNORE_FILE: Final = ".syncdignore"
_MANIFESTS: Final = (".yaml", ".yml", ".json")


class Layout(NamedTuple):
    """What is to be rendered, and how."""

    files: tuple[str, ...] = ()
    """Read as they are."""
    kustomizations: tuple[str, ...] = ()
    """Folders to build with Kustomize."""
    charts: tuple[str, ...] = ()
    """Folders to render with Helm."""


def layout(tree: Tree, render: Render) -> Layout:
    """Look through a Sync's folder.

    Unless the Sync wants Kustomize or Helm alone, every topmost folder that has a kustomization file is built with
    Kustomize, every one with a chart rendered with Helm, and all other manifests are read as they are. What the Sync's
    patterns or ``.syncdignore`` leave out, and what has a name that starts with a dot, does not count.

    Raises:
        RenderFailedError: The Sync wants Kustomize or Helm alone, and there is no kustomization file or chart.
        InvalidManifestError: There is something for a renderer that the Sync does not name beside those that it names.
        UnsupportedContentError: A submodule is in the way, or ``.syncdignore`` cannot be read.
    """
    if render.only == "kustomize":
        return Layout(kustomizations=(_require(tree, FILE_NAMES, "kustomize"),))
    if render.only == "helm":
        return Layout(charts=(_require(tree, (CHART_FILE,), "helm"),))
    counts = _filter(tree, render.plain or PlainRender())
    entries = [entry for entry in tree.below(tree.folder) if counts(entry.path)]
    special = {
        entry.path: posixpath.dirname(entry.path) or "."
        for entry in entries
        if posixpath.basename(entry.path) in (*FILE_NAMES, CHART_FILE)
        and entry.type in (EntryType.FILE, EntryType.LINK)
    }
    folders = _topmost(set(special.values()))
    built = {folder for path, folder in special.items() if posixpath.basename(path) in FILE_NAMES}
    files = [entry for entry in entries if not any(is_below(entry.path, folder) for folder in folders)]
    found = Layout(
        tuple(_manifest_files(tree, files)),
        tuple(folder for folder in folders if folder in built),
        tuple(folder for folder in folders if folder not in built),
    )
    _refuse_unnamed(tree, render, found, special)
    return found


def _refuse_unnamed(tree: Tree, render: Render, found: Layout, special: Mapping[str, str]) -> None:
    """Refuse what is for another renderer than those that the Sync names, if it names any."""
    first = {folder: path for path, folder in reversed([*special.items()])}
    there = {
        "plain": [*found.files],
        "kustomize": [first[folder] for folder in found.kustomizations],
        "helm": [first[folder] for folder in found.charts],
    }
    unnamed = [name for name in there if getattr(render, name) is None]
    if len(unnamed) < len(there):
        for name in unnamed:
            if there[name]:
                problem = f"spec.render does not name what this is for; add {name}: {{}} there, or leave it out"
                raise InvalidManifestError(f"{problem} with spec.render.plain.exclude", tree.origin(there[name][0]))


def _require(tree: Tree, names: Sequence[str], renderer: str) -> str:
    if not any(tree.follow(join(tree.folder, name)) for name in names):
        raise RenderFailedError(f"there is no {names[0]}, which spec.render.{renderer} needs", tree.origin(tree.folder))
    return tree.folder


def _topmost(folders: set[str]) -> list[str]:
    """Those that are not below others, sorted."""
    return sorted(folder for folder in folders if not any(is_below(folder, other) for other in folders))


def _manifest_files(tree: Tree, entries: Iterable[Entry]) -> Iterator[str]:
    for entry in entries:
        if entry.type is EntryType.SUBMODULE:
            problem = "it is a submodule, which syncd does not fetch; leave it out with .syncdignore"
            raise UnsupportedContentError(problem, tree.origin(entry.path))
        if entry.path.endswith(_MANIFESTS) and _is_manifest(tree, entry):
            yield entry.path


def _is_manifest(tree: Tree, entry: Entry) -> bool:
    """Whether it is a file, or a link that does not lead to a folder (such links are not followed, as in kubectl)."""
    if entry.type is not EntryType.LINK:
        return entry.type is EntryType.FILE
    target = tree.follow(entry.path)
    return target is None or target.type is not EntryType.FOLDER


def _filter(tree: Tree, plain: PlainRender) -> Callable[[str], bool]:
    """What counts, by its path from the root of the repository."""
    name = join(tree.folder, IGNORE_FILE)
    start = 0 if tree.folder == "." else len(tree.folder) + 1
    included = pathspec.GitIgnoreSpec.from_lines(plain.include)
    from_git = _lines(tree, name) if tree.follow(name) is not None else []
    ignored = pathspec.GitIgnoreSpec.from_lines([*from_git, *plain.exclude])

    def counts(path: str) -> bool:
        relative = path[start:]
        if any(part.startswith(".") for part in relative.split("/")) or ignored.match_file(relative):
            return False
        return not plain.include or included.match_file(relative)

    return counts


def _lines(tree: Tree, name: str) -> list[str]:
    try:
        lines = tree.read([name])[name].decode("utf-8-sig").splitlines()
        pathspec.GitIgnoreSpec.from_lines(lines)
    except ValueError as error:
        raise UnsupportedContentError(f"it cannot be read: {error}", tree.origin(name)) from None
    return lines
