"""The objects of one kind, kept true by lists, watch events and our own writes, in whatever order these arrive.

Two writers feed it: the watch, which is late but complete, and whoever writes objects, who knows the result at once but
only of that one write. The newer resourceVersion wins, and what was deleted does not come back from an older event.
What others did just before a write of ours is news all the same when its event comes late, although the cache knows a
newer state already: that state may hold their change.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict, defaultdict, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from syncd.cluster.live import Event, EventType, LiveObject, as_number, sample_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from syncd.model import JSONObject, ObjectKey

LAST_CHANGES: Final = 1000
"""How many changes of one owner's objects are remembered one by one."""
TOMBSTONES: Final = 10_000
"""How many deletions are remembered, so that a late answer or event does not undo them."""


@dataclass(slots=True)
class _Changes:
    """What has changed of one owner's objects."""

    count: int = 0
    last: deque[ObjectKey] = field(default_factory=lambda: deque(maxlen=LAST_CHANGES))

    def note(self, key: ObjectKey) -> None:
        self.count += 1
        self.last.append(key)


@dataclass(slots=True)
class _Ahead:
    """How far our writes to one object are ahead of its watch."""

    seen: LiveObject | None
    """The last state that the watch (or a list) has shown."""
    versions: set[int] = field(default_factory=set)
    """The versions that are our doing, and that the watch has still to show."""


class KindStore:
    """The objects of one kind. Safe to use from many threads.

    Every method that takes news returns the events that it makes of them: none for what was known already.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._objects: dict[ObjectKey, LiveObject] = {}
        self._tombstones: OrderedDict[str, float] = OrderedDict()
        """By uid, up to which resourceVersion an object is known to be gone; infinity when for good."""
        self._ahead: dict[str, _Ahead] = {}
        """By uid, where our writes have outrun the watch."""
        self._listed = 0
        """The resourceVersion of the last list: what had that or an older one and is not here was gone by then."""
        self._sample = b""
        self._fresh: set[str] = set()
        """The uids that were written or deleted by us since the list in progress began."""
        self._changes: defaultdict[str, _Changes] = defaultdict(_Changes)
        """By owner label, which objects that have it, or had it, were put or dropped."""

    def __len__(self) -> int:
        return len(self._objects)

    def get(self, key: ObjectKey) -> LiveObject | None:
        """The object, or None."""
        return self._objects.get(key)

    def objects(self) -> tuple[LiveObject, ...]:
        """All objects."""
        with self._lock:
            return tuple(self._objects.values())

    def changes(self, apply_id: str) -> int:
        """How often the objects with this owner label have changed so far: equal counts, equal objects."""
        with self._lock:
            return self._changes[apply_id].count

    def changed_since(self, apply_id: str, count: int) -> frozenset[ObjectKey] | None:
        """Which objects with this owner label have changed since there were so many changes; None for too many."""
        with self._lock:
            changes = self._changes[apply_id]
            new = changes.count - count
            return frozenset(list(changes.last)[len(changes.last) - new :]) if 0 <= new <= len(changes.last) else None

    def pack(self, obj: JSONObject) -> LiveObject:
        """Make a live object that shares this kind's sample: the first that has an owner, as all that are kept have."""
        live = LiveObject(obj, self._sample)
        if not self._sample and live.apply_id:
            self._sample = sample_of(obj)
            live = LiveObject(obj, self._sample)
        return live

    def begin_list(self) -> None:
        """Say that a list is being asked for: what we write from now on may not be in it."""
        with self._lock:
            self._fresh.clear()

    def replace(self, found: Iterable[LiveObject], version: str = "") -> list[Event]:
        """Take a whole list, which is the truth but for what we wrote since ``begin_list``.

        Args:
            found: The objects.
            version: The list's resourceVersion.
        """
        listed = {item.key: item for item in found}
        events: list[Event] = []
        with self._lock:
            self._listed = as_number(version)
            for key, gone in list(self._objects.items()):
                if key not in listed and gone.uid not in self._fresh:
                    self._drop(key)
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
            self._ahead = {uid: ahead for uid, ahead in self._ahead.items() if uid in self._fresh}
        return events

    def see(self, new: LiveObject) -> Event | None:
        """Take an object that was added or modified, from a watch event."""
        with self._lock:
            old = self._objects.get(new.key)
            ahead = self._ahead.get(new.uid)
            if ahead is not None and new.version <= max(ahead.versions):
                return self._catch_up(new, ahead)
            self._ahead.pop(new.uid, None)
            return None if self._is_outdated(new, old) else self._put(new, old)

    def _catch_up(self, new: LiveObject, ahead: _Ahead) -> Event | None:
        """Take an event from before our last write: no news of ours, but of what somebody else did in between."""
        seen, ahead.seen = ahead.seen, new
        if new.version == max(ahead.versions):
            del self._ahead[new.uid]
        if new.version in ahead.versions or (seen is not None and new.version <= seen.version):
            return None
        return Event(EventType.ADDED if seen is None else EventType.MODIFIED, new.key, seen, new)

    def see_deleted(self, gone: LiveObject) -> Event | None:
        """Take a deletion from a watch event; ``gone`` has the resourceVersion of the deletion."""
        with self._lock:
            old = self._objects.get(gone.key)
            self._bury(gone.uid, gone.version or math.inf)
            ahead = self._ahead.get(gone.uid)
            if ahead is not None and gone.version >= max(ahead.versions):
                del self._ahead[gone.uid]
            if old is None or old.uid != gone.uid or (gone.version and old.version > gone.version):
                return None
            self._drop(gone.key)
            return Event(EventType.DELETED, gone.key, old, None)

    def record_write(self, new: LiveObject) -> None:
        """Take what a server answered to a write of ours (or to a read)."""
        with self._lock:
            old = self._objects.get(new.key)
            unknown = old is None or old.uid != new.uid
            if self._is_outdated(new, old) or (unknown and 0 < new.version <= self._listed):
                return
            self._fresh.add(new.uid)
            if new.apply_id:
                if new.version:
                    same = old if old is not None and old.uid == new.uid else None
                    self._ahead.setdefault(new.uid, _Ahead(same)).versions.add(new.version)
                self._put(new, old)
                return
            self._ahead.pop(new.uid, None)
            # Without the owner label it is none of this cache's objects any more; with a later version it may be again.
            self._bury(new.uid, new.version)
            self._drop(new.key)

    def record_deletion(self, key: ObjectKey, uid: str) -> None:
        """Take that an object is gone for good; its uid never comes back."""
        with self._lock:
            self._bury(uid, math.inf)
            self._fresh.add(uid)
            self._ahead.pop(uid, None)
            old = self._objects.get(key)
            if old is not None and old.uid == uid:
                self._drop(key)

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
        for apply_id in {new.apply_id, old.apply_id} if old is not None else {new.apply_id}:
            self._changes[apply_id].note(new.key)
        self._tombstones.pop(new.uid, None)
        return Event(EventType.ADDED if old is None else EventType.MODIFIED, new.key, old, new)

    def _drop(self, key: ObjectKey) -> None:
        gone = self._objects.pop(key, None)
        if gone is not None:
            self._changes[gone.apply_id].note(key)

    def _bury(self, uid: str, version: float) -> None:
        self._tombstones[uid] = max(version, self._tombstones.get(uid, 0))
        self._tombstones.move_to_end(uid)
        while len(self._tombstones) > TOMBSTONES:
            self._tombstones.popitem(last=False)
