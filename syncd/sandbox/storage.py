"""What etcd is to a real server: states of objects, one revision counter, and a bounded history for watches.

Nothing here knows what an object means. Every state is a JSON object that nobody changes any more; a state of the past
is made by undoing the changes since, so a paged list is consistent without a copy being kept for it.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections import deque
from typing import TYPE_CHECKING, NamedTuple

import orjson

if TYPE_CHECKING:
    from collections.abc import Callable

    from syncd.model import JSONObject
    from syncd.sandbox.kinds import GroupResource

FIRST_REVISION = 1
_TYPE_META = ("kind", "apiVersion")


class Stored:
    """One state of one object.

    Attributes:
        object: The object, never changed in place.
        revision: The revision that made it.
    """

    __slots__ = ("_tail", "object", "revision")

    def __init__(self, obj: JSONObject, revision: int) -> None:
        self.object = obj
        self.revision = revision
        self._tail = b""

    @property
    def tail(self) -> bytes:
        """The encoded object after its opening brace and type: one encoding serves every version and every list."""
        if not self._tail:
            rest = {name: value for name, value in self.object.items() if name not in _TYPE_META}
            self._tail = orjson.dumps(rest)[1:]
        return self._tail


class Change(NamedTuple):
    """One write."""

    type: str
    """``ADDED``, ``MODIFIED`` or ``DELETED``."""
    resource: GroupResource
    stored: Stored
    """The state after it; for a deletion, the last state with the deletion's revision."""
    previous: Stored | None


class History:
    """The last changes of one resource."""

    __slots__ = ("changes", "compacted", "length")

    def __init__(self, length: int) -> None:
        self.changes: deque[Change] = deque()
        self.length = length
        self.compacted = 0
        """The newest revision whose change is forgotten; watches can resume from here, and not from before."""

    def append(self, change: Change) -> None:
        """Remember a change, and forget the oldest beyond the length."""
        self.changes.append(change)
        while len(self.changes) > self.length:
            self.compacted = self.changes.popleft().stored.revision

    def compact(self, revision: int) -> None:
        """Forget everything up to a revision."""
        while self.changes and self.changes[0].stored.revision <= revision:
            self.changes.popleft()
        self.compacted = max(self.compacted, revision)

    def since(self, revision: int) -> list[Change]:
        """The changes after a revision, oldest first."""
        found: list[Change] = []
        for change in reversed(self.changes):
            if change.stored.revision <= revision:
                break
            found.append(change)
        found.reverse()
        return found


class _Table:
    """The objects of one resource, by ``namespace/name`` as etcd orders them."""

    __slots__ = ("history", "listeners", "objects", "ordered")

    def __init__(self, history: int) -> None:
        self.objects: dict[str, Stored] = {}
        self.ordered: list[str] | None = []
        self.history = History(history)
        self.listeners: set[Callable[[Change], None]] = set()

    def keys(self) -> list[str]:
        if self.ordered is None:
            self.ordered = sorted(self.objects)
        return self.ordered


