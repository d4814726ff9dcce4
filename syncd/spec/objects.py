"""Syncs as objects of the cluster: how they are read, and what in them is not for the cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel

from syncd.spec.sync import API_VERSION, KIND, FieldProblem, SpecError, Sync, parse_sync

if TYPE_CHECKING:
    from collections.abc import Iterator

FINALIZER: Final = "syncd.dev/finalizer"
"""Keeps a Sync object until its objects are deleted or released, as its deletion policy says."""
REQUESTED_ANNOTATION: Final = "syncd.dev/requested-at"
"""A person asks for a reconcile now by giving it another value; the status says which value was acted on."""

_FILE_ONLY: Final = "secretFile"
_LOCAL: Final = ("/", "./", "../", "file:")
_NEEDED_AT_THE_END: Final = ("deletionPolicy", "prune", "timeout", "suspend", "serviceAccountName")
_NOWHERE: Final = {"git": {"url": "https://nowhere.invalid/nothing"}}


def parse_object(document: dict[str, Any]) -> Sync:
    """Validate one Sync object as the cluster has it.

    Raises:
        SpecError: It does not hold, or would read the daemon's own disk; names every field that is wrong.
    """
    sync = parse_sync(_written(document))
    if problems := tuple(_local(sync)):
        raise SpecError(problems)
    return sync


def parse_ending(document: dict[str, Any]) -> Sync:
    """Read of a Sync object that is being deleted what its end needs, though the rest may not hold.

    A Sync that is suspended releases its objects: it is to do nothing to them.

    Raises:
        SpecError: Even that does not hold.
    """
    spec = _spec(document)
    needed: dict[str, Any] = {name: spec[name] for name in _NEEDED_AT_THE_END if name in spec}
    if needed.get("suspend") is True:
        needed["deletionPolicy"] = "Orphan"
    return _with_source(document, {**needed, "suspend": False})


def parse_readable(document: dict[str, Any]) -> Sync:
    """Read what can be read of a Sync object that does not hold, to show it beside what is wrong with it."""
    spec = _spec(document)
    try:
        return parse_sync(_written(document))
    except SpecError as error:
        wrong = {problem.path[1] for problem in error.problems if len(problem.path) > 1}
    try:
        return _with_source(document, {name: value for name, value in spec.items() if name not in wrong})
    except SpecError:
        return _with_source(document, {})


def has_source(sync: Sync) -> bool:
    """Whether the Sync says where its manifests come from; one that does not hold may not."""
    return sync.spec.source.git.url != _NOWHERE["git"]["url"]


def _with_source(document: dict[str, Any], spec: dict[str, Any]) -> Sync:
    """Read this part of a document, and its source if that holds."""
    written = _written(document)
    try:
        return parse_sync({**written, "spec": {**spec, "source": _spec(document).get("source")}})
    except SpecError:
        return parse_sync({**written, "spec": {**spec, "source": _NOWHERE}})


def _spec(document: dict[str, Any]) -> dict[str, Any]:
    spec = document.get("spec")
    return spec if isinstance(spec, dict) else {}


def _written(document: dict[str, Any]) -> dict[str, Any]:
    """The part of an object that somebody wrote."""
    metadata = {name: document["metadata"].get(name) for name in ("name", "namespace")}
    return {"apiVersion": API_VERSION, "kind": KIND, "metadata": metadata, "spec": document.get("spec")}


def _local(sync: Sync) -> Iterator[FieldProblem]:
    if sync.spec.source.git.url.startswith(_LOCAL):
        path = ("spec", "source", "git", "url")
        yield FieldProblem(path=path, message="paths and file URLs are for Syncs in files, beside the daemon")
    yield from _files(sync.spec, ("spec",))


def _files(model: BaseModel, path: tuple[str | int, ...]) -> Iterator[FieldProblem]:
    """Find what names files of the daemon, in any part of the document."""
    for name, field in type(model).model_fields.items():
        here = (*path, field.alias or name)
        value = getattr(model, name)
        if here[-1] == _FILE_ONLY and value is not None:
            yield FieldProblem(path=here, message="is for Syncs in files, beside the daemon; use secretRef")
        for index, item in enumerate(value) if isinstance(value, tuple) else ((None, value),):
            if isinstance(item, BaseModel):
                yield from _files(item, here if index is None else (*here, index))
