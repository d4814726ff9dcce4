"""Server-side apply: one manager says what it wants, and the others' fields stay theirs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.sandbox import errors, metadata, store, writing
from syncd.sandbox.pipeline import rfc3339
from syncd.sandbox.writing import Written

if TYPE_CHECKING:
    from syncd.model import JSONObject
    from syncd.sandbox.kinds import ServedKind
    from syncd.sandbox.pipeline import WriteOptions
    from syncd.sandbox.storage import Stored
    from syncd.sandbox.store import Context, Place


def apply(
    context: Context, place: Place, applied: JSONObject, options: WriteOptions, *, force: bool, named: bool
) -> Written:
    """Apply a configuration; an object that is not there is created.

    Args:
        context: The server's objects.
        place: What the path says.
        applied: The configuration.
        options: The query parameters; the manager is that of the configuration.
        force: Whether fields that others own are taken over.
        named: Whether the request names its field manager, as it must.

    Raises:
        StatusError: As a real server refuses it; 409 with a cause for each field that another manager owns.
    """
    if not named:
        text = "Required value: is required for apply patch"
        raise errors.invalid_write_options("patch", "fieldManager", text)
    if applied.get("metadata", {}).get("managedFields"):
        raise errors.bad_request("metadata.managedFields must be nil")
    kind = place.kind
    said = applied.get("apiVersion") or "", applied.get("kind") or ""
    if said != (kind.api_version, kind.kind):
        raise errors.wrong_apply_type(*said)
    context.pipeline.check_sparse(kind, applied, options)
    with context.storage.lock:
        stored = context.storage.get(kind.stored_in, place.namespace, place.name)
        if stored is not None:  # a new object must say its name itself
            applied = _named(applied, place.name)
        applied = metadata.placed(kind, applied, place.namespace, place.name)
        if stored is None:
            return Written(_create(context, kind, applied, options, force=force), created=True)
        old = store.served(kind, stored)
        metadata.check_preconditions(kind, _with_version(applied, old), old, patched=True)
        new = context.pipeline.apply(kind, old, applied, options, context.clock(), force=force)
        new, _ = context.pipeline.decode(kind, new, options)
        new = context.pipeline.default(kind, new)
        new = metadata.for_update(kind, new, old, options.subresource)
        new = context.pipeline.prepare_update(kind, new, old, options)
        return Written(writing.store_update(context, kind, stored, new, options))


def _create(
    context: Context,
    kind: ServedKind,
    applied: JSONObject,
    options: WriteOptions,
    *,
    force: bool,
) -> Stored:
    meta = applied["metadata"]
    if options.subresource:
        raise errors.not_found(kind.group_resource, meta["name"])
    if meta.get("uid"):
        why = f"uid mismatch: the provided object specified uid {meta['uid']}, and no existing object was found"
        raise errors.conflict(kind.group_resource, meta["name"], why)
    writing.check_namespace(context, kind, meta.get("namespace", ""), meta["name"])
    writing.check_definition(context, kind, meta["name"])
    new = context.pipeline.apply(kind, None, applied, options, context.clock(), force=force)
    new, _ = context.pipeline.decode(kind, new, options)
    new = metadata.for_create(kind, new, uid=context.new_uid(), now=rfc3339(context.clock()))
    new = context.pipeline.prepare_create(kind, context.pipeline.default(kind, new))
    return writing.store_new(context, kind, new, options)


def _named(applied: JSONObject, name: str) -> JSONObject:
    """A configuration for an object that is there may leave its name to the path."""
    meta = applied.get("metadata") or {}
    return applied if meta.get("name") else applied | {"metadata": meta | {"name": name}}


def _with_version(applied: JSONObject, old: JSONObject) -> JSONObject:
    """A configuration without resourceVersion presumes the present one."""
    meta = applied["metadata"]
    version = meta.get("resourceVersion") or old["metadata"]["resourceVersion"]
    return applied | {"metadata": meta | {"resourceVersion": version}}
