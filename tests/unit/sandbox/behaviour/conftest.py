"""A store with its controllers, without a server in front of it."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from syncd.sandbox import bootstrap, controllers
from syncd.sandbox.kinds import Objects, ServedKind, built_in
from syncd.sandbox.objects import StoreObjects
from syncd.sandbox.store import Context

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DEADLINE = 30.0


class Cluster:
    """The objects of a cluster whose controllers run, and how to wait for what they do."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.objects: Objects = StoreObjects(context)
        self._changed = threading.Event()
        context.storage.subscribe(None, lambda _: self._changed.set())

    def create(self, group: str, kind: str, name: str, **fields: Any) -> dict[str, Any]:
        served = built_in(group, kind)
        metadata = {"name": name} | ({"namespace": "default"} if served.namespaced else {}) | fields.pop("metadata", {})
        obj = {"apiVersion": served.api_version, "kind": kind, "metadata": metadata} | fields
        return self.objects.create(served, obj, manager="test")

    def change(self, obj: dict[str, Any], **fields: Any) -> dict[str, Any]:
        """Change an object's spec, whatever its state is now."""
        kind = self.kind(obj)
        with self.context.storage.lock:
            now = self.get(obj)
            assert now is not None
            return self.objects.update(kind, now | {"spec": now["spec"] | fields}, manager="test")

    def delete(self, obj: dict[str, Any], propagation: str = "Background") -> None:
        metadata = obj["metadata"]
        self.objects.delete(self.kind(obj), metadata.get("namespace", ""), metadata["name"], propagation=propagation)

    def kind(self, obj: dict[str, Any]) -> ServedKind:
        wanted = (obj["apiVersion"], obj["kind"])
        return next(kind for kind in self.objects.kinds() if (kind.api_version, kind.kind) == wanted)

    def get(self, obj: dict[str, Any]) -> dict[str, Any] | None:
        metadata = obj["metadata"]
        found = self.objects.find(self.kind(obj), metadata.get("namespace", ""), metadata["name"])
        return found if found is None or found["metadata"]["uid"] == metadata["uid"] else None

    def all(self, group: str, kind: str, namespace: str = "default") -> list[dict[str, Any]]:
        return self.objects.list(built_in(group, kind), namespace)

    def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds; look again after every change."""
        deadline = time.monotonic() + DEADLINE
        while True:
            self._changed.clear()
            if holds():
                return
            left = deadline - time.monotonic()
            assert left > 0, "it did not come to hold in time"
            self._changed.wait(left)

    def until_gone(self, *objects: dict[str, Any]) -> None:
        self.until(lambda: all(self.get(obj) is None for obj in objects))


@pytest.fixture
def cluster(caplog: pytest.LogCaptureFixture) -> Iterator[Cluster]:
    context = Context()
    bootstrap.fill(context)
    running = controllers.start(StoreObjects(context))
    yield Cluster(context)
    running.stop()
    assert [record.getMessage() for record in caplog.records] == [], "no controller failed"
