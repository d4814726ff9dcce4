"""A live cache on a server that fails as it is told to."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from syncd.cluster import Client, Event, EventType, LiveCache
from syncd.cluster.pacing import Pace
from syncd.cluster.watch import Timing
from tests.faults.cluster.fakeapi import Exchange, transport_to
from tests.faults.cluster.fakekube import CONFIG_MAPS, FakeKube, key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from syncd.cluster.discovery import Resource
    from syncd.model import JSONObject, ObjectKey

QUICK = Timing(
    lifetime=(60, 60), short=0.0, list_timeout=5, pace=Pace(first=0.02, cap=0.1, spacing=0.005, follow=0.005)
)


class Watcher:
    """A live cache with its server, and the events that it has told."""

    def __init__(self, server: FakeKube, timing: Timing) -> None:
        self.server = server
        self.transport = transport_to(server.url)
        self.client = Client(self.transport)
        self.cache = LiveCache(self.client, timing=timing)
        self.client.journal = self.cache
        self.events: list[Event] = []
        self._news = threading.Condition()
        self.cache.subscribe(self._take)

    def _take(self, event: Event) -> None:
        with self._news:
            self.events.append(event)
            self._news.notify_all()

    def want(self, *resources: Resource) -> None:
        self.cache.want("sync", resources)

    def doubts(self, *resources: Resource, seconds: float = 30) -> dict[str, str]:
        found = self.cache.wait_synced(resources or (CONFIG_MAPS,), time.monotonic() + seconds)
        return {str(kind): reason for kind, reason in found.items()}

    def until(self, condition: Callable[[], bool]) -> None:
        """Wait until something is so; looks whenever an event comes, and now and then."""
        end = time.monotonic() + 30
        with self._news:
            while not condition():
                assert time.monotonic() < end, "it never came about"
                self._news.wait(0.01)

    def data(self, name: str) -> JSONObject | None:
        found = self.cache.get(key(name))
        return None if found is None else found.parse()["data"]

    def told(self) -> list[tuple[EventType, ObjectKey]]:
        return [(event.type, event.key) for event in self.events]


@contextmanager
def started(server: FakeKube, timing: Timing) -> Iterator[Watcher]:
    watcher = Watcher(server, timing)
    try:
        yield watcher
    finally:
        watcher.cache.stop()
        watcher.transport.close()
        watcher.cache.join(20)


def always(step: Callable[[Exchange], None]) -> Callable[[Exchange], bool]:
    """Answer every request this way."""

    def spoil(exchange: Exchange) -> bool:
        step(exchange)
        return True

    return spoil


def one_watch(line: JSONObject | bytes, answered: threading.Event) -> Callable[[Exchange], bool]:
    """Answer the next watch with this line and the end, and all else as it should be; says when it was answered."""

    def spoil(exchange: Exchange) -> bool:
        if "watch" not in exchange.request.query or answered.is_set():
            return False
        answered.set()
        exchange.begin_stream()
        exchange.line(line)
        exchange.end_stream()
        return True

    return spoil
