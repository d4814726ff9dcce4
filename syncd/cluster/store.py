"""The objects of one kind, kept true by lists, watch events and our own writes, in whatever order these arrive.

Two writers feed it: the watch, which is late but complete, and whoever writes objects, who knows the result at once but
only of that one write. The newer resourceVersion wins, and what was deleted does not come back from an older event.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Final

from syncd.cluster.live import Event, EventType, LiveObject, sample_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from syncd.model import JSONObject, ObjectKey

TOMBSTONES: Final = 10_000
"""How many deletions are remembered, so that a late answer or event does not undo them."""


class KindStore:
    """The objects of one kind. Safe to use from many threads.

    Every method that takes news returns the events that it makes of them: none for what was known already.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._objects: dict[ObjectKey, LiveObject] = {}
        self._tombstones: OrderedDict[str, float] = OrderedDict()
        """By uid, up to which resourceVersion an object is known to be gone; infinity when for good."""
        self._sample = b""
        self._fresh: set[str] = set()
        """The uids that were written or deleted by us since the list in progress began."""

    def __len__(self) -> int:
        return len(self._objects)

    def get(self, key: ObjectKey) -> LiveObject | None:
        """The object, or None."""
        return self._objects.get(key)

    def objects(self) -> tuple[LiveObject, ...]:
        """All objects."""
        with self._lock:
            return tuple(self._objects.values())

    def pack(self, obj: JSONObject) -> LiveObject:
        """Make a live object that shares this kind's sample."""
        if not self._sample:
            self._sample = sample_of(obj)
        return LiveObject(obj, self._sample)

    def begin_list(self) -> None:
        """Say that a list is being asked for: what we write from now on may not be in it."""
        with self._lock:
            self._fresh.clear()

    def replace(self, found: Iterable[LiveObject]) -> list[Event]:
        """Take a whole list, which is the truth but for what we wrote since ``begin_list``."""
        listed = {item.key: item for item in found}
        events: list[Event] = []
        with self._lock:
            for key, gone in list(self._objects.items()):
                if key not in listed and gone.uid not in self._fresh:
                    del self._objects[key]
                    events.append(Event(EventType.DELETED, key, gone, None))
            for key, new in listed.items():
                old = self._objects.get(key)
                if new.uid in self._fresh and self._is_outdated(new, old):
                    continue
                self._tombstones.pop(new.uid, None)
                if old is not None and (old.uid, old.resource_version) == (new.uid, new.resource_version):
                    continue
                if old is not None and old.uid in self._fresh and old.version > new.version:
                    continue  # recreated by us since
                events.append(self._put(new, old))
        return events

    def see(self, new: LiveObject) -> Event | None:
        """Take an object that was added or modified, from a watch event."""
        with self._lock:
            old = self._objects.get(new.key)
            return None if self._is_outdated(new, old) else self._put(new, old)

    def see_deleted(self, gone: LiveObject) -> Event | None:
        """Take a deletion from a watch event; ``gone`` has the resourceVersion of the deletion."""
        with self._lock:
            old = self._objects.get(gone.key)
            self._bury(gone.uid, gone.version or math.inf)
            if old is None or old.uid != gone.uid or (gone.version and old.version > gone.version):
                return None
            del self._objects[gone.key]
            return Event(EventType.DELETED, gone.key, old, None)

    def record_write(self, new: LiveObject) -> None:
        """Take what a server answered to a write of ours (or to a read)."""
        with self._lock:
            old = self._objects.get(new.key)
            if self._is_outdated(new, old):
                return
            self._fresh.add(new.uid)
            if new.apply_id:
                self._put(new, old)
                return
            # Without the owner label it is none of this cache's objects any more; with a later version it may be again.
            self._bury(new.uid, new.version)
            self._objects.pop(new.key, None)

    def record_deletion(self, key: ObjectKey, uid: str) -> None:
        """Take that an object is gone for good; its uid never comes back."""
        with self._lock:
            self._bury(uid, math.inf)
            self._fresh.add(uid)
            old = self._objects.get(key)
            if old is not None and old.uid == uid:
                del self._objects[key]

    def _is_outdated(self, new: LiveObject, old: LiveObject | None) -> bool:
        if (buried := self._tombstones.get(new.uid)) is not None and new.version <= buried:
            return True
        if old is None:
            return False
        if new.version and old.version:
            return new.version <= old.version
        return (new.uid, new.resource_version) == (old.uid, old.resource_version)

    def _put(self, new: LiveObject, old: LiveObject | None) -> Event:
        self._objects[new.key] = new
        self._tombstones.pop(new.uid, None)
        return Event(EventType.ADDED if old is None else EventType.MODIFIED, new.key, old, new)

    def _bury(self, uid: str, version: float) -> None:
        self._tombstones[uid] = max(version, self._tombstones.get(uid, 0))
        self._tombstones.move_to_end(uid)
        while len(self._tombstones) > TOMBSTONES:
            self._tombstones.popitem(last=False)
