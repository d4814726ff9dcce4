"""From a request to its answer: which kind, which verb, which form.

Everything here is quick and takes no other lock than the storage's, so it runs in the event loop itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import orjson

from syncd.sandbox import (
    applying,
    bodies,
    deleting,
    errors,
    negotiation,
    patching,
    responses,
    scale,
    store,
    table,
    virtual,
    watching,
    writing,
)
from syncd.sandbox.pipeline import WriteOptions, warnings_text
from syncd.sandbox.store import Place

if TYPE_CHECKING:
    from collections.abc import Callable

    from syncd.model import JSONObject
    from syncd.sandbox.kinds import ServedKind
    from syncd.sandbox.negotiation import Form
    from syncd.sandbox.requests import Request
    from syncd.sandbox.responses import Response
    from syncd.sandbox.storage import Stored
    from syncd.sandbox.store import Context, Page
    from syncd.sandbox.writing import Written

DEFAULT_BOOKMARK_INTERVAL = 60.0
_MAX_MANAGER = 128
_VALIDATIONS = ("Strict", "Warn", "Ignore")
_VERBS_OF_ONE = ("get", "update", "patch", "delete")


class Call(NamedTuple):
    """A request together with what it concerns."""

    context: Context
    kind: ServedKind
    request: Request
    body: bytes
    form: Form

    @property
    def place(self) -> Place:
        """The object that the path names."""
        return Place(self.kind, self.request.namespace, self.request.name)


def handle(context: Context, request: Request, body: bytes, bookmark_interval: float) -> Response | watching.Watch:
    """Answer a request for objects.

    Raises:
        StatusError: As a real server refuses it.
    """
    kind = context.registry.find(request.group, request.version, request.resource)
    if kind is None and not context.registry.serves(request.group):
        return responses.no_such_page()
    if kind is None or (request.namespace and not kind.namespaced):
        raise errors.unknown_path()
    form = negotiation.accepted(request.headers.get("accept", ""))
    call = Call(context, kind, request, body, form)
    if request.subresource:
        return _subresource(call)
    if kind.namespaced and not request.namespace and (request.name or request.verb not in ("list", "watch")):
        raise errors.unknown_path() if request.name else errors.method_not_allowed()
    if request.verb not in kind.verbs or not _fits(request):
        raise errors.method_not_allowed()
    if request.verb == "watch":
        return _watch(call, bookmark_interval)
    return _VERBS[request.verb](call)


def _fits(request: Request) -> bool:
    """Whether the verb is one for what the path names: one object, or a collection."""
    return bool(request.name) is (request.verb in _VERBS_OF_ONE)


# --- reading -------------------------------------------------------------------------------------------------------


def _get(call: Call) -> Response:
    version = store.parse_version(call.request.query.text("resourceVersion"))
    if version > call.context.storage.revision:
        raise errors.version_too_large(version, call.context.storage.revision)
    return _object(call, store.get(call.context, call.place))


def _list(call: Call) -> Response:
    query = call.request.query
    options = store.ListOptions(
        labels=query.text("labelSelector"),
        fields=query.text("fieldSelector"),
        limit=query.number("limit"),
        token=query.text("continue"),
        version=query.text("resourceVersion"),
        match=query.text("resourceVersionMatch"),
    )
    page = store.list_page(call.context, call.kind, call.request.namespace, options)
    metadata: JSONObject = {"resourceVersion": str(page.revision)}
    if page.token or (call.kind.custom and not call.form.transform):
        metadata["continue"] = page.token
        if page.remaining:
            metadata["remainingItemCount"] = page.remaining
    return responses.encoded(_list_body(call, page, metadata), form=call.form)


def _list_body(call: Call, page: Page, metadata: JSONObject) -> bytes:
    if call.form.transform == "Table":
        return table.encode(call.context, call.kind, page.items, metadata, call.request.query.text("includeObject"))
    if call.form.transform == "PartialObjectMetadataList":
        items = [orjson.dumps(responses.partial(stored.object)) for stored in page.items]
        return responses.list_of("PartialObjectMetadataList", responses.PARTIAL, items, metadata)
    return responses.list_bytes(call.kind, page.items, metadata)


def _watch(call: Call, bookmark_interval: float) -> watching.Watch:
    query = call.request.query
    initial = query.flag("sendInitialEvents") if query.has("sendInitialEvents") else None
    if initial is not None and query.text("resourceVersionMatch") != "NotOlderThan":
        text = "Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        raise errors.invalid_list_options("resourceVersionMatch", text)
    options = watching.WatchOptions(
        labels=query.text("labelSelector"),
        fields=query.text("fieldSelector"),
        version=query.text("resourceVersion"),
        timeout=query.number("timeoutSeconds") or watching.DEFAULT_TIMEOUT,
        bookmarks=query.flag("allowWatchBookmarks"),
        initial_events=initial,
    )
    return watching.Watch(
        call.context,
        call.kind,
        call.request.namespace,
        options,
        encode=_encoder(call),
        bookmark_interval=bookmark_interval,
    )


def _encoder(call: Call) -> Callable[[Stored], bytes]:
    """How an object is written in the form that the client accepts; of the tables of a watch the first has columns."""
    if call.form.transform == "Table":
        include = call.request.query.text("includeObject")
        told = iter((True,))

        def row(stored: Stored) -> bytes:
            version = {"resourceVersion": str(stored.revision)} if stored.revision else {}  # none in a dry run
            return table.encode(call.context, call.kind, [stored], version, include, columns_told=not next(told, False))

        return row
    if call.form.transform.startswith("Partial"):
        return lambda stored: orjson.dumps(responses.partial(stored.object))
    return lambda stored: responses.object_bytes(call.kind, stored)


def _object(call: Call, stored: Stored, status: int = 200, warnings: list[str] | None = None) -> Response:
    texts = warnings_text(warnings or ())
    return responses.encoded(_encoder(call)(stored), status, call.form, texts)


# --- writing -------------------------------------------------------------------------------------------------------


def write_options(call: Call) -> WriteOptions:
    """The query parameters of a write.

    Raises:
        StatusError: 422, one of them is wrong.
    """
    query = call.request.query
    dry_run = query.text("dryRun")
    if dry_run not in ("", "All"):
        raise errors.invalid_write_options(
            call.request.verb, "dryRun", f'Unsupported value: ["{dry_run}"]: supported values: "All"'
        )
    validation = query.text("fieldValidation") or "Warn"
    if validation not in _VALIDATIONS:
        supported = ", ".join(f'"{value}"' for value in ("", "Ignore", "Strict", "Warn"))
        text = f'Unsupported value: "{validation}": supported values: {supported}'
        raise errors.invalid_write_options(call.request.verb, "fieldValidation", text)
    manager = query.text("fieldManager")
    if len(manager) > _MAX_MANAGER:
        text = f"Too long: may not be more than {_MAX_MANAGER} bytes"
        raise errors.invalid_write_options(call.request.verb, "fieldManager", text)
    manager = manager or call.request.user_agent.partition("/")[0] or "unknown"
    return WriteOptions(manager, dry_run == "All", validation, call.request.subresource)


def _written(call: Call, written: Written, problems: list[str] | None = None) -> Response:
    status = 201 if written.created else 200
    return _object(call, written.stored, status, (problems or []) + list(written.warnings))


def _duplicates(call: Call, options: WriteOptions) -> list[str]:
    """Warnings about fields that the body has twice; an error in strict validation."""
    if options.field_validation == "Ignore":
        return []
    if options.field_validation == "Warn" and len(call.body) > bodies.MAX_CHECKED_FOR_DUPLICATES:
        return []
    problems = [f'duplicate field "{path}"' for path in bodies.duplicate_fields(call.body)]
    if problems and options.field_validation == "Strict":
        raise errors.strict_decoding(call.kind, problems)
    return problems


def _media_type(call: Call) -> str:
    return bodies.content_type(call.request.headers.get("content-type", ""))


def _create(call: Call) -> Response:
    options = write_options(call)
    obj = bodies.read_object(call.body, _media_type(call), call.kind.kind)
    if call.kind.verbs == ("create",):
        return responses.plain(virtual.review(call.kind, obj), 201)
    problems = _duplicates(call, options)
    return _written(call, writing.create(call.context, call.kind, call.request.namespace, obj, options), problems)


def _update(call: Call) -> Response:
    options = write_options(call)
    obj = bodies.read_object(call.body, _media_type(call), call.kind.kind)
    problems = _duplicates(call, options)
    written = writing.replace(call.context, call.place, obj, options)
    return _written(call, written, problems)


def _patch(call: Call) -> Response:
    options = write_options(call)
    request, media_type = call.request, _media_type(call)
    if media_type == patching.APPLY_PATCH:
        written = applying.apply(
            call.context,
            call.place,
            bodies.read_applied(call.body),
            options,
            force=request.query.flag("force"),
            named=request.query.has("fieldManager"),
        )
        return _written(call, written)
    if request.query.has("force"):
        raise errors.invalid_write_options("patch", "force", "Forbidden: may not be specified for non-apply patch")
    patch = patching.read(call.kind, media_type, call.body)
    patched: list[JSONObject] = []

    def make(old: JSONObject) -> JSONObject:
        patched.append(patch.apply(old))
        return patched[-1]

    try:
        written = writing.update(call.context, call.place, make, options, patched=True)
    except errors.StatusError as error:
        problem = errors.decoding_problem(call.kind, error)
        if problem and patched:
            raise errors.invalid_patch(patch.described(patched[-1]), problem) from None
        raise
    return _written(call, written)


def _delete_options(call: Call) -> deleting.DeleteOptions:
    query = call.request.query
    return deleting.DeleteOptions.parse(
        bodies.read_options(call.body, _media_type(call)),
        propagation=query.text("propagationPolicy"),
        dry_run=query.text("dryRun") == "All",
    )


def _delete(call: Call) -> Response:
    request = call.request
    deleted = deleting.delete(call.context, call.place, _delete_options(call))
    if deleted.returns_object:
        return _object(call, deleted.stored)
    details: JSONObject = {"name": request.name}
    if call.kind.group:
        details["group"] = call.kind.group
    details |= {"kind": call.kind.plural, "uid": deleted.stored.object["metadata"]["uid"]}
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
    return responses.plain(status)


def _delete_collection(call: Call) -> Response:
    query = call.request.query
    selection = store.ListOptions(labels=query.text("labelSelector"), fields=query.text("fieldSelector"))
    options = _delete_options(call)
    with call.context.storage.lock:
        page = store.list_page(call.context, call.kind, call.request.namespace, selection)
        deleted = [
            deleting.delete(call.context, Place(call.kind, meta.get("namespace", ""), meta["name"]), options).stored
            for meta in (stored.object["metadata"] for stored in page.items)
        ]
    metadata = {"resourceVersion": str(call.context.storage.revision)}
    return responses.encoded(responses.list_bytes(call.kind, deleted, metadata), form=call.form)


_VERBS: dict[str, Callable[[Call], Response]] = {
    "get": _get,
    "list": _list,
    "create": _create,
    "update": _update,
    "patch": _patch,
    "delete": _delete,
    "deletecollection": _delete_collection,
}


# --- subresources --------------------------------------------------------------------------------------------------


def _subresource(call: Call) -> Response:
    kind, request = call.kind, call.request
    if request.subresource not in kind.subresources or (kind.namespaced and not request.namespace):
        raise errors.unknown_path()
    if request.subresource in ("eviction", "token"):
        return _posted(call)
    if request.verb not in (("update",) if request.subresource == "finalize" else ("get", "update", "patch")):
        raise errors.method_not_allowed()
    if request.subresource == "scale":
        return _scale(call)
    return _VERBS[request.verb](call)


def _posted(call: Call) -> Response:
    """Subresources that only take a POST: an eviction deletes, a token request gets a token."""
    request = call.request
    if request.verb != "create":
        raise errors.method_not_allowed()
    body = bodies.read_object(call.body, _media_type(call), call.kind.kind)
    stored = store.get(call.context, call.place)
    if request.subresource == "token":
        return responses.plain(virtual.token(stored.object, body, call.context.clock()), 201)
    options = deleting.DeleteOptions.parse(
        body.get("deleteOptions") or {}, dry_run=request.query.text("dryRun") == "All"
    )
    deleting.delete(call.context, call.place, options)
    return responses.plain(
        {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}, 201
    )


def _scale(call: Call) -> Response:
    """Read or write ``autoscaling/v1`` Scale instead of the object."""
    request = call.request
    paths = scale.paths(call.context, call.kind)
    if request.verb == "get":
        stored = store.get(call.context, call.place)
        scale.check(stored.object, paths)
    else:
        options = write_options(call)
        change = (
            _replacement(call)
            if request.verb == "update"
            else patching.read(scale.KIND, _media_type(call), call.body).apply
        )
        written = writing.update(
            call.context,
            call.place,
            lambda obj: scale.scaled(obj, change(scale.of(obj, paths)), paths),
            options,
        )
        stored = written.stored
    return responses.plain(scale.of(store.served(call.kind, stored), paths), form=call.form)


def _replacement(call: Call) -> Callable[[JSONObject], JSONObject]:
    """The change that a PUT of a Scale is: whatever was there, the body is there after it."""
    new = writing.check_type(
        call.context, scale.KIND, bodies.read_object(call.body, _media_type(call), scale.KIND.kind)
    )
    return lambda _: new
