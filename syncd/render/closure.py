"""Which folders and files one kustomization reaches, checked before Kustomize sees them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from syncd.kubeyaml import Document, line_of, load_all
from syncd.model import InvalidInputError
from syncd.render.errors import RemoteInputError, RenderFailedError
from syncd.render.remote import host_of
from syncd.source.errors import UnsupportedContentError
from syncd.source.kustomization import FILE_NAMES, Reference, references
from syncd.source.objects import EntryType
from syncd.source.snapshot import join

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from syncd.source.objects import Entry
    from syncd.source.tree import Tree

_PLUGINS: Final = ("generators", "transformers", "validators")


@dataclass
class Closure:
    """What a kustomization reaches.

    Attributes:
        folders: Each with a kustomization file; Kustomize reads files only below them.
        documents: The kustomization files' contents, by path.
        links: Links on the ways there that may stand outside of these folders.
        files: Files that are named, by path; they may stand outside of these folders, where Kustomize refuses them.
        allowed: From where else something may be had.
        hosts: From where else something is to be had.
    """

    folders: list[str] = field(default_factory=list)
    documents: dict[str, list[Document]] = field(default_factory=dict)
    links: set[str] = field(default_factory=set)
    files: set[str] = field(default_factory=set)
    allowed: Collection[str] = ()
    hosts: set[str] = field(default_factory=set)

    @property
    def is_simple(self) -> bool:
        """Whether nothing in it could look at or change the annotations of what Kustomize builds."""
        unusual = {"replacements", "vars", "buildMetadata", *_PLUGINS}
        return not any(
            isinstance(document.value, dict) and unusual & document.value.keys()
            for documents in self.documents.values()
            for document in documents
        )


def closure(tree: Tree, folder: str, hosts: Collection[str] = ()) -> Closure:
    """Follow the references of the kustomization in a folder.

    Args:
        tree: Has the folder.
        folder: From the root of the repository.
        hosts: From where else something may be had.

    Raises:
        RemoteInputError: Something is to be had from elsewhere.
        RenderFailedError: A folder or file that is named is not there.
        UnsupportedContentError: It is in a submodule or Git LFS, or a link leads out of the repository.
        YAMLError: A kustomization file does not parse.
    """
    found = Closure(allowed=hosts)
    to_visit = [folder]
    while to_visit:  # level by level, each read at once
        found.folders += to_visit
        paths = {path: here for here in to_visit if (path := _kustomization_file(tree, here))}
        next_level: dict[str, None] = {}
        for path, data in tree.read(paths).items():
            next_level.update(dict.fromkeys(_references_of(tree, paths[path], path, data, found)))
        to_visit = [here for here in next_level if here not in found.folders]
    tree.check(found.files)
    return found


def _references_of(tree: Tree, folder: str, path: str, data: bytes, found: Closure) -> Iterator[str]:
    """The folders that a kustomization file names; what is on the ways there goes to ``found``."""
    found.documents[path] = load_all(data, tree.origin(path))
    for document in found.documents[path]:
        for reference in references(document.value):
            if host_of(reference.text) in found.allowed:
                found.hosts.add(host_of(reference.text))
                continue
            try:
                yield from _follow(tree, folder, reference, found)
            except InvalidInputError as error:
                origin = tree.origin(path)._replace(line=line_of(data, document.index, reference.field))
                raise type(error)(f"{reference.text}: {error.problem}", origin) from None


def _kustomization_file(tree: Tree, folder: str) -> str | None:
    for name in FILE_NAMES:
        path = join(folder, name)
        entry = tree.follow(path)
        if entry is not None and entry.type is EntryType.FILE:
            return path
    return None


def _follow(tree: Tree, folder: str, reference: Reference, found: Closure) -> Iterator[str]:
    """The folder that a reference leads to, if it does; what is on the way goes to ``found``."""
    remote = RemoteInputError(
        "it is not in the repository, and syncd fetches nothing from elsewhere; copy it there, or have it over https "
        "from a host that spec.render.kustomize.remoteHosts names"
    )
    if "://" in reference.text or "\0" in reference.text:
        raise remote
    passed: set[str] = set()
    entry = tree.follow(join(folder, reference.text), passed)
    if entry is None:
        if reference.is_remote:
            raise remote
        if reference.may_be_folder:
            raise RenderFailedError("it is neither a file nor a folder of the repository")
        return  # Kustomize tells in what role it misses the file
    found.links |= passed
    if entry.type is EntryType.FOLDER:
        yield entry.path
    elif entry.type is EntryType.SUBMODULE:
        raise UnsupportedContentError(f"{entry.path} is a submodule, which syncd does not fetch")
    else:
        found.files.add(entry.path)
        if reference.field[0] in _PLUGINS:
            _check_plugin(tree, entry)


def _check_plugin(tree: Tree, entry: Entry) -> None:
    data = tree.read([entry.path])[entry.path]
    if b"://" in data and any(_remote_fields(document.value) for document in load_all(data)):
        raise RemoteInputError("it names something outside of the repository, and syncd fetches nothing from elsewhere")


def _remote_fields(value: object) -> bool:
    """Whether a built-in plugin would load a file over the network."""
    if isinstance(value, list):
        return any(_remote_fields(item) for item in value)
    if not isinstance(value, dict):
        return False
    loads = [value.get(name) for name in ("path", "paths", "files", "envs", "env")]
    return any("://" in str(load) for load in loads) or any(_remote_fields(item) for item in value.values())
