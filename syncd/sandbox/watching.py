"""Watches: the changes of one resource as one client wants to see them."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from typing import TYPE_CHECKING, NamedTuple

import orjson

from syncd.sandbox import errors, store
from syncd.sandbox.storage import Stored

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from syncd.model import JSONObject
    from syncd.sandbox.kinds import ServedKind
    from syncd.sandbox.selectors import Predicate
    from syncd.sandbox.storage import Change
    from syncd.sandbox.store import Context

    Encoder = Callable[[Stored], bytes]

INITIAL_EVENTS_END = "k8s.io/initial-events-end"
_LAST_BOOKMARK = 2.0
"""Seconds before its end that a watch gets a bookmark to resume from."""
DEFAULT_TIMEOUT = 1800.0
"""Seconds that a watch lasts when the client does not say."""


class WatchOptions(NamedTuple):
    """What a watch is asked for."""

    labels: str = ""
    fields: str = ""
    version: str = ""
    timeout: float = DEFAULT_TIMEOUT
    bookmarks: bool = False
    initial_events: bool | None = None
    """``sendInitialEvents``."""


class Watch:
    """One open watch. Changes come in from any thread; the events go out in the event loop.

    Args:
        context: The server's objects.
        kind: The kind in the version that the client speaks.
        namespace: "" for all.
        options: What is asked for.
        encode: Writes an object in the form that the client accepts.
        bookmark_interval: Seconds between bookmarks.

    Raises:
        StatusError: 400 or 422, the options cannot be read or contradict each other.
    """

    def __init__(
        self,
        context: Context,
        kind: ServedKind,
        namespace: str,
        options: WatchOptions,
        *,
        encode: Encoder,
        bookmark_interval: float,
    ) -> None:
        self._context = context
        self._kind = kind
        self._namespace = namespace
        self._options = options
        self._encode = encode
        self._bookmark_interval = bookmark_interval
        self._chosen: Predicate | None = store.predicate(context, kind, options.labels, options.fields)
        self._loop = asyncio.get_running_loop()
        self._pending: deque[Change] = deque()
        self._wake = asyncio.Event()
        self._waking = False
        self._ended = False
        if options.version and not options.version.isdecimal():
            raise errors.unreadable_version(options.version)
        self._since = int(options.version or "0")
        self._revision = self._since

    async def events(self, stop: asyncio.Event) -> AsyncIterator[bytes]:
        """Lines of the stream, several at a time; ends at the timeout or when ``stop`` is set."""
        deadline = time.monotonic() + self._options.timeout
        try:
            opening = self._open()
            if opening:
                yield opening
            bookmark = self._next_bookmark(deadline)
            while not (stop.is_set() or self._ended):
                now = time.monotonic()
                if now >= deadline:
                    break
                due = min(deadline, bookmark) if self._options.bookmarks else deadline
                await self._wait(due - now, stop)
                lines = self._drain()
                if lines:
                    yield lines
                if self._options.bookmarks and time.monotonic() >= bookmark:
                    yield self._bookmark()
                    bookmark = self._next_bookmark(deadline)
        except errors.StatusError as error:
            yield b'{"type":"ERROR","object":' + orjson.dumps(error.status()) + b"}\n"

    def _next_bookmark(self, deadline: float) -> float:
        """In an interval, or shortly before the end if that is sooner."""
        now = time.monotonic()
        last = deadline - _LAST_BOOKMARK
        return min(now + self._bookmark_interval, last if last > now else deadline + 1)

    def _open(self) -> bytes:
        """Subscribe, and the events that come before any new change."""
        resource = self._kind.stored_in
        storage = self._context.storage
        with storage.lock:
            lines: list[bytes] = []
            initial = self._options.initial_events
            initial = not self._since if initial is None else initial
            if initial:
                present = storage.entries(resource, self._namespace)
                chosen = self._chosen
                lines = [
                    self._line("ADDED", stored) for _, stored in present if chosen is None or chosen(stored.object)
                ]
                self._revision = storage.revision
            elif self._since:
                compacted = storage.compacted(resource)
                if self._since < compacted:
                    raise errors.too_old(self._since, compacted)
                lines = [line for change in storage.since(resource, self._since) if (line := self._seen(change))]
                self._revision = max(self._since, storage.revision)
            else:
                self._revision = storage.revision
            storage.subscribe(resource, self._listen)
        if initial and self._options.bookmarks:
            lines.append(self._bookmark({"annotations": {INITIAL_EVENTS_END: "true"}}))
        return b"".join(lines)

    def _listen(self, change: Change) -> None:
        """Called under the storage's lock, in the thread of whoever writes."""
        self._pending.append(change)
        if not self._waking:
            self._waking = True
            self._loop.call_soon_threadsafe(self._wake.set)

    async def _wait(self, seconds: float, stop: asyncio.Event) -> None:
        if self._pending or self._ended or stop.is_set():
            return
        handle = self._loop.call_later(seconds, self._wake.set)
        try:
            await self._wake.wait()
        finally:
            handle.cancel()

    def wake(self) -> None:
        """Make the stream look whether it is to stop; only in the event loop."""
        self._wake.set()

    def end(self) -> None:
        """End the stream; only in the event loop."""
        self._ended = True
        self._context.storage.unsubscribe(self._kind.stored_in, self._listen)
        self._wake.set()

    def _drain(self) -> bytes:
        self._wake.clear()
        self._waking = False
        lines: list[bytes] = []
        while self._pending:
            change = self._pending.popleft()
            self._revision = max(self._revision, change.stored.revision)
            line = self._seen(change)
            if line:
                lines.append(line)
        return b"".join(lines)

    def _seen(self, change: Change) -> bytes:
        """A change as it looks through the selectors: an object may come into sight, or leave it."""
        obj = change.stored.object
        if self._namespace and obj["metadata"].get("namespace") != self._namespace:
            return b""
        if change.stored.revision <= self._since:
            return b""
        if self._chosen is None:
            return self._line(change.type, change.stored)
        before = change.previous is not None and self._chosen(change.previous.object)
        after = change.type != "DELETED" and self._chosen(obj)
        if after:
            return self._line("MODIFIED" if before else "ADDED", change.stored)
        if not before or change.previous is None:
            return b""
        return self._line("DELETED", _last_seen(change.previous, change.stored.revision))

    def _line(self, event: str, stored: Stored) -> bytes:
        return b"".join((b'{"type":"', event.encode(), b'","object":', self._encode(stored), b"}\n"))

    def _bookmark(self, metadata: JSONObject | None = None) -> bytes:
        meta = {"resourceVersion": str(self._revision)} | (metadata or {})
        mark = {"kind": self._kind.kind, "apiVersion": self._kind.stored_api_version, "metadata": meta}
        return self._line("BOOKMARK", Stored(mark, self._revision))


def _last_seen(previous: Stored, revision: int) -> Stored:
    """The state that left the selection, with the revision of the change that made it leave."""
    metadata = previous.object["metadata"] | {"resourceVersion": str(revision)}
    return Stored(previous.object | {"metadata": metadata}, revision)
