"""The verbs of the Kubernetes API over plain JSON objects."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from syncd.cluster.errors import MalformedResponseError
from syncd.cluster.transport import JSON
from syncd.model import ObjectKey, WriteMethod

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from syncd.cluster.discovery import Resource
    from syncd.cluster.stream import Stream
    from syncd.cluster.transport import Stop, Transport
    from syncd.model import JSONObject, Write

FIELD_MANAGER: Final = "syncd"
PAGE_SIZE: Final = 500
DEFAULT_TIMEOUT: Final = 30.0
"""Seconds; longer than the 10 that an admission webhook has by default."""

METADATA_ONLY: Final = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"

_CONTENT_TYPES: Final[Mapping[WriteMethod, str]] = {
    WriteMethod.STRATEGIC_MERGE_PATCH: "application/strategic-merge-patch+json",
    WriteMethod.JSON_MERGE_PATCH: "application/merge-patch+json",
    WriteMethod.SERVER_SIDE_APPLY: "application/apply-patch+yaml",
}


class Page(NamedTuple):
    """A part of a list."""

    items: tuple[JSONObject, ...]
    """Whole objects: apiVersion and kind, which servers leave out in lists, are filled in."""
    resource_version: str
    """Of the whole list: where a watch has to begin."""


class Journal(Protocol):
    """Is told of each write, so that its effects are not taken for somebody else's."""

    def begin_write(self, key: ObjectKey) -> None:
        """A write to this object is on its way."""

    def end_write(self, key: ObjectKey, *, written: JSONObject | None = None, deleted: str = "") -> None:
        """It has ended: with this object, or with the deletion of this uid, or it has failed."""


