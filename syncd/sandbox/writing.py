"""Creating and replacing objects: the way of one write, from what the client sent to what is stored."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import orjson

from syncd.sandbox import conversion, crd, errors, metadata, store
from syncd.sandbox.conversion import DEFINITIONS, NAMESPACES
from syncd.sandbox.kinds import Cause, GroupResource
from syncd.sandbox.pipeline import WriteOptions, rfc3339
from syncd.sandbox.storage import Stored

if TYPE_CHECKING:
    from collections.abc import Callable

    from syncd.model import JSONObject
    from syncd.sandbox.kinds import ServedKind
    from syncd.sandbox.store import Context, Place

_MAX_STORED = 3 * 512 * 1024
"""What etcd takes at most, in bytes. (A real server stores built-in kinds as protobuf, which is somewhat shorter.)"""


class Written(NamedTuple):
    """What came of a write."""

    stored: Stored
    """The new state; in a dry run, the one that would have been stored."""
    created: bool = False
    warnings: list[str] = []  # noqa: RUF012  # a NamedTuple's default, and nobody appends to it


def create(context: Context, kind: ServedKind, namespace: str, obj: JSONObject, options: WriteOptions) -> Written:
    """Create an object.

    Raises:
        StatusError: As a real server refuses it.
    """
    obj = metadata.placed(kind, check_type(context, kind, obj), namespace)
    decoded, warnings = context.pipeline.decode(kind, obj, options)
    with context.storage.lock:
        name = decoded["metadata"].get("name", "")
        check_namespace(context, kind, namespace, name)
        check_definition(context, kind, name)
        now = context.clock()
        new = metadata.for_create(kind, decoded, uid=context.new_uid(), now=rfc3339(now))
        new = context.pipeline.default(kind, new)
        new = context.pipeline.manage(kind, None, new, options, now)
        new = context.pipeline.prepare_create(kind, new)
        if decoded["metadata"].get("resourceVersion") and not options.dry_run:
            context.pipeline.validate(kind, new, None)
            raise errors.version_on_create()
        return Written(store_new(context, kind, new, options), created=True, warnings=warnings)


def store_new(context: Context, kind: ServedKind, new: JSONObject, options: WriteOptions) -> Stored:
    """Validate and store an object that is complete but for its resourceVersion."""
    context.pipeline.validate(kind, new, None)
    name = new["metadata"].get("name", "")
    if context.storage.get(kind.stored_in, new["metadata"].get("namespace", ""), name):
        raise errors.already_exists(kind.group_resource, name)
    stored = conversion.to_storage(kind, new)
    if options.dry_run:
        return Stored(stored, 0)
    return put(context, kind.stored_in, stored)


def check_type(context: Context, kind: ServedKind, obj: JSONObject) -> JSONObject:
    """Refuse a body of another kind or version than the path's; the body with its type, which it may leave out.

    Raises:
        StatusError: 400.
    """
    said_kind, said_version = obj.get("kind") or "", obj.get("apiVersion") or ""
    if said_kind == kind.kind and said_version == kind.api_version:
        return obj
    if kind.custom and not said_kind:
        raise errors.bad_request(
            f"the object provided is unrecognized (must be of type {kind.kind}): "
            "Object 'Kind' is missing in the body of the request"
        )
    if kind.custom and said_version == kind.api_version:
        cause = Cause("kind", "FieldValueInvalid", f'Invalid value: "{said_kind}": must be {kind.kind}')
        raise errors.invalid(kind._replace(kind=said_kind), obj.get("metadata", {}).get("name", ""), [cause])
    said_kind, said_version = said_kind or kind.kind, said_version or kind.api_version
    said = f'{said_kind} in version "{said_version.rpartition("/")[2]}" cannot be handled as a {kind.kind}: '
    known = context.registry.of_kind(said_version, said_kind)
    if known is None and not kind.custom:
        raise errors.bad_request(
            f'{said}no kind "{said_kind}" is registered for version "{said_version}" in scheme '
            '"pkg/runtime/scheme.go:111"'
        )
    if known is not None and (known.group, known.kind) != (kind.group, kind.kind):
        into = f"{kind.group.split('.')[0] or 'core'}.{kind.kind}"
        raise errors.bad_request(f"{said}converting ({known.version}.{known.kind}) to ({into}): unknown conversion")
    if said_version != kind.api_version:
        raise errors.bad_request(
            f"the API version in the data ({said_version}) does not match the expected API version ({kind.api_version})"
        )
    return obj | {"kind": kind.kind, "apiVersion": kind.api_version}


def check_namespace(context: Context, kind: ServedKind, namespace: str, name: str) -> None:
    """Refuse new objects where there is no namespace, or one that goes away.

    Raises:
        StatusError: 404 or 403.
    """
    if not kind.namespaced:
        return
    stored = context.storage.get(NAMESPACES, "", namespace)
    if stored is None:
        raise errors.not_found(NAMESPACES, namespace)
    if "deletionTimestamp" in stored.object["metadata"]:
        why = f"unable to create new content in namespace {namespace} because it is being terminated"
        cause = Cause("metadata.namespace", "NamespaceTerminating", f"namespace {namespace} is being terminated")
        raise errors.forbidden(kind.group_resource, name, why, [cause])


_CREATED_BY_PUT = frozenset(
    {
        ("", "Endpoints"),
        ("", "Event"),
        ("", "LimitRange"),
        ("", "Service"),
        ("coordination.k8s.io", "Lease"),
        ("events.k8s.io", "Event"),
        ("node.k8s.io", "RuntimeClass"),
        ("rbac.authorization.k8s.io", "ClusterRole"),
        ("rbac.authorization.k8s.io", "ClusterRoleBinding"),
        ("rbac.authorization.k8s.io", "Role"),
        ("rbac.authorization.k8s.io", "RoleBinding"),
    }
)
"""The kinds that a PUT creates when they are not there (``AllowCreateOnUpdate`` in their registries)."""


def replace(context: Context, place: Place, obj: JSONObject, options: WriteOptions) -> Written:
    """Put an object in the place of the present one; of some kinds also where there is none.

    Raises:
        StatusError: As a real server refuses it.
    """
    kind = place.kind
    with context.storage.lock:
        missing = context.storage.get(kind.stored_in, place.namespace, place.name) is None
        if missing and (kind.group, kind.kind) in _CREATED_BY_PUT and not options.subresource:
            return create(
                context, kind, place.namespace, metadata.placed(kind, obj, place.namespace, place.name), options
            )
        return update(context, place, lambda _: obj, options)


def check_definition(context: Context, kind: ServedKind, name: str) -> None:
    """Refuse new objects whose definition goes away.

    Raises:
        StatusError: 403.
    """
    if not kind.custom:
        return
    definition = context.storage.get(DEFINITIONS, "", str(kind.group_resource))
    if definition is not None and crd.is_true(definition.object, "Terminating"):
        why = "create not allowed while custom resource definition is terminating"
        raise errors.forbidden(kind.group_resource, name, why)


def update(
    context: Context,
    place: Place,
    make: Callable[[JSONObject], JSONObject],
    options: WriteOptions,
    *,
    patched: bool = False,
) -> Written:
    """Replace an object by what ``make`` makes of its present state.

    Args:
        context: The server's objects.
        place: Which one.
        make: Makes the next state of the present one.
        options: The query parameters.
        patched: Whether a patch made it: another uid is an immutable field then, and not a precondition.

    Raises:
        StatusError: As a real server refuses it.
    """
    kind = place.kind
    with context.storage.lock:
        stored = store.get(context, place)
        old = store.served(kind, stored)
        raw = check_type(context, kind, make(old))
        raw = metadata.placed(kind, raw, place.namespace, place.name)
        metadata.check_preconditions(kind, raw, old, patched=patched)
        decoded, warnings = context.pipeline.decode(kind, raw, options)
        new = context.pipeline.default(kind, decoded)
        new = metadata.for_update(kind, new, old, options.subresource)
        new = context.pipeline.manage(kind, old, new, options, context.clock())
        new = context.pipeline.prepare_update(kind, new, old, options)
        return Written(store_update(context, kind, stored, new, options), warnings=warnings)


def store_update(context: Context, kind: ServedKind, stored: Stored, new: JSONObject, options: WriteOptions) -> Stored:
    """Validate and store an object's next state; nothing is written when it is the present one."""
    old = store.served(kind, stored)
    if options.subresource not in ("binding", "status"):
        new = metadata.with_generation(kind, new, old)
    context.pipeline.validate(kind, new, old)
    if metadata.same(new, old):
        return stored
    converted = conversion.to_storage(kind, new)
    if options.dry_run:
        return Stored(converted, 0)
    if is_finished(converted):
        return remove(context, kind.stored_in, converted)
    return put(context, kind.stored_in, converted)


def is_finished(obj: JSONObject) -> bool:
    """Whether an object that is being deleted has nothing left to wait for."""
    meta = obj["metadata"]
    if "deletionTimestamp" not in meta or meta.get("finalizers") or meta.get("deletionGracePeriodSeconds"):
        return False
    return obj["kind"] != "Namespace" or not obj.get("spec", {}).get("finalizers")


def put(context: Context, resource: GroupResource, obj: JSONObject) -> Stored:
    """Store an object, and let a definition take effect.

    Raises:
        StatusError: 500, it is larger than etcd takes.
    """
    if len(orjson.dumps(obj)) > _MAX_STORED:
        raise errors.too_large_for_storage()
    stored = context.storage.put(resource, obj)
    if resource == DEFINITIONS:
        kinds = context.pipeline.register(stored.object)
        context.registry.set_custom(obj["metadata"]["name"], kinds)
    return stored


def remove(context: Context, resource: GroupResource, obj: JSONObject) -> Stored:
    """Remove an object, and what a definition brought."""
    stored = context.storage.remove(resource, obj)
    if resource == DEFINITIONS:
        name = obj["metadata"]["name"]
        context.pipeline.unregister(name)
        context.registry.set_custom(name, ())
    return stored
