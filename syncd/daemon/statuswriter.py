"""Writing the status of Sync objects: what changed, once, and never in the way of a reconcile."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import structlog

from syncd.cluster.errors import ConflictError, NotFoundError
from syncd.daemon import objectstatus
from syncd.daemon.ending import TERMINATING
from syncd.daemon.objectstatus import Subject
from syncd.daemon.status import Listener
from syncd.model import SyncdError, Write, WriteMethod
from syncd.spec.status import SyncObjectStatus, parse_status

if TYPE_CHECKING:
    from syncd.cluster import Client, Resource
    from syncd.daemon.status import DriftRecord, SyncStatus
    from syncd.model import JSONObject
    from syncd.spec import Sync

log = structlog.get_logger("syncd")

_PATIENCE: Final = 1.0
"""Seconds for which a change that is not the end of a reconcile waits: most reconciles end sooner."""
_NUMBERS: Final = ("counts", "objects")
"""Parts that leave out what is 0."""
_RETRY: Final = 5.0
_TIMEOUT: Final = 10.0
"""Seconds that one write may take."""


@dataclass(slots=True)
class _Entry:
    """What is known of one object."""

    namespace: str
    name: str
    uid: str
    generation: int
    written: SyncObjectStatus
    """What its status says, as far as is known."""
    sync: Sync | None
    problems: tuple[str, ...] = ()
    status: SyncStatus | None = None
    judged: bool = False
    """Whether a reconcile of what it asks for now has ended."""
    asked: str = ""
    in_hand: str = ""
    handled: str = ""


class StatusWriter(Listener):
    """Keeps the status of Sync objects true, in a thread of its own. Safe to use from many threads.

    It listens to a daemon's board; what it writes is merged by server-side apply, so it conflicts with nobody.
    """

    def __init__(self, client: Client, resource: Resource) -> None:
        """Begin; ``resource`` is how the cluster serves Syncs."""
        self._client = client
        self._resource = resource
        self._changed = threading.Condition()
        self._entries: dict[str, _Entry] = {}
        self._due: dict[str, float] = {}
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="syncd-status", daemon=True)

    def start(self) -> None:
        """Begin to write."""
        self._thread.start()

    def stop(self, timeout: float = _TIMEOUT) -> None:
        """Write what is still to be written, and end; waits so many seconds for that."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        if self._thread.ident is not None:
            self._thread.join(timeout)

    # --- told by who follows the objects ---------------------------------------------------------------------------

    def follow(self, obj: JSONObject, sync: Sync) -> None:
        """An object is there, and asks for this from now on."""
        self._take(obj, sync, ())

    def refuse(self, obj: JSONObject, problems: tuple[str, ...]) -> None:
        """An object is there, and cannot be followed."""
        self._take(obj, None, problems)

    def request(self, sync_id: str, value: str) -> None:
        """A person has asked for a reconcile by this value; the next one that begins answers that."""
        with self._changed:
            if (entry := self._entries.get(sync_id)) is not None:
                entry.asked = value

    def uid_of(self, sync_id: str) -> str:
        """The uid of an object; "" if there is none."""
        with self._changed:
            entry = self._entries.get(sync_id)
            return entry.uid if entry is not None else ""

    def forget(self, sync_id: str) -> None:
        """An object is gone."""
        with self._changed:
            self._entries.pop(sync_id, None)
            self._due.pop(sync_id, None)

    def _take(self, obj: JSONObject, sync: Sync | None, problems: tuple[str, ...]) -> None:
        metadata = obj["metadata"]
        sync_id = f"{metadata['namespace']}/{metadata['name']}"
        with self._changed:
            before = self._entries.get(sync_id)
            if before is not None and before.uid == metadata["uid"]:
                written, asked, handled = before.written, before.asked, before.handled
            else:
                written, asked, handled = parse_status(obj.get("status")), "", ""
            self._entries[sync_id] = _Entry(
                namespace=metadata["namespace"],
                name=metadata["name"],
                uid=metadata["uid"],
                generation=metadata["generation"],
                written=written,
                sync=sync,
                problems=problems,
                asked=asked,
                handled=handled,
            )
            suspended = sync is not None and sync.spec.suspend
            self._mark(sync_id, 0.0 if problems or suspended else _PATIENCE)

    # --- told by the board -------------------------------------------------------------------------------------------

    def status_changed(self, status: SyncStatus) -> None:
        """A Sync's snapshot was replaced."""
        with self._changed:
            entry = self._entries.get(status.id)
            if entry is None or entry.sync is not status.sync:
                return
            entry.status = status
            if status.reconciling:
                entry.in_hand = entry.asked
            self._mark(status.id, _PATIENCE)

    def reconciled(self, status: SyncStatus) -> None:
        """A reconcile has ended."""
        with self._changed:
            entry = self._entries.get(status.id)
            if entry is None or entry.sync is not status.sync:
                return
            entry.status, entry.judged = status, True
            entry.handled = entry.in_hand or entry.handled
            self._mark(status.id, 0.0)

    def drift_found(self, sync: Sync, record: DriftRecord) -> None:
        """A drift was noticed; the status that follows has it."""

    def sync_removed(self, sync_id: str) -> None:
        """A Sync is no more; its object may still be there, and have something to say."""

    # --- writing -----------------------------------------------------------------------------------------------------

    def _mark(self, sync_id: str, delay: float) -> None:
        due = time.monotonic() + delay
        self._due[sync_id] = min(due, self._due.get(sync_id, due))
        self._changed.notify_all()

    def _run(self) -> None:
        while True:
            with self._changed:
                while (sync_id := self._next()) is None and not self._stopping:
                    self._changed.wait(min(self._due.values()) - time.monotonic() if self._due else None)
                if sync_id is None:
                    return
                self._due.pop(sync_id, None)
                entry = self._entries.get(sync_id)
                wanted = _wanted(entry) if entry is not None else None
            if entry is None or wanted is None or wanted == entry.written:
                continue
            try:
                self._write(entry, wanted)
            except (NotFoundError, ConflictError):
                log.debug("the Sync object is gone", sync=sync_id)
            except SyncdError as error:
                log.warning("status not written", sync=sync_id, error=str(error))
                self._again(sync_id)
            except Exception:  # whatever it is, the next one is another Sync's
                log.exception("status not written, by a defect of syncd", sync=sync_id)
                self._again(sync_id)

    def _next(self) -> str | None:
        """The Sync whose turn it is now; at the end, of what is left, the one that waits longest."""
        if not self._due:
            return None
        sync_id = min(self._due, key=self._due.__getitem__)
        return sync_id if self._stopping or self._due[sync_id] <= time.monotonic() else None

    def _again(self, sync_id: str) -> None:
        with self._changed:
            if not self._stopping and sync_id in self._entries:
                self._mark(sync_id, _RETRY)

    def _write(self, entry: _Entry, wanted: SyncObjectStatus) -> None:
        document = {
            "apiVersion": self._resource.api_version,
            "kind": self._resource.kind,
            # With the uid it is refused if the object has been deleted and made anew meanwhile.
            "metadata": {"name": entry.name, "namespace": entry.namespace, "uid": entry.uid},
            "status": _dense(wanted.model_dump(mode="json", by_alias=True, exclude_none=True)),
        }
        write = Write(WriteMethod.SERVER_SIDE_APPLY, document)
        self._client.patch(self._resource, entry.namespace, entry.name, write, subresource="status", timeout=_TIMEOUT)
        with self._changed:
            entry.written = wanted
            now = self._entries.get(f"{entry.namespace}/{entry.name}")
            if now is not None and now.uid == entry.uid:
                now.written = wanted


def _wanted(entry: _Entry) -> SyncObjectStatus:
    """What the status should say now."""
    now = datetime.now(UTC)
    subject = Subject(entry.generation, entry.written, entry.handled)
    if entry.problems:
        return objectstatus.invalid(subject, entry.problems, now)
    if entry.status is not None and (entry.judged or entry.status.reason == TERMINATING):
        return objectstatus.reconciled(subject, entry.status, now)
    suspended = entry.sync is not None and entry.sync.spec.suspend
    if not suspended and entry.written.observed_generation == entry.generation:
        return entry.written  # the daemon has only been restarted
    return objectstatus.pending(subject, now, suspended=suspended)


def _dense(value: Any) -> Any:
    """Leave out what is empty."""
    if isinstance(value, dict):
        dense = {name: _some(item) if name in _NUMBERS else _dense(item) for name, item in value.items()}
        return {name: item for name, item in dense.items() if item not in ("", [], {})}
    return [_dense(item) for item in value] if isinstance(value, list) else value


def _some(numbers: Any) -> Any:
    return (
        {name: number for name, number in numbers.items() if number} if isinstance(numbers, dict) else _dense(numbers)
    )
