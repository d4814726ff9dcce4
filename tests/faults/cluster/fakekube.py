"""A few kinds of a Kubernetes API, lists and watches only, whose every answer a test can spoil."""

from __future__ import annotations

import contextlib
import copy
import threading
from collections import Counter
from typing import TYPE_CHECKING, Any

from syncd.cluster.discovery import Resource
from syncd.inventory.names import APPLY_ID_LABEL, OWNER_ANNOTATION
from syncd.model import ObjectKey
from tests.faults.cluster.fakeapi import FakeAPI, status_object

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.faults.cluster.fakeapi import Exchange, JSONDict

VERBS = frozenset({"get", "list", "watch", "create", "patch", "delete"})
CONFIG_MAPS = Resource("", "v1", "ConfigMap", "configmaps", True, VERBS)


def kind(number: int) -> Resource:
    return Resource("example.com", "v1", f"Kind{number}", f"kind{number}s", True, VERBS)


class FakeKube(FakeAPI):
    def __init__(self) -> None:
        super().__init__(self._answer)
        self.spoil: Callable[[Exchange], bool] | None = None
        """Asked first; True says that it has answered (or not) already."""
        self.page_size = 0
        self.bookmark_at_start = False
        """Each stream begins with a bookmark of a later revision."""
        self.compacted = 0
        self.open_streams = 0
        self._news = threading.Condition()
        self._revision = 100
        self._objects: dict[tuple[str, str], JSONDict] = {}
        self._log: list[tuple[int, str, str, JSONDict]] = []
        self._generation = 0
        self._uids = 0
        self._streams = 0
        self._muted = False
        self._silenced = 0
        """The number of the last stream that says nothing any more."""

    def counts(self) -> Counter[str]:
        """How many requests of which verb there were."""
        return Counter("watch" if "watch" in request.query else "list" for request in self.requests)

    def put(
        self, name: str, data: Any = None, *, resource: Resource = CONFIG_MAPS, owner: str = "me", uid: str = ""
    ) -> JSONDict:
        with self._news:
            self._revision += 1
            old = self._objects.get((resource.plural, name))
            if old is None:
                self._uids += 1
            obj = {
                "metadata": {
                    "name": name,
                    "namespace": "shop",
                    "uid": uid or (old["metadata"]["uid"] if old else f"uid-{self._uids}"),
                    "resourceVersion": str(self._revision),
                    "labels": {APPLY_ID_LABEL: owner},
                    "annotations": {OWNER_ANNOTATION: owner},
                },
                "data": data or {},
            }
            self._objects[resource.plural, name] = obj
            self._record(resource, "MODIFIED" if old else "ADDED", obj)
            return {**copy.deepcopy(obj), "apiVersion": resource.api_version, "kind": resource.kind}

    def remove(self, name: str, resource: Resource = CONFIG_MAPS) -> str:
        with self._news:
            self._revision += 1
            obj = copy.deepcopy(self._objects.pop((resource.plural, name)))
            obj["metadata"]["resourceVersion"] = str(self._revision)
            self._record(resource, "DELETED", obj)
            uid: str = obj["metadata"]["uid"]
            return uid

    def cut_streams(self) -> None:
        with self._news:
            self._generation += 1
            self._news.notify_all()

    def mute(self) -> None:
        """Have every stream that is open now, or is opened before ``unmute``, stay open and silent for ever."""
        with self._news:
            self._muted = True

    def unmute(self) -> None:
        with self._news:
            self._muted = False
            self._silenced = self._streams

    def compact(self) -> None:
        """Forget all history, so that every watch has to begin with a list."""
        with self._news:
            self.compacted = self._revision + 1
            self._revision += 1
            self._log.clear()

    def rewind(self) -> None:
        """Have resourceVersions begin low again, as after a restored backup."""
        with self._news:
            self._revision = 1
            self._log.clear()
            for obj in self._objects.values():
                obj["metadata"]["resourceVersion"] = "1"

    def stop(self) -> None:
        self.cut_streams()
        super().stop()

    def _record(self, resource: Resource, what: str, obj: JSONDict) -> None:
        whole = {"apiVersion": resource.api_version, "kind": resource.kind, **copy.deepcopy(obj)}
        self._log.append((self._revision, resource.plural, what, whole))
        self._news.notify_all()

    def _answer(self, exchange: Exchange) -> None:
        if self.spoil is not None and self.spoil(exchange):
            return
        plural = exchange.request.path.rpartition("/")[2]
        if "watch" in exchange.request.query:
            self._watch(exchange, plural)
        else:
            self._list(exchange, plural)

    def _list(self, exchange: Exchange, plural: str) -> None:
        with self._news:
            items = [copy.deepcopy(obj) for (kind, _), obj in sorted(self._objects.items()) if kind == plural]
            revision = str(self._revision)
        begin = int(exchange.request.query.get("continue") or 0)
        end = begin + self.page_size if self.page_size else len(items)
        metadata = {"resourceVersion": revision, "continue": str(end) if end < len(items) else ""}
        exchange.reply({"kind": "AnyList", "metadata": metadata, "items": items[begin:end]})

    def _watch(self, exchange: Exchange, plural: str) -> None:
        seen = int(exchange.request.query["resourceVersion"])
        if seen < self.compacted:
            exchange.status(410, "Expired", "too old resource version")
            return
        if seen > self._revision:
            causes = [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]
            exchange.status(504, "Timeout", "Too large resource version", causes=causes)
            return
        with self._news:
            generation = self._generation
            self.open_streams += 1
            self._streams += 1
            number = self._streams
            if self.bookmark_at_start:
                self._revision += 5
            bookmark = self._revision
            self._news.notify_all()
        with contextlib.suppress(OSError):
            exchange.begin_stream()
            if self.bookmark_at_start:
                self._bookmark(exchange, bookmark)
            self._follow(exchange, plural, seen, (generation, number))
        with self._news:
            self.open_streams -= 1
            self._news.notify_all()

    def _follow(self, exchange: Exchange, plural: str, seen: int, stream: tuple[int, int]) -> None:
        generation, number = stream
        while not exchange.abandoned():
            with self._news:
                self._news.wait(0.02)
                if self._generation != generation:
                    exchange.cut()
                    return
                silent = self._muted or number <= self._silenced
                news = [] if silent else [entry for entry in self._log if entry[0] > seen]
            for revision, kind, what, obj in news:
                if kind == plural:
                    exchange.line({"type": what, "object": obj})
                seen = revision

    @staticmethod
    def _bookmark(exchange: Exchange, revision: int) -> None:
        metadata = {"resourceVersion": str(revision)}
        exchange.line({"type": "BOOKMARK", "object": {"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata}})

    def wait_streams(self, number: int) -> None:
        """Wait until exactly so many streams are open."""
        with self._news:
            assert self._news.wait_for(lambda: self.open_streams == number, timeout=30)


def key(name: str, resource: Resource = CONFIG_MAPS) -> ObjectKey:
    return ObjectKey("shop", resource.group, resource.kind, name)


EXPIRED_EVENT = {"type": "ERROR", "object": status_object(410, "Expired", "too old resource version: 1 (2)")}
