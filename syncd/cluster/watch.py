"""One kind kept live: a list, then a watch that goes on from it, for as long as somebody wants the kind."""

from __future__ import annotations

import random
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import orjson
import structlog

from syncd.cluster.errors import (
    ApiError,
    ExpiredError,
    ForbiddenError,
    MalformedResponseError,
    ServerError,
    TimedOutError,
    TooManyRequestsError,
    UnreachableError,
    from_status,
)
from syncd.cluster.pacing import Pace
from syncd.cluster.store import KindStore
from syncd.model import SyncdError

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Executor

    from syncd.cluster.client import Client
    from syncd.cluster.discovery import Resource
    from syncd.cluster.live import Event, LiveObject
    from syncd.cluster.pacing import Pacer
    from syncd.cluster.scopes import Scope
    from syncd.cluster.stream import Stream
    from syncd.model import JSONObject

log = structlog.get_logger("syncd.cluster")

OUTAGES: Final = (UnreachableError, TimedOutError, ServerError, TooManyRequestsError)
"""Errors that are about the server and not about one kind."""


@dataclass(frozen=True, slots=True)
class Timing:
    """How long watches live and wait. Times are seconds."""

    lifetime: tuple[float, float] = (240.0, 360.0)
    """After which the server is asked to end a watch, somewhere between, so that not all end together."""
    grace: float = 30.0
    """How much longer than that a silent watch is believed, where the server sends no bookmarks."""
    bookmark_gap: float = 130.0
    """How long a silent watch is believed where it does: a Kubernetes server sends one each minute."""
    short: float = 1.0
    """A watch that ends sooner is a failure, lest a proxy that ends them all make a hot loop."""
    list_timeout: float = 30.0
    """For each page."""
    pace: Pace = field(default_factory=Pace)