class Client:
    """Reads and writes objects. Safe to use from many threads.

    Every method raises :class:`syncd.cluster.errors.ApiError`, or one of its kinds, when it fails. ``timeout`` is
    seconds for the whole call with all its tries; ``stop`` ends the tries early.

    Args:
        transport: The way to the server.
        field_validation: What the server does about unknown and duplicate fields in what is written: ``Strict``
            refuses them, as kubectl has it by default, ``Warn`` and ``Ignore`` drop them.

    Attributes:
        journal: Told of each write that is no dry run.
    """

    def __init__(self, transport: Transport, *, field_validation: str = "Strict") -> None:
        self.transport = transport
        self.journal: Journal | None = None
        self._field_validation = field_validation

    def get(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        *,
        timeout: float = DEFAULT_TIMEOUT,
        stop: Stop | None = None,
    ) -> JSONObject:
        """Read one object, as it is now."""
        return self.transport.request("GET", resource.path(namespace, name), timeout=timeout, stop=stop).object()

    def create(
        self,
        resource: Resource,
        body: JSONObject,
        *,
        dry_run: bool = False,
        timeout: float = DEFAULT_TIMEOUT,
        stop: Stop | None = None,
    ) -> JSONObject:
        """Create an object, in the namespace that its metadata names; returns it as the server has it."""
        namespace = body["metadata"].get("namespace") or ""
        with self._journalled(resource, namespace, body["metadata"]["name"], dry_run=dry_run) as result:
            response = self.transport.request(
                "POST",
                resource.path(namespace),
                query=self._write_query(dry_run=dry_run),
                body=body,
                timeout=timeout,
                stop=stop,
            )
            result.written = response.object()
            return result.written

    def patch(  # noqa: PLR0913 - the object, the change, and how; what is optional is by keyword
        self,
        resource: Resource,
        namespace: str,
        name: str,
        write: Write,
        *,
        subresource: str = "",
        dry_run: bool = False,
        timeout: float = DEFAULT_TIMEOUT,
        stop: Stop | None = None,
    ) -> JSONObject:
        """Patch an object, or a subresource of it, with ``write``, by its method; returns it as the server has it.

        Server-side apply takes over fields that other managers applied.
        """
        query = self._write_query(dry_run=dry_run)
        if write.method is WriteMethod.SERVER_SIDE_APPLY:
            query["force"] = "true"
        with self._journalled(resource, namespace, name, dry_run=dry_run) as result:
            response = self.transport.request(
                "PATCH",
                resource.path(namespace, name) + (f"/{subresource}" if subresource else ""),
                query=query,
                body=write.body,
                content_type=_CONTENT_TYPES[write.method],
                timeout=timeout,
                stop=stop,
            )
            result.written = response.object()
            return result.written

    def delete(  # noqa: PLR0913 - the object, the conditions, and how; what is optional is by keyword
        self,
        resource: Resource,
        namespace: str,
        name: str,
        write: Write,
        propagation_policy: str = "Background",
        *,
        dry_run: bool = False,
        timeout: float = DEFAULT_TIMEOUT,
        stop: Stop | None = None,
    ) -> JSONObject:
        """Delete an object, on the conditions that ``write`` names.

        Returns:
            A ``kind: Status`` when it is gone, or the object as it was left. One with a ``deletionTimestamp`` may be
            waiting for finalizers: only NotFound, or another uid, says that it is gone.
        """
        options: JSONObject = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": propagation_policy}
        given = {"uid": write.uid, "resourceVersion": write.resource_version}
        if conditions := {name: value for name, value in given.items() if value}:
            options["preconditions"] = conditions
        if dry_run:
            options["dryRun"] = ["All"]
        with self._journalled(resource, namespace, name, dry_run=dry_run) as result:
            response = self.transport.request(
                "DELETE",
                resource.path(namespace, name),
                query={"dryRun": "All"} if dry_run else None,
                body=options,
                timeout=timeout,
                stop=stop,
            )
            answer = response.object()
            if (answer.get("metadata") or {}).get("deletionTimestamp"):
                result.written = answer
            else:
                result.deleted = write.uid
            return answer

    def list(
        self,
        resource: Resource,
        namespace: str = "",
        selector: str = "",
        limit: int = PAGE_SIZE,
        *,
        fields: str = "",
        timeout: float = DEFAULT_TIMEOUT,
        stop: Stop | None = None,
    ) -> Iterator[JSONObject]:
        """Read the objects that have the labels, in all namespaces if none is given, page by page."""
        for page in self.pages(resource, namespace, selector, limit, fields=fields, timeout=timeout, stop=stop):
            yield from page.items

    def list_metadata(
        self,
        resource: Resource,
        namespace: str = "",
        selector: str = "",
        *,
        timeout: float = DEFAULT_TIMEOUT,
        stop: Stop | None = None,
    ) -> Iterator[JSONObject]:
        """Read objects without their contents: apiVersion, kind and metadata.

        For when only names and marks matter: a tenth of the bytes.
        """
        pages = self.pages(resource, namespace, selector, accept=METADATA_ONLY, timeout=timeout, stop=stop)
        for page in pages:
            for item in page.items:
                yield {field: item[field] for field in ("apiVersion", "kind", "metadata")}

    def pages(  # noqa: PLR0913 - what to list, and how; what is optional is by keyword
        self,
        resource: Resource,
        namespace: str = "",
        selector: str = "",
        limit: int = PAGE_SIZE,
        *,
        fields: str = "",
        accept: str = JSON,
        timeout: float = DEFAULT_TIMEOUT,
        stop: Stop | None = None,
        retry: bool = True,
    ) -> Iterator[Page]:
        """Read a list page by page.

        Args:
            resource: What to list.
            namespace: Where; everywhere if empty.
            selector: A label selector.
            limit: Objects in a page; 0 for all in one.
            fields: A field selector, of what the kind lets select.
            accept: In which form.
            timeout: Seconds for each page.
            stop: Ends the tries early.
            retry: Whether to try a page again when it fails.

        Raises:
            ExpiredError: The list took so long that the server forgot it: begin again.
        """
        given = {"labelSelector": selector, "fieldSelector": fields, "limit": str(limit or "")}
        query = {key: value for key, value in given.items() if value}
        while True:
            response = self.transport.request(
                "GET", resource.path(namespace), query=query, accept=accept, timeout=timeout, stop=stop, retry=retry
            )
            page, rest = _page(resource, response.object())
            del response  # a page may be megabytes; the caller may take its time
            yield page
            if not rest:
                return
            query["continue"] = rest

    def watch(
        self,
        resource: Resource,
        resource_version: str,
        selector: str = "",
        *,
        namespace: str = "",
        lifetime: float = 300.0,
        idle: float = 330.0,
        timeout: float = 15.0,
    ) -> Stream:
        """Watch from a resourceVersion on; bookmarks included.

        Args:
            resource: What to watch.
            resource_version: Where to begin: of a list, an event or a bookmark.
            selector: A label selector.
            namespace: Where; everywhere if empty.
            lifetime: Seconds after which the server is to end the stream.
            idle: Seconds without a byte after which it counts as dead.
            timeout: Seconds until it must begin.
        """
        query = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": resource_version,
            "timeoutSeconds": str(max(1, round(lifetime))),
        }
        if selector:
            query["labelSelector"] = selector
        return self.transport.stream(resource.path(namespace), query, timeout=timeout, idle=idle)

    @contextmanager
    def _journalled(self, resource: Resource, namespace: str, name: str, *, dry_run: bool) -> Iterator[_Result]:
        """Tell the journal of a write, whatever comes of it."""
        result = _Result()
        if self.journal is None or dry_run:
            yield result
            return
        key = ObjectKey(namespace if resource.namespaced else "", resource.group, resource.kind, name)
        self.journal.begin_write(key)
        try:
            yield result
        finally:
            self.journal.end_write(key, written=result.written or None, deleted=result.deleted)

    def _write_query(self, *, dry_run: bool) -> dict[str, str]:
        query = {"fieldManager": FIELD_MANAGER, "fieldValidation": self._field_validation}
        if dry_run:
            query["dryRun"] = "All"
        return query


@dataclass(slots=True)
class _Result:
    """What came of one write; neither is set if it failed."""

    written: JSONObject = field(default_factory=dict)
    deleted: str = ""


def _page(resource: Resource, document: JSONObject) -> tuple[Page, str]:
    metadata, items = document.get("metadata") or {}, document.get("items") or ()
    if not str(document.get("kind", "")).endswith("List") or not isinstance(metadata, dict):
        raise MalformedResponseError(f"the server answers a list of {resource.plural} with something else")
    whole = tuple({**item, "apiVersion": resource.api_version, "kind": resource.kind} for item in items)
    return Page(whole, metadata.get("resourceVersion") or ""), metadata.get("continue") or ""
