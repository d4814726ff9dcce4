"""Kustomizations, built by the real Kustomize in a private copy of the folders that it needs."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Final

from syncd.kubeloader import ExcessiveAliasingError
from syncd.kubeyaml import Document, YAMLError, load_all
from syncd.render.closure import closure
from syncd.render.errors import RemoteInputError, RenderFailedError
from syncd.render.objects import manifests_of, take_annotation
from syncd.render.remote import way_to
from syncd.render.runner import ToolFailedError
from syncd.render.workspace import Workspace, workspace
from syncd.source.errors import LimitExceededError
from syncd.source.objects import EntryType
from syncd.source.snapshot import join

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from syncd.model import InvalidInputError, Manifest, Origin
    from syncd.render.closure import Closure
    from syncd.render.job import Job
    from syncd.source.tree import Tree

_ALIAS: Final = re.compile(rb"[\s,:\[{-]\*\w")
_ORIGIN: Final = "config.kubernetes.io/origin"
_ASK_FOR_ORIGINS: Final = b"\nbuildMetadata:\n- originAnnotations\n"


def build(job: Job, folder: str) -> list[Manifest]:
    """Build the kustomization in a folder, given from the root of the repository.

    Raises:
        InvalidInputError: One of its subclasses tells what is wrong with the kustomization.
        RenderTimeoutError: The deadline passed.
    """
    tree = job.tree
    options = job.spec.render.kustomize
    reached = closure(tree, folder, options.remote_hosts if options else ())
    own = next((path for path in reached.documents if (posixpath.dirname(path) or ".") == folder), folder)
    origin = tree.origin(own)
    with workspace(tree, reached.folders, reached.links | reached.files) as place:
        _refuse_bombs(place, tree)
        with_origins = reached.is_simple and _ask_for_origins(place.files / own, reached.documents.get(own, []))
        try:
            output = _run(job, place, folder, reached, origin)
        except ToolFailedError as failure:
            raise _explained(failure, place, tree, origin) from None
    try:
        documents = load_all(output)
    except YAMLError as error:
        raise RenderFailedError(f"what kustomize wrote cannot be read: {error.problem}", origin) from None
    if not with_origins:
        return list(manifests_of(_without_places(documents), b"", origin, job.errors))
    return list(_with_origins(job, documents, folder, origin))


def _refuse_bombs(place: Workspace, tree: Tree) -> None:
    """Refuse files whose aliases expand to far more than there is; Kustomize would take gigabytes to find out.

    Raises:
        ExcessiveAliasingError: Such a file is there.
    """
    for file in place.files.rglob("*.y*ml"):
        if file.is_file() and not file.is_symlink() and _ALIAS.search(data := file.read_bytes()):
            try:
                load_all(data, tree.origin(str(file.relative_to(place.files))))
            except ExcessiveAliasingError:
                raise
            except YAMLError:
                continue  # for Kustomize to complain about, if it reads the file at all


def _run(job: Job, place: Workspace, folder: str, reached: Closure, origin: Origin) -> bytes:
    """What Kustomize writes; it has a way to the network only if the kustomization names something there."""
    command = (*job.tool.command, str(place.files / folder))
    if not reached.hosts or job.spec.render.kustomize is None:
        return job.runner.run(command, home=place.home, deadline=job.deadline).stdout
    job.remote.update(reached.hosts)
    with way_to(job.spec.render.kustomize.remote_hosts, place.home) as (environment, refused):
        try:
            return job.runner.run(command, home=place.home, deadline=job.deadline, environment=environment).stdout
        except ToolFailedError:
            if refused:
                hosts = ", ".join(sorted(set(refused)))
                problem = f"a remote base needs {hosts}, which spec.render.kustomize.remoteHosts does not name"
                raise RemoteInputError(problem, origin) from None
            raise


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


def _with_origins(job: Job, documents: list[Document], folder: str, own: Origin) -> Iterator[Manifest]:
    """The manifests with the files that they are from, and without the annotation that tells."""
    for document in documents:
        body, text = take_annotation(document.value, _ORIGIN)
        written = load_all(text.encode())[0].value if text else {}
        relative = written.get("path") or written.get("configuredIn") or ""
        path = posixpath.normpath(join(folder, relative)) if relative else ""
        origin = job.tree.origin(path) if path in job.tree.entries else own
        yield from manifests_of([Document(body, 0, 0)], b"", origin, job.errors)


def _without_places(documents: list[Document]) -> list[Document]:
    """Documents whose place in the renderer's output is not told: nobody could look it up."""
    return [Document(document.value, 0, 0) for document in documents]


def _explained(failure: ToolFailedError, place: Workspace, tree: Tree, origin: Origin) -> InvalidInputError:
    """One message, in the repository's paths, at the file that Kustomize names."""
    message = place.message(failure.stderr)
    if "cannot allocate memory" in message or "out of memory" in message:
        return LimitExceededError("kustomize needs more memory than it may have", origin)
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