class KindWatch:
    """Keeps the objects of one kind that a selector asks for, everywhere or in one namespace.

    ``problem`` is "" while ``store`` is true; it says why it may not be otherwise. ``pending`` is set until the first
    list is there (or, for a kind that cannot be watched, the one that was asked for).
    """

    def __init__(  # noqa: PLR0913 - all that it shares with the other watches, by keyword
        self,
        scope: Scope,
        *,
        client: Client,
        selector: str,
        timing: Timing,
        pacer: Pacer,
        lister: Executor,
        changed: threading.Condition,
        on_event: Callable[[Event], None],
        narrow: Callable[[Resource], bool] = lambda _: False,
    ) -> None:
        """Begin with nothing.

        Args:
            scope: What to list and watch.
            client: The way to the server.
            selector: The label selector of the objects.
            timing: How long watches live and wait.
            pacer: Hands out turns to try again.
            lister: Where lists are read.
            changed: Told when something becomes known, or doubtful.
            on_event: Called for each change by others.
            narrow: Called when the kind may not be read in all namespaces; says whether others read single ones now.
        """
        self.scope = scope
        self.resource = resource = scope.resource
        self.store = KindStore()
        self.pending = True
        self.problem = ""
        self.permanent = False
        """Whether the problem will not pass by itself in a moment."""
        self.failing_since = 0.0
        self.lists = 0
        self.watches = 0
        self.events = 0
        self.failures = 0
        """All failures ever, for metrics."""
        self._client = client
        self._selector = selector
        self._timing = timing
        self._pacer = pacer
        self._lister = lister
        self._changed = changed
        self._on_event = on_event
        self._narrow = narrow
        self._stop = threading.Event()
        self._list_again = threading.Event()
        self._stream: Stream | None = None
        self._resource_version = ""
        self._bookmarks = False
        self._failures_in_a_row = 0
        self._thread = threading.Thread(target=self._run, name=f"syncd-live-{resource.plural}", daemon=True)

    @property
    def watchable(self) -> bool:
        """Whether the kind can be watched; it is listed anew when asked otherwise."""
        return "watch" in self.resource.verbs

    def start(self) -> None:
        """Begin, in a thread of its own."""
        self._thread.start()

    def ask_again(self) -> None:
        """Ask for a new list, if the kind cannot be watched."""
        with self._changed:
            if not self.watchable and not self.pending:
                self.pending = True
                self._list_again.set()

    def stop(self) -> None:
        """End soon; does not wait."""
        self._stop.set()
        self._list_again.set()
        self._pacer.wake()
        with self._changed:
            stream = self._stream
        if stream is not None:
            stream.close()

    def join(self, timeout: float) -> None:
        """Wait until it has ended, for so many seconds."""
        if self._thread.ident is not None:
            self._thread.join(timeout)

    def _run(self) -> None:
        if "list" not in self.resource.verbs:
            with self._changed:
                self.problem, self.permanent = f"{self.scope}: they cannot be listed", True
                self._changed.notify_all()
            return
        while not self._stop.is_set():
            try:
                if not self._resource_version:
                    self._list()
                if self.watchable:
                    self._watch()
                else:
                    self._list_again.wait()
                    self._list_again.clear()
                    self._resource_version = ""
            except SyncdError as error:
                if not self._stop.is_set():
                    self._fail(error)
            except Exception as error:
                if self._stop.is_set():
                    return  # the lister may be gone already
                # A thread that dies silently would leave a cache that looks true
                log.exception("live cache failed", kind=str(self.resource.group_kind))
                self._resource_version = ""
                self._fail(MalformedResponseError(f"it could not be understood: {type(error).__name__}"))

    def _list(self) -> None:
        """Take the whole list.

        A thread that all watches share reads it: each thread in which a page was ever parsed keeps megabytes.
        """
        found, self._resource_version = self._lister.submit(self._read_list).result()
        events = self.store.replace(found, self._resource_version)
        self.lists += 1
        if not self.watchable:
            self._failures_in_a_row = 0
        self._succeed()
        if self.lists > 1:  # the first list is news to nobody: it is what wait_synced waits for
            for event in events:
                self._on_event(event)

    def _read_list(self) -> tuple[list[LiveObject], str]:
        """Read all pages, and where a watch has to go on from; objects are packed as they come."""
        found: list[LiveObject] = []
        version = ""
        self.store.begin_list()
        pages = self._client.pages(
            self.resource,
            self.scope.namespace,
            self._selector,
            timeout=self._timing.list_timeout,
            stop=self._stop,
            retry=False,
        )
        for page in pages:
            version = page.resource_version
            found.extend(self.store.pack(item) for item in page.items)
        return found, version or "0"

    def _watch(self) -> None:
        """Follow the changes until the server ends the watch."""
        timing = self._timing
        lifetime = random.uniform(*timing.lifetime)  # noqa: S311 - spread, not cryptography
        idle = min(timing.bookmark_gap, lifetime + timing.grace) if self._bookmarks else lifetime + timing.grace
        opened = time.monotonic()
        with self._client.watch(
            self.resource,
            self._resource_version,
            self._selector,
            namespace=self.scope.namespace,
            lifetime=lifetime,
            idle=idle,
        ) as stream:
            with self._changed:
                self._stream = stream
            try:
                if self._stop.is_set():
                    return
                self.watches += 1
                self._succeed()
                for line in stream:
                    self._take(line)
            finally:
                with self._changed:
                    self._stream = None
                long = time.monotonic() - opened >= timing.short
                if long:
                    self._failures_in_a_row = 0
        if not long and not self._stop.is_set():
            raise UnreachableError("the server ends each watch at once")

    def _take(self, line: bytes) -> None:
        """Take one line of a watch."""
        try:
            event = orjson.loads(line)
            kind, obj = event["type"], event["object"]
            metadata = obj.get("metadata") or {}
        except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError):
            raise MalformedResponseError("a watch event is not what it should be") from None
        if kind == "ERROR":
            raise from_status(obj, int(obj.get("code") or 500))
        self._failures_in_a_row = 0
        if kind == "BOOKMARK":
            self._bookmarks = True
        else:
            self._take_object(kind, obj)
        self._resource_version = metadata.get("resourceVersion") or self._resource_version

    def _take_object(self, kind: str, obj: JSONObject) -> None:
        self.events += 1
        live = self.store.pack(obj)
        event = self.store.see_deleted(live) if kind == "DELETED" else self.store.see(live)
        if event is not None:
            self._on_event(event)

    def _succeed(self) -> None:
        """Note that the store is true again.

        The failures are not forgotten yet: a server that answers lists and ends every watch has not recovered.
        """
        with self._changed:
            self.pending = False
            self.problem = ""
            self.permanent = False
            self._changed.notify_all()
        if self._failures_in_a_row:
            self._pacer.recovered()

    def _fail(self, error: SyncdError) -> None:
        """Note why the store may not be true, and wait for a turn to try again."""
        if isinstance(error, ForbiddenError) and not self.scope.namespace and self._narrow(self.resource):
            return  # others do it now, each in one namespace
        expired = isinstance(error, ExpiredError)
        if expired:
            self._resource_version = ""
        self.failures += 1
        self._failures_in_a_row += 1
        with self._changed:
            if not self.problem:
                self.failing_since = time.monotonic()
            self.problem = f"{self.scope}: {error}"
            self.permanent = isinstance(error, ApiError) and not error.transient and not expired
            self._changed.notify_all()
        if expired and self._failures_in_a_row == 1:
            return  # that happens; a fresh list puts it right
        outage = isinstance(error, OUTAGES)
        if self._failures_in_a_row == 1:
            log.warning("live cache interrupted", kind=str(self.resource.group_kind), error=str(error))
        asked = (error.retry_after if isinstance(error, ApiError) else None) or 0.0
        self._pacer.wait(self._failures_in_a_row, self._stop, at_least=min(asked, 60.0), alone=not outage)
