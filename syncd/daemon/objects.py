"""Following Sync objects: what the cluster asks for is what the daemon does, within a moment and without a restart.

Level, not edge: a thread looks at every object that is not as it was when it looked last, however it came to be so. One
bad object disturbs no other.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

import structlog

from syncd.cluster import Resource
from syncd.cluster.errors import NotFoundError
from syncd.cluster.pacing import Pace, Pacer
from syncd.cluster.scopes import Scope
from syncd.cluster.watch import KindWatch, Timing
from syncd.daemon.objectstatus import recall
from syncd.daemon.removal import look
from syncd.daemon.statuswriter import StatusWriter
from syncd.model import SyncdError, Write, WriteMethod
from syncd.spec import API_VERSION, KIND, SpecError
from syncd.spec.objects import FINALIZER, REQUESTED_ANNOTATION, parse_ending, parse_object, parse_readable
from syncd.spec.status import parse_status

if TYPE_CHECKING:
    from syncd.cluster import Client, Event
    from syncd.daemon.service import Daemon
    from syncd.model import JSONObject

log = structlog.get_logger("syncd")

_GROUP, _, _VERSION = API_VERSION.partition("/")
_VERBS: Final = frozenset({"get", "list", "patch", "watch"})
SYNCS: Final = Resource(_GROUP, _VERSION, KIND, "syncs", namespaced=True, verbs=_VERBS)
"""How a cluster that has the definition serves Syncs."""
_TIMING: Final = Timing(pace=Pace(first=1.0, cap=5.0))
"""A definition that is not there yet may come at any moment."""
_RETRY: Final = 2.0
"""Seconds until an object is looked at again for which something could not be written."""
_TIMEOUT: Final = 10.0


class Following(NamedTuple):
    """Which Sync objects are followed.

    Attributes:
        namespace: Those of this namespace; all if empty.
    """

    namespace: str = ""


class _Seen(NamedTuple):
    """How an object was when it was looked at last."""

    uid: str
    version: str
    generation: int
    ending: bool
    request: str
    followed: bool


class ObjectFollower:
    """Makes the daemon follow the Sync objects of a cluster.

    Args:
        client: The way to the cluster.
        following: Which of them.
        timing: How long the watch lives and waits.

    Attributes:
        statuses: Writes what comes of them; is to listen to the daemon's board.
    """

    def __init__(self, client: Client, following: Following, *, timing: Timing = _TIMING) -> None:
        self.statuses = StatusWriter(client, SYNCS)
        self._client = client
        self._daemon: Daemon
        self._changed = threading.Condition()
        self._dirty = False
        self._stop = threading.Event()
        self._seen: dict[str, _Seen] = {}
        self._listed = False
        self._lister = ThreadPoolExecutor(1, thread_name_prefix="syncd-objects-list")
        self._watch = KindWatch(
            Scope(SYNCS, following.namespace),
            client=client,
            selector="",
            timing=timing,
            pacer=Pacer(timing.pace),
            lister=self._lister,
            changed=self._changed,
            on_event=self._on_event,
        )
        self._thread = threading.Thread(target=self._run, name="syncd-objects", daemon=True)

    def start(self, daemon: Daemon) -> None:
        """Begin to make this daemon follow them."""
        self._daemon = daemon
        daemon.board.require(self._problem)
        self.statuses.start()
        self._watch.start()
        self._thread.start()

    def stop(self) -> None:
        """Follow no more; what the daemon works on is not touched."""
        self._stop.set()
        self._watch.stop()
        with self._changed:
            self._changed.notify_all()
        self._watch.join(_TIMEOUT)
        if self._thread.ident is not None:
            self._thread.join(_TIMEOUT)
        self._lister.shutdown(wait=False, cancel_futures=True)
        self.statuses.stop()

    def _problem(self) -> str:
        """Why it is not known which Syncs there are; "" once it is."""
        if self._listed:
            return ""
        return f"the cluster's Syncs are not known: {self._watch.problem or 'they have not been read yet'}"

    def _on_event(self, _event: Event) -> None:
        with self._changed:
            self._dirty = True
            self._changed.notify_all()

    def _run(self) -> None:
        again = False
        while not self._stop.is_set():
            with self._changed:
                self._changed.wait_for(self._has_news, _RETRY if again else None)
                self._dirty = False
            if not self._stop.is_set() and not self._watch.pending:
                try:
                    again = not self._look()
                except Exception:  # a thread that dies silently would leave Syncs that nobody follows
                    log.exception("Sync objects could not be looked at, by a defect of syncd")
                    again = True

    def _has_news(self) -> bool:
        first = not self._listed and not self._watch.pending
        return self._stop.is_set() or self._dirty or first

    def _look(self) -> bool:
        """Look at all that has changed; gives whether nothing is left to be done."""
        found = {f"{item.key.namespace}/{item.key.name}": item for item in self._watch.store.objects()}
        done = True
        for sync_id in self._seen.keys() - found.keys():
            self._forget(sync_id)
        for sync_id, item in sorted(found.items()):
            seen = self._seen.get(sync_id)
            if seen is not None and (seen.uid, seen.version) == (item.uid, item.resource_version):
                continue
            try:
                self._take(sync_id, item.parse())
            except SyncdError as error:
                done = False
                log.warning("a Sync object could not be taken up", sync=sync_id, error=str(error))
            except Exception:  # one object's trouble is no other's
                done = False
                log.exception("a Sync object could not be taken up by a defect of syncd", sync=sync_id)
        self._listed = True
        return done

    def _take(self, sync_id: str, obj: JSONObject) -> None:
        """Do what one object asks for now.

        Raises:
            SyncdError: Something could not be written; to be tried again.
        """
        metadata = obj["metadata"]
        seen = self._seen.get(sync_id)
        if seen is not None and seen.uid != metadata["uid"]:
            self._forget(sync_id)
            seen = None
        request = (metadata.get("annotations") or {}).get(REQUESTED_ANNOTATION, "")
        now = _Seen(
            uid=metadata["uid"],
            version=metadata["resourceVersion"],
            generation=metadata["generation"],
            ending="deletionTimestamp" in metadata,
            request=request,
            followed=True,
        )
        if now.ending:
            now = now._replace(followed=self._end(sync_id, obj, seen))
        elif seen is None or seen.generation != now.generation:
            now = now._replace(followed=self._follow(sync_id, obj))
        else:
            now = now._replace(followed=seen.followed)
            if now.followed:
                self._bind(obj)
        if now.followed and not now.ending and request:
            self._request(sync_id, obj, request, seen)
        self._seen[sync_id] = now

    def _follow(self, sync_id: str, obj: JSONObject) -> bool:
        """Have the daemon follow a Sync, if it can be followed."""
        try:
            sync = parse_object(obj)
        except SpecError as error:
            problems = tuple(f"{'.'.join(map(str, item.path))}: {item.message}" for item in error.problems)
            log.warning("a Sync object does not hold", sync=sync_id, problems=problems)
            return self._refuse(obj, problems)
        self._bind(obj)
        self.statuses.follow(obj, sync)
        with suppress(ValueError):  # of a status that makes no sense nothing is known
            self._daemon.board.recall(recall(sync, parse_status(obj.get("status"))))
        self._daemon.put(sync)
        log.info("sync followed", sync=sync_id, generation=obj["metadata"]["generation"], suspended=sync.spec.suspend)
        return True

    def _refuse(self, obj: JSONObject, problems: tuple[str, ...]) -> bool:
        self.statuses.refuse(obj, problems)
        self._daemon.refuse(parse_readable(obj), problems)
        return False

    def _end(self, sync_id: str, obj: JSONObject, seen: _Seen | None) -> bool:
        """Have the daemon bring a Sync to its end, unless that is under way or others only keep the object.

        A person to whom it takes too long may still change the deletion policy.
        """
        if seen is not None and seen.ending and seen.generation == obj["metadata"]["generation"]:
            return seen.followed
        if FINALIZER not in (obj["metadata"].get("finalizers") or ()):
            if seen is not None:
                self._daemon.forget(sync_id)
            return False
        try:
            sync = parse_ending(obj)
        except SpecError as error:
            return self._refuse(obj, (f"it cannot be deleted: {error}",))
        log.info("sync is to end", sync=sync_id, policy=sync.spec.deletion_policy)
        self.statuses.follow(obj, sync)
        self._daemon.end(sync, partial(self._release, obj), partial(look, self._client, obj))
        return True

    def _request(self, sync_id: str, obj: JSONObject, request: str, seen: _Seen | None) -> None:
        """Have a Sync reconciled if a person asks for that in a way that was not answered yet."""
        answered = (obj.get("status") or {}).get("lastHandledRequest", "")
        if request == (seen.request if seen is not None else answered):
            return
        self.statuses.request(sync_id, request)
        self._daemon.trigger(sync_id)

    def _forget(self, sync_id: str) -> None:
        self.statuses.forget(sync_id)
        self._daemon.forget(sync_id)
        del self._seen[sync_id]
        log.info("sync gone", sync=sync_id)

    def _bind(self, obj: JSONObject) -> None:
        """Make sure that the object stays until its end has been seen to, before anything is applied for it."""
        finalizers = obj["metadata"].get("finalizers") or []
        if FINALIZER not in finalizers:
            self._write_finalizers(obj, [*finalizers, FINALIZER])

    def _release(self, obj: JSONObject) -> None:
        """Let the object go.

        Raises:
            ApiError: It could not be written.
        """
        metadata = obj["metadata"]
        try:
            live = self._client.get(SYNCS, metadata["namespace"], metadata["name"], timeout=_TIMEOUT)
        except NotFoundError:
            return
        finalizers = live["metadata"].get("finalizers") or []
        if live["metadata"]["uid"] == metadata["uid"] and FINALIZER in finalizers:
            self._write_finalizers(live, [name for name in finalizers if name != FINALIZER])

    def _write_finalizers(self, obj: JSONObject, finalizers: list[str]) -> None:
        """Write them, on the condition that the object is as it was read."""
        metadata = obj["metadata"]
        body = {"metadata": {"finalizers": finalizers, "resourceVersion": metadata["resourceVersion"]}}
        write = Write(WriteMethod.JSON_MERGE_PATCH, body)
        self._client.patch(SYNCS, metadata["namespace"], metadata["name"], write, timeout=_TIMEOUT)
