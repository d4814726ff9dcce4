"""The store as controllers and tests use it: the :class:`~syncd.sandbox.kinds.Objects` protocol."""

from __future__ import annotations

import queue
from typing import TYPE_CHECKING

from syncd.sandbox import deleting, selectors, writing
from syncd.sandbox.kinds import Event, GroupResource, ServedKind
from syncd.sandbox.pipeline import WriteOptions
from syncd.sandbox.store import Place

if TYPE_CHECKING:
    import builtins

    from syncd.model import JSONObject
    from syncd.sandbox.storage import Change
    from syncd.sandbox.store import Context


class StoreObjects:
    """See :class:`~syncd.sandbox.kinds.Objects`."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def kinds(self) -> tuple[ServedKind, ...]:
        """Every kind, in the version that its objects are stored in."""
        return self._context.registry.stored_kinds()

    def find(self, kind: ServedKind, namespace: str, name: str) -> JSONObject | None:
        """One object; None when it is not there."""
        stored = self._context.storage.get(kind.stored_in, namespace, name)
        return stored.object if stored else None

    def list(self, kind: ServedKind, namespace: str = "", selector: str = "") -> builtins.list[JSONObject]:
        """All objects of a kind that a label selector chooses."""
        chosen = selectors.label_selector(selector)
        entries = self._context.storage.entries(kind.stored_in, namespace)
        return [stored.object for _, stored in entries if chosen is None or chosen(stored.object)]

    def create(self, kind: ServedKind, obj: JSONObject, *, manager: str) -> JSONObject:
        """Create an object."""
        namespace = obj["metadata"].get("namespace", "")
        return writing.create(self._context, kind, namespace, obj, _options(manager)).stored.object

    def update(self, kind: ServedKind, obj: JSONObject, *, manager: str, subresource: str = "") -> JSONObject:
        """Replace an object, or only its status."""
        meta = obj["metadata"]
        options = _options(manager, subresource)
        written = writing.update(
            self._context, Place(kind, meta.get("namespace", ""), meta["name"]), lambda _: obj, options
        )
        return written.stored.object

    def delete(
        self, kind: ServedKind, namespace: str, name: str, *, uid: str = "", propagation: str = "Background"
    ) -> None:
        """Delete an object."""
        options = deleting.DeleteOptions(uid=uid, propagation=propagation)
        deleting.delete(self._context, Place(kind, namespace, name), options)

    def watch(self, *kinds: ServedKind) -> StoreEvents:
        """Follow these kinds; without any, every kind."""
        return StoreEvents(self._context, kinds)


def _options(manager: str, subresource: str = "") -> WriteOptions:
    return WriteOptions(manager=manager, field_validation="Ignore", subresource=subresource)


class StoreEvents:
    """See :class:`~syncd.sandbox.kinds.Events`."""

    def __init__(self, context: Context, kinds: tuple[ServedKind, ...]) -> None:
        self._context = context
        self._resources: builtins.list[GroupResource | None] = [kind.stored_in for kind in kinds] or [None]
        self._queue: queue.SimpleQueue[Event | None] = queue.SimpleQueue()
        self._closed = False
        storage = context.storage
        with storage.lock:
            for kind in kinds or context.registry.stored_kinds():
                for _, stored in storage.entries(kind.stored_in):
                    self._queue.put(Event("ADDED", kind, stored.object))
            for resource in self._resources:
                storage.subscribe(resource, self._listen)

    def _listen(self, change: Change) -> None:
        kind = self._context.registry.stored(change.resource)
        if kind is not None:
            previous = change.previous.object if change.previous else None
            self._queue.put(Event(change.type, kind, change.stored.object, previous))

    def next(self, timeout: float | None = None) -> Event | None:
        """The next event; None at the timeout or after :meth:`close`."""
        if self._closed:
            return None
        try:
            return self._queue.get(timeout=timeout)
        except queue.Empty:
            return None

    def close(self) -> None:
        """End the watch."""
        self._closed = True
        for resource in self._resources:
            self._context.storage.unsubscribe(resource, self._listen)
        self._queue.put(None)