class Storage:
    """All objects of one server. Every method may be called from any thread.

    Args:
        history: How many changes of each resource are kept for watches to resume from.

    Attributes:
        lock: Who reads and then writes what depends on it, or subscribes to what it has read, holds this meanwhile.
    """

    def __init__(self, history: int) -> None:
        self.lock = threading.RLock()
        self.revision = FIRST_REVISION
        self._history = history
        self._tables: dict[GroupResource, _Table] = {}
        self._listeners: set[Callable[[Change], None]] = set()

    def _table(self, resource: GroupResource) -> _Table:
        table = self._tables.get(resource)
        if table is None:
            table = self._tables[resource] = _Table(self._history)
        return table

    # --- reading ---------------------------------------------------------------------------------------------------

    def get(self, resource: GroupResource, namespace: str, name: str) -> Stored | None:
        """The present state of an object."""
        return self._table(resource).objects.get(f"{namespace}/{name}")

    def keys(self, resource: GroupResource, namespace: str = "", after: str = "") -> list[str]:
        """The keys of a resource in order, those of one namespace if one is given, from behind ``after``."""
        with self.lock:
            keys = self._table(resource).keys()
            first = bisect_right(keys, max(after, f"{namespace}/" if namespace else ""))
            if not namespace:
                return keys[first:]
            return keys[first : bisect_right(keys, f"{namespace}/\U0010ffff")]

    def entries(self, resource: GroupResource, namespace: str = "", after: str = "") -> list[tuple[str, Stored]]:
        """Keys and states in order; see :meth:`keys`."""
        with self.lock:
            objects = self._table(resource).objects
            return [(key, objects[key]) for key in self.keys(resource, namespace, after)]

    def entries_at(
        self, resource: GroupResource, revision: int, namespace: str = "", after: str = ""
    ) -> list[tuple[str, Stored]] | None:
        """As :meth:`entries`, at a revision of the past; None when the history does not reach back so far."""
        with self.lock:
            table = self._table(resource)
            if revision < table.history.compacted:
                return None
            changes = table.history.since(revision)
            if not changes:
                return self.entries(resource, namespace, after)
            then = dict(self.entries(resource, namespace, after))
            for change in reversed(changes):
                key = key_of(change.stored.object)
                if key <= after or (namespace and not key.startswith(f"{namespace}/")):
                    continue
                if change.previous is None:
                    then.pop(key, None)
                else:
                    then[key] = change.previous
            return sorted(then.items())

    def namespaced_resources(self, namespace: str) -> list[GroupResource]:
        """The resources that have objects in a namespace."""
        with self.lock:
            return [resource for resource in self._tables if self.keys(resource, namespace)]

    # --- writing ---------------------------------------------------------------------------------------------------

    def put(self, resource: GroupResource, obj: JSONObject) -> Stored:
        """Store an object's new state; its ``metadata.resourceVersion`` is written here."""
        with self.lock:
            table = self._table(resource)
            key = key_of(obj)
            previous = table.objects.get(key)
            stored = self._next(obj)
            table.objects[key] = stored
            if previous is None:
                table.ordered = None
            self._publish(table, Change("MODIFIED" if previous else "ADDED", resource, stored, previous))
            return stored

    def remove(self, resource: GroupResource, obj: JSONObject) -> Stored:
        """Remove an object; ``obj`` is the last state that watches are shown. The object must be there."""
        with self.lock:
            table = self._table(resource)
            previous = table.objects.pop(key_of(obj))
            table.ordered = None
            stored = self._next(obj)
            self._publish(table, Change("DELETED", resource, stored, previous))
            return stored

    def _next(self, obj: JSONObject) -> Stored:
        self.revision += 1
        metadata = obj["metadata"] | {"resourceVersion": str(self.revision)}
        return Stored(obj | {"metadata": metadata}, self.revision)

    # --- watching --------------------------------------------------------------------------------------------------

    def compacted(self, resource: GroupResource) -> int:
        """The revision before which no watch on the resource can resume."""
        return self._table(resource).history.compacted

    def since(self, resource: GroupResource, revision: int) -> list[Change]:
        """The changes of a resource after a revision that is not compacted."""
        with self.lock:
            return self._table(resource).history.since(revision)

    def compact(self) -> None:
        """Forget all history."""
        with self.lock:
            for table in self._tables.values():
                table.history.compact(self.revision)

    def subscribe(self, resource: GroupResource | None, listener: Callable[[Change], None]) -> None:
        """Call ``listener`` on every later change of a resource, or of all; under the lock, so it must be quick."""
        with self.lock:
            (self._table(resource).listeners if resource else self._listeners).add(listener)

    def unsubscribe(self, resource: GroupResource | None, listener: Callable[[Change], None]) -> None:
        """End a subscription; not an error when there is none."""
        with self.lock:
            (self._table(resource).listeners if resource else self._listeners).discard(listener)

    def _publish(self, table: _Table, change: Change) -> None:
        table.history.append(change)
        for listener in (*table.listeners, *self._listeners):
            listener(change)


def key_of(obj: JSONObject) -> str:
    """An object's key within its resource: ``namespace/name``; nothing stands before the slash for cluster scope."""
    metadata = obj["metadata"]
    return f"{metadata.get('namespace', '')}/{metadata['name']}"
