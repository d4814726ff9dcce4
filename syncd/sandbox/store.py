"""The objects of one server, with the API's rules: what a request may do to them, and what comes of it.

Reads are here; writing.py creates and replaces, deleting.py deletes. All three work on one :class:`Context`, hold its
storage's lock while they read and write, and never change an object in place.
"""

from __future__ import annotations

import base64
import binascii
import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

import orjson

from syncd.sandbox import conversion, errors, selectors
from syncd.sandbox.pipeline import Pipeline
from syncd.sandbox.registry import Registry
from syncd.sandbox.storage import Storage, Stored

if TYPE_CHECKING:
    from collections.abc import Callable

    from syncd.model import JSONObject
    from syncd.sandbox.kinds import ServedKind

DEFAULT_HISTORY = 10_000
"""Changes of each resource that watches can resume from."""


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True)
class Context:
    """What every operation on the objects of one server needs."""

    storage: Storage = field(default_factory=lambda: Storage(DEFAULT_HISTORY))
    registry: Registry = field(default_factory=Registry)
    pipeline: Pipeline = field(default_factory=Pipeline)
    clock: Callable[[], datetime] = _now
    new_uid: Callable[[], str] = lambda: str(uuid.uuid4())


class Place(NamedTuple):
    """Which object: a kind in the version that the client speaks, a namespace ("" for cluster scope) and a name."""

    kind: ServedKind
    namespace: str
    name: str


class ListOptions(NamedTuple):
    """What a list is asked for."""

    labels: str = ""
    fields: str = ""
    limit: int = 0
    token: str = ""
    """A ``continue`` token."""
    version: str = ""
    """``resourceVersion``."""
    match: str = ""
    """``resourceVersionMatch``."""


class Page(NamedTuple):
    """One answer to a list."""

    items: list[Stored]
    revision: int
    token: str = ""
    remaining: int = 0
    """How many items follow; 0 when none, or when a selector makes it unknown."""


def get(context: Context, place: Place) -> Stored:
    """The present state of an object, as it is stored.

    Raises:
        StatusError: 404.
    """
    stored = context.storage.get(place.kind.stored_in, place.namespace, place.name)
    if stored is None:
        raise errors.not_found(place.kind.group_resource, place.name)
    return stored


def served(kind: ServedKind, stored: Stored) -> JSONObject:
    """An object in the version that the client asked for."""
    return conversion.from_storage(kind, stored.object)


def predicate(context: Context, kind: ServedKind, labels: str, fields: str) -> selectors.Predicate | None:
    """The test that two selector parameters mean together; None when they choose everything.

    Raises:
        StatusError: 400, one of them cannot be read.
    """
    by_label = selectors.label_selector(labels)
    by_field = selectors.field_selector(kind, fields, selectable_fields(context, kind)) if fields else None
    if by_label and by_field:
        return lambda obj: by_label(obj) and by_field(obj)
    return by_label or by_field


def selectable_fields(context: Context, kind: ServedKind) -> tuple[str, ...]:
    """The fields that a CustomResourceDefinition lets its objects be selected by."""
    version = custom_version(context, kind)
    return tuple(entry["jsonPath"].removeprefix(".") for entry in version.get("selectableFields", ()))


def custom_version(context: Context, kind: ServedKind) -> JSONObject:
    """What a CustomResourceDefinition says of one version; empty for built-in kinds."""
    if not kind.custom:
        return {}
    definition = context.storage.get(conversion.DEFINITIONS, "", str(kind.group_resource))
    if definition is None:
        return {}
    versions: list[JSONObject] = definition.object["spec"]["versions"]
    return next((version for version in versions if version["name"] == kind.version), {})


def list_page(context: Context, kind: ServedKind, namespace: str, options: ListOptions) -> Page:
    """A list or a page of it, in the order and at the revision that the real server's would have.

    Raises:
        StatusError: 400 for parameters that cannot be read, 410 for a state that is forgotten.
    """
    chosen = predicate(context, kind, options.labels, options.fields)
    with context.storage.lock:
        revision, after = _position(context, options)
        present = revision == context.storage.revision
        resource = kind.stored_in
        if present:
            entries = context.storage.entries(resource, namespace, after)
        else:
            past = context.storage.entries_at(resource, revision, namespace, after)
            if past is None:
                raise _forgotten(options, after)
            entries = past
    if chosen:
        entries = [entry for entry in entries if chosen(entry[1].object)]
    limit = options.limit
    if limit <= 0 or len(entries) <= limit:
        return Page([stored for _, stored in entries], revision)
    token = _token(revision, entries[limit - 1][0])
    remaining = 0 if chosen else len(entries) - limit
    return Page([stored for _, stored in entries[:limit]], revision, token, remaining)


def _position(context: Context, options: ListOptions) -> tuple[int, str]:
    """The revision to list at, and the key to go on from."""
    present = context.storage.revision
    asked = parse_version(options.version)
    _check_match(options)
    if options.token:
        if options.version and asked:
            raise errors.bad_request("specifying resource version is not allowed when using continue")
        revision, after = _read_token(options.token)
        return (present if revision < 0 else revision), after
    if asked > present:
        raise errors.version_too_large(asked, present)
    exact = options.match == "Exact" or (not options.match and options.limit > 0 and asked > 0)
    return (asked if exact else present), ""


def _check_match(options: ListOptions) -> None:
    field = "resourceVersionMatch"
    if not options.match:
        return
    if not options.version:
        raise errors.invalid_list_options(field, f"Forbidden: {field} is forbidden unless resourceVersion is provided")
    if options.match not in ("Exact", "NotOlderThan"):
        text = f'Unsupported value: "{options.match}": supported values: "Exact", "NotOlderThan", ""'
        raise errors.invalid_list_options(field, text)
    if options.match == "Exact" and options.version == "0":
        text = f'Forbidden: {field} "exact" is forbidden for resourceVersion "0"'
        raise errors.invalid_list_options(field, text)


def parse_version(text: str) -> int:
    """A ``resourceVersion`` parameter; 0 when it is empty.

    Raises:
        StatusError: 400, it is no number.
    """
    if not text:
        return 0
    if not text.isdecimal():
        raise errors.bad_request(f"invalid resource version: {errors.unreadable_version(text)}")
    return int(text)


def _token(revision: int, last: str) -> str:
    """A ``continue`` token, in the form of the real server's; -1 as revision means "whatever is there now"."""
    token = {"v": "meta.k8s.io/v1", "rv": revision, "start": f"{last}\u0000"}
    return base64.urlsafe_b64encode(orjson.dumps(token)).decode().rstrip("=")


def _read_token(text: str) -> tuple[int, str]:
    try:
        token = orjson.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        return int(token["rv"]), str(token["start"]).removesuffix("\u0000")
    except (ValueError, KeyError, TypeError, binascii.Error) as error:
        raise errors.bad_request(f"invalid continue token: continue key is not valid: {error}") from None


def _forgotten(options: ListOptions, after: str) -> errors.StatusError:
    if not options.token:
        return errors.expired("The resourceVersion for the provided list is too old.")
    return errors.continue_too_old(_token(-1, after))
