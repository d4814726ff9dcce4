"""Kustomizations, built by the real Kustomize in a private copy of the folders that it needs."""

from __future__ import annotations

import posixpath
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from syncd.kubeyaml import Document, YAMLError, load_all
from syncd.render.closure import Closure, closure
from syncd.render.errors import RenderFailedError
from syncd.render.objects import manifests_of
from syncd.render.runner import ToolFailedError
from syncd.source.errors import LimitExceededError
from syncd.source.objects import EntryType
from syncd.source.snapshot import join

if TYPE_CHECKING:
    from collections.abc import Iterator

    from syncd.model import InvalidInputError, JSONValue, Manifest, Origin
    from syncd.render.runner import Runner
    from syncd.render.tools import Tool
    from syncd.source.tree import Tree

_ORIGIN: Final = "config.kubernetes.io/origin"
_ASK_FOR_ORIGINS: Final = b"\nbuildMetadata:\n- originAnnotations\n"
_MESSAGE_LIMIT: Final = 1000


def build(
    tree: Tree, folder: str, *, tool: Tool, runner: Runner, deadline: float, errors: list[InvalidInputError]
) -> list[Manifest]:
    """Build the kustomization in a folder.

    Args:
        tree: The Sync's files.
        folder: From the root of the repository.
        tool: The Kustomize to use.
        runner: Runs it.
        deadline: On ``time.monotonic()``'s clock.
        errors: Gets what is wrong with single objects.

    Raises:
        InvalidInputError: One of its subclasses tells what is wrong with the kustomization.
        RenderTimeoutError: The deadline passed.
    """
    reached = closure(tree, folder)
    own = next((path for path in reached.documents if (posixpath.dirname(path) or ".") == folder), folder)
    origin = tree.origin(own)
    # realpath, as Kustomize names files so in its messages
    with tempfile.TemporaryDirectory(prefix="syncd-kustomize-") as name:
        place = Path(name).resolve()
        files, home = place / "repository", place / "home"
        home.mkdir()
        _materialise(tree, reached, files)
        with_origins = reached.is_simple and _ask_for_origins(files / own, reached.documents.get(own, []))
        try:
            output = runner.run((*tool.command, str(files / folder)), home=home, deadline=deadline)
        except ToolFailedError as failure:
            raise _explained(failure, tree, files, origin) from None
    try:
        documents = load_all(output)
    except YAMLError as error:
        raise RenderFailedError(f"what kustomize wrote cannot be read: {error.problem}", origin) from None
    if not with_origins:
        return list(manifests_of(_without_places(documents), b"", origin, errors))
    return list(_with_origins(documents, tree, folder, origin, errors))


def _materialise(tree: Tree, reached: Closure, directory: Path) -> None:
    """Write what Kustomize can read. Files that are too large stay away: it complains when it needs one of them."""
    paths = set(reached.links | reached.files)
    for folder in reached.folders:
        for entry in tree.below(folder):
            if entry.type is EntryType.LINK:
                target = tree.follow(entry.path, paths)
                if target is not None and target.type is EntryType.FILE:
                    paths.add(target.path)
            if entry.type in (EntryType.FILE, EntryType.LINK):
                paths.add(entry.path)
    directory.mkdir()
    tree.materialise(directory, sorted(path for path in paths if path in tree.entries))


def _ask_for_origins(file: Path, documents: list[Document]) -> bool:
    """Make Kustomize write where each object is from; only if that is certain to change nothing else in the file."""
    if len(documents) != 1 or not isinstance(documents[0].value, dict) or file.is_symlink():
        return False
    asking = file.read_bytes() + _ASK_FOR_ORIGINS
    try:
        (document,) = load_all(asking)
    except (YAMLError, ValueError):
        return False
    if document.value != {**documents[0].value, "buildMetadata": ["originAnnotations"]}:
        return False
    file.write_bytes(asking)
    return True


def _with_origins(
    documents: list[Document], tree: Tree, folder: str, own: Origin, errors: list[InvalidInputError]
) -> Iterator[Manifest]:
    """The manifests with the files that they are from, and without the annotation that tells."""
    for document in documents:
        body, written = _take_origin(document.value)
        origin = own
        if written:
            path = posixpath.normpath(join(folder, written))
            origin = tree.origin(path) if path in tree.entries else own
        yield from manifests_of([Document(body, 0, 0)], b"", origin, errors)


def _take_origin(body: JSONValue) -> tuple[JSONValue, str]:
    """An object without its origin annotation, and the file that the annotation names, or ""."""
    metadata = body.get("metadata") if isinstance(body, dict) else None
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    if not isinstance(metadata, dict) or not isinstance(annotations, dict) or _ORIGIN not in annotations:
        return body, ""
    rest = {key: text for key, text in annotations.items() if key != _ORIGIN}
    metadata = {key: value for key, value in metadata.items() if key != "annotations" or rest}
    if rest:
        metadata["annotations"] = rest
    origin = load_all(str(annotations[_ORIGIN]).encode())[0].value
    return {**body, "metadata": metadata}, origin.get("path") or origin.get("configuredIn") or ""


def _without_places(documents: list[Document]) -> list[Document]:
    """Documents whose place in the renderer's output is not told: nobody could look it up."""
    return [Document(document.value, 0, 0) for document in documents]


def _explained(failure: ToolFailedError, tree: Tree, files: Path, origin: Origin) -> InvalidInputError:
    """One message, in the repository's paths, at the file that Kustomize names."""
    text = failure.stderr.replace(f"{files}/", "").replace(str(files), "the repository")
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    message = " ".join(lines).removeprefix("error: ").removeprefix("Error: ") or "it gave no reason"
    if "cannot allocate memory" in message or "out of memory" in message:
        return LimitExceededError("kustomize needs more memory than it may have", origin)
    if len(message) > _MESSAGE_LIMIT:
        half = _MESSAGE_LIMIT // 2
        message = f"{message[:half]} … {message[-half:]}"  # what matters stands at the end of Kustomize's chains
    return RenderFailedError(f"kustomize: {message}", _blamed(message, tree, origin))


def _blamed(message: str, tree: Tree, origin: Origin) -> Origin:
    """The file that a message ends with; Kustomize names it relative to the folder that it named before."""
    here, blamed = posixpath.dirname(origin.path) or ".", ""
    if "security;" in message:
        return origin  # the file is as it should be, and who names it is not
    for word in re.findall(r"[^\s'\":]+", message):
        path = word if word in tree.entries else posixpath.normpath(join(here, word))
        entry = tree.entries.get(path)
        if entry is not None and entry.type is EntryType.FOLDER:
            here = path
        elif entry is not None:
            blamed = path
    return tree.origin(blamed) if blamed else origin
