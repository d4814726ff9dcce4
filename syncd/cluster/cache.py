"""The live cache: what a cluster holds of everything that is managed, known without asking.

For each kind in use one LIST and one WATCH by the owner label, in all namespaces; or, where RBAC forbids the whole, one
in each namespace that matters. A thread for each waits on its watch; that is the simplest thing that holds a few dozen
kinds, and costs little (bench/live_cache.py measures it).
"""

from __future__ import annotations

import math
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, NamedTuple

import structlog

from syncd.cluster.live import LiveObject
from syncd.cluster.pacing import Pacer
from syncd.cluster.scopes import Wishes
from syncd.cluster.store import KindStore
from syncd.cluster.watch import KindWatch, Timing
from syncd.inventory.names import APPLY_ID_LABEL

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from syncd.cluster.client import Client
    from syncd.cluster.discovery import Resource
    from syncd.cluster.live import Event
    from syncd.cluster.scopes import Scope
    from syncd.model import GroupKind, JSONObject, ObjectKey

log = structlog.get_logger("syncd.cluster")

PARALLEL_LISTS: Final = 2
"""How many kinds are listed at once: a page of parsed objects takes megabytes."""
PATIENCE: Final = 10.0
"""Seconds for which a kind that fails is waited for; a server that restarts is back by then."""


Moment = frozenset[tuple[KindStore, int]]
"""A mark of what is known of one owner's objects: how often those in each store have changed.

The store itself, for what is watched anew counts anew, and might arrive at the same number.
"""


class KindStatus(NamedTuple):
    """How well one kind is known, for metrics and pages. Numbers are since it was first wanted."""

    resource: Resource
    problem: str
    """Why what is known may not be true; "" when it is."""
    objects: int
    lists: int
    watches: int
    """How often a watch was begun."""
    events: int
    failures: int


class LiveCache:
    """The managed objects of one cluster. Safe to use from many threads.

    Args:
        client: The way to the server.
        selector: The label selector that managed objects have.
        timing: How long watches live and wait.
    """

    def __init__(self, client: Client, *, selector: str = APPLY_ID_LABEL, timing: Timing | None = None) -> None:
        self._client = client
        self._selector = selector
        self._timing = timing or Timing()
        self._pacer = Pacer(self._timing.pace)
        self._lister = ThreadPoolExecutor(PARALLEL_LISTS, thread_name_prefix="syncd-live-list")
        self._changed = threading.Condition()
        self._subscribers: tuple[Callable[[Event], None], ...] = ()
        self._wishes = Wishes()
        self._watches: dict[Scope, KindWatch] = {}
        self._by_kind: dict[GroupKind, tuple[KindWatch, ...]] = {}
        """Replaced as a whole, so that reading takes no lock."""
        self._closed = False
        self._flights = threading.Lock()
        self._in_flight: Counter[ObjectKey] = Counter()
        self._held: dict[ObjectKey, list[Event]] = {}
        """Events of objects that a write is on its way to: which of them is its doing, only its answer says."""

    def subscribe(self, callback: Callable[[Event], None]) -> None:
        """Have ``callback`` called for each real change that somebody else makes.

        Not for what a first list finds, nor for what the client of the same cluster wrote. It is called from the thread
        of a watch, or of a write that such a change came together with, and must return soon.
        """
        with self._changed:
            self._subscribers = (*self._subscribers, callback)

    def want(
        self,
        client_id: str,
        resources: Iterable[Resource],
        places: Mapping[GroupKind, frozenset[str]] | None = None,
    ) -> None:
        """Say which kinds a client (a Sync) needs from now on, instead of what it said before.

        Kinds that nobody needs any more are forgotten.

        Args:
            client_id: Who.
            resources: Which kinds.
            places: In which namespaces their objects are. A kind that is named here and may not be read in all
                namespaces at once is read in these.
        """
        with self._changed:
            if self._closed or not self._wishes.put(client_id, resources, places or {}):
                return
            dropped, added = self._rearrange()
        _switch(dropped, added)

    def _rearrange(self) -> tuple[list[KindWatch], list[KindWatch]]:
        """Make the watches those that are needed; gives those to stop and those to start."""
        needed = self._wishes.needed()
        dropped = [self._watches.pop(scope) for scope in self._watches.keys() - needed]
        added = [self._watch(scope) for scope in needed - self._watches.keys()]
        self._watches.update({watch.scope: watch for watch in added})
        self._index()
        self._changed.notify_all()
        return dropped, added

    def _narrow(self, resource: Resource) -> bool:
        """Watch a kind that may not be read in all namespaces at once where it is needed; False if that is unknown."""
        with self._changed:
            if self._closed or not self._wishes.narrow(resource):
                return False
            dropped, added = self._rearrange()
        _switch(dropped, added)
        return True

    def wait_synced(
        self, resources: Iterable[Resource], deadline: float, stop: threading.Event | None = None
    ) -> dict[GroupKind, str]:
        """Wait until these kinds are known, or known to be in trouble.

        Kinds that cannot be watched are listed anew.

        Args:
            resources: What was wanted before.
            deadline: When to wait no longer, on the clock of :func:`time.monotonic`.
            stop: Ends the wait early.

        Returns:
            The kinds whose objects are not known for sure, each with the reason. Nothing may be concluded from an
            object of such a kind not being there.
        """
        resources = frozenset(resources)
        with self._changed:
            watches = self._of(resources)
        for watch in watches:
            watch.ask_again()
        with self._changed:
            while waiting := [pause for watch in self._of(resources) if (pause := _worth_waiting(watch))]:
                rest = min(deadline - time.monotonic(), *waiting)
                if rest <= 0 or self._closed or (stop is not None and stop.is_set()):
                    break
                self._changed.wait(min(rest, 0.2) if stop is not None else rest)
            watches = self._of(resources)
            unwatched = resources - {watch.resource for watch in watches}
            doubts = {watch.resource.group_kind: reason for watch in watches if (reason := _doubt(watch))}
            return {resource.group_kind: _nobody_wants(resource) for resource in unwatched} | doubts

    def _of(self, resources: Collection[Resource]) -> list[KindWatch]:
        return [watch for scope, watch in self._watches.items() if scope.resource in resources]

    def doubt(self, key: ObjectKey, api_version: str = "") -> str:
        """Why what is known of an object, or its not being there, may not be true; "" if it is.

        Args:
            key: Its key.
            api_version: Which version it is read in; any if empty.
        """
        watches = [
            watch
            for watch in self._by_kind.get(key.group_kind, ())
            if api_version in ("", watch.resource.api_version) and watch.scope.covers(key)
        ]
        if not watches:
            return f"{key.display()}: nobody wants it watched"
        return next(filter(None, map(_doubt, watches)), "")

    def get(self, key: ObjectKey, api_version: str = "") -> LiveObject | None:
        """The object as it is known, or None.

        Args:
            key: Its key.
            api_version: Which version it should be read in, where Syncs write the same kind in different ones.
        """
        for watch in self._by_kind.get(key.group_kind, ()):
            if api_version in ("", watch.resource.api_version) and (found := watch.store.get(key)) is not None:
                return found
        return None

    def moment(self, client_id: str, apply_id: str) -> Moment | None:
        """A mark of what is known now of one owner's objects, of the kinds that a client wants.

        Returns:
            Two equal marks say that nothing has changed in between. None if some kind is not known for sure, or
            cannot be watched.
        """
        with self._changed:
            watches = [self._watches[scope] for scope in self._wishes.of(client_id)]
            if any(not watch.watchable or _doubt(watch) for watch in watches):
                return None
            return frozenset((watch.store, watch.store.changes(apply_id)) for watch in watches)

    @staticmethod
    def changed_since(then: Moment, now: Moment, apply_id: str) -> frozenset[ObjectKey] | None:
        """Which of one owner's objects have changed between two moments that :meth:`moment` marked for it, or later.

        Returns:
            Their keys; None if they are too many, or if what is watched is not the same.
        """
        if then == now:
            return frozenset()
        if dict(then).keys() != dict(now).keys():
            return None
        changed: set[ObjectKey] = set()
        for store, count in then:
            keys = store.changed_since(apply_id, count)
            if keys is None:
                return None
            changed |= keys
        return frozenset(changed)

    def of_owner(self, apply_id: str) -> tuple[LiveObject, ...]:
        """Every object of every known kind whose owner label has this value."""
        found = {
            item.key: item
            for watches in self._by_kind.values()
            for watch in watches
            for item in watch.store.objects()
            if item.apply_id == apply_id
        }
        return tuple(found.values())

    def view(self, obj: JSONObject) -> LiveObject:
        """An object that was read otherwise, in the shape that this cache gives out; it is not taken into the cache."""
        return LiveObject(obj)

    def record_write(self, obj: JSONObject) -> None:
        """Take what the server answered to a write, so that it is known at once and its watch event is no news."""
        for watch in self._of_object(obj):
            watch.store.record_write(watch.store.pack(obj))

    def record_deletion(self, key: ObjectKey, uid: str) -> None:
        """Take that an object is gone for good, and not only marked for deletion."""
        for watch in self._by_kind.get(key.group_kind, ()):
            watch.store.record_deletion(key, uid)

    def begin_write(self, key: ObjectKey) -> None:
        """Say that a write to an object is on its way; its event may come before its answer."""
        with self._flights:
            self._in_flight[key] += 1

    def end_write(self, key: ObjectKey, *, written: JSONObject | None = None, deleted: str = "") -> None:
        """Say what came of it.

        Args:
            key: The object.
            written: What the server answered; None if the write failed or was a deletion.
            deleted: The uid that is gone for good, after a deletion.
        """
        if written is not None:
            self.record_write(written)
        if deleted:
            self.record_deletion(key, deleted)
        with self._flights:
            self._in_flight[key] -= 1
            if self._in_flight[key]:
                return
            del self._in_flight[key]
            held = self._held.pop(key, [])
        version = (written or {}).get("metadata", {}).get("resourceVersion")
        for event in held:
            own = (
                event.new.resource_version == version
                if event.new
                else event.old is not None and event.old.uid == deleted
            )
            if not own:
                self._tell(event)

    def kinds(self) -> tuple[KindStatus, ...]:
        """How well each kind is known, sorted."""
        with self._changed:
            return tuple(
                KindStatus(
                    scope.resource, _doubt(watch), len(watch.store),
                    watch.lists, watch.watches, watch.events, watch.failures,
                )
                for scope, watch in self._sorted()
            )  # fmt: skip

    def stop(self) -> None:
        """Begin to end: no watch is begun any more, and open ones end. Does not wait."""
        with self._changed:
            self._closed = True
            watches = list(self._watches.values())
            self._changed.notify_all()
        for watch in watches:
            watch.stop()
        self._lister.shutdown(wait=False, cancel_futures=True)

    def join(self, timeout: float) -> None:
        """Wait until all watches have ended, for so many seconds."""
        end = time.monotonic() + timeout
        for watch in list(self._watches.values()):
            watch.join(max(0.0, end - time.monotonic()))

    def _watch(self, scope: Scope) -> KindWatch:
        return KindWatch(
            scope,
            client=self._client,
            selector=self._selector,
            timing=self._timing,
            pacer=self._pacer,
            lister=self._lister,
            changed=self._changed,
            on_event=self._publish,
            narrow=self._narrow,
        )

    def _sorted(self) -> list[tuple[Scope, KindWatch]]:
        return sorted(self._watches.items(), key=lambda item: (item[0].resource[:5], item[0].namespace))

    def _index(self) -> None:
        by_kind: dict[GroupKind, tuple[KindWatch, ...]] = {}
        for scope, watch in self._sorted():
            kind = scope.resource.group_kind
            by_kind[kind] = (*by_kind.get(kind, ()), watch)
        self._by_kind = by_kind

    def _of_object(self, obj: JSONObject) -> list[KindWatch]:
        namespace = obj["metadata"].get("namespace") or ""
        return [
            watch
            for watch in list(self._watches.values())
            if (watch.resource.api_version, watch.resource.kind) == (obj.get("apiVersion"), obj.get("kind"))
            and watch.scope.namespace in ("", namespace)
        ]

    def _publish(self, event: Event) -> None:
        with self._flights:
            if event.key in self._in_flight:
                self._held.setdefault(event.key, []).append(event)
                return
        self._tell(event)

    def _tell(self, event: Event) -> None:
        for callback in self._subscribers:
            try:
                callback(event)
            except Exception:
                log.exception("a subscriber of the live cache failed", object=event.key.display())


def _switch(dropped: Iterable[KindWatch], added: Iterable[KindWatch]) -> None:
    """End watches and begin others; without the cache's lock, which they take themselves."""
    for watch in dropped:
        watch.stop()
    for watch in added:
        watch.start()


def _worth_waiting(watch: KindWatch) -> float:
    """Seconds for which it makes sense to wait for a kind; 0 if it is known, or will not be soon."""
    if watch.problem:
        return 0.0 if watch.permanent else max(0.0, PATIENCE - (time.monotonic() - watch.failing_since))
    return math.inf if watch.pending else 0.0


def _doubt(watch: KindWatch) -> str:
    if watch.problem:
        return watch.problem
    return f"{watch.scope}: they have not been listed yet" if watch.pending else ""


def _nobody_wants(resource: Resource) -> str:
    return f"{resource.plural}: nobody wants them watched"
