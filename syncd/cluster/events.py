"""Kubernetes events: written beside the work, never in its way; equal ones are one event that is counted.

They are what ``kubectl describe`` and ``kubectl get events`` show. They may be lost: the queue is bounded, each source
has a rate, and a write that fails is given up. The API is events.k8s.io/v1, whose series say how often something
happened; kubectl and the core API read the same objects.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections import OrderedDict, deque
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import structlog

from syncd.cluster.discovery import Resource
from syncd.cluster.errors import ForbiddenError, NotFoundError
from syncd.model import SyncdError, Write, WriteMethod

if TYPE_CHECKING:
    from collections.abc import Callable

    from syncd.cluster.client import Client
    from syncd.model import JSONObject

log = structlog.get_logger("syncd.cluster")

_VERBS: Final = frozenset({"create", "patch"})
EVENTS: Final = Resource("events.k8s.io", "v1", "Event", "events", namespaced=True, verbs=_VERBS)
CONTROLLER: Final = "syncd.dev/syncd"
NOTE_LENGTH: Final = 1024
"""Bytes that a note may have at most, as the API server counts them."""
_NAME_LENGTH: Final = 200
_TIMEOUT: Final = 5.0
_WAITING: Final = 1000
"""Events that wait at most; what comes when so many do is lost."""
_REMEMBERED: Final = 2000
"""Events that equal ones are still counted on."""
_SERIES: Final = 600.0
"""Seconds after which an equal event is a new one."""
_BURST: Final = 30
"""Events of one source in a row, and then one each so many seconds."""
_REFILL: Final = 10.0


class Reference(NamedTuple):
    """The object that an event is about; ``uid`` may be "" when it is not known."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str = ""


class Note(NamedTuple):
    """One thing that happened.

    Attributes:
        regarding: To which object.
        type: Whether that is as it should be.
        reason: What happened, as a CamelCase word.
        action: What was done or tried, as a CamelCase word.
        text: What happened, as a sentence.
        source: On whose account: each source has a rate of its own.
    """

    regarding: Reference
    type: Literal["Normal", "Warning"]
    reason: str
    action: str
    text: str
    source: str


@dataclass(slots=True)
class _Series:
    """An event on the server, and how often it has happened since."""

    namespace: str
    name: str
    last: float
    count: int = 1


@dataclass(slots=True)
class _Bucket:
    """What one source may still send."""

    left: float
    at: float


@dataclass(slots=True)
class Recorder:
    """Writes events in a thread of its own. Safe to use from many threads; recording never waits.

    Attributes:
        client: The way to the server.
        instance: Who reports: the name of this process.
        clock: Seconds on a clock that never goes back.
        dropped: How many were lost because there were too many.
    """

    client: Client
    instance: str
    clock: Callable[[], float] = time.monotonic
    dropped: int = 0
    _queue: deque[Note] = field(default_factory=deque)
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _buckets: dict[str, _Bucket] = field(default_factory=dict)
    _known: OrderedDict[Note, _Series] = field(default_factory=OrderedDict)
    _stopping: bool = False
    _thread: threading.Thread | None = None
    _forbidden: bool = False

    def start(self) -> None:
        """Begin to write."""
        self._thread = threading.Thread(target=self._run, name="syncd-events", daemon=True)
        self._thread.start()

    def stop(self, timeout: float = _TIMEOUT) -> None:
        """Write what waits, as far as that goes in so many seconds, and end."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join(timeout)
        with self._changed:
            self._queue.clear()

    def record(self, note: Note) -> None:
        """Have an event written soon, if there is room and the source has not had its share."""
        with self._changed:
            if self._stopping or len(self._queue) >= _WAITING or not self._may_send(note.source):
                self.dropped += 1
                return
            self._queue.append(note._replace(text=_cut(note.text)))
            self._changed.notify_all()

    def forget(self, source: str) -> None:
        """A source is no more."""
        with self._changed:
            self._buckets.pop(source, None)

    def _may_send(self, source: str) -> bool:
        now = self.clock()
        bucket = self._buckets.setdefault(source, _Bucket(_BURST, now))
        bucket.left = min(_BURST, bucket.left + (now - bucket.at) / _REFILL)
        bucket.at = now
        if bucket.left < 1:
            return False
        bucket.left -= 1
        return True

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._queue or self._stopping)
                if not self._queue:
                    return
                note = self._queue.popleft()
            try:
                self._write(note)
            except ForbiddenError as error:
                if not self._forbidden:
                    log.warning("events may not be written", error=str(error))
                self._forbidden = True
            except SyncdError as error:
                log.debug("event not written", error=str(error))
            except Exception:  # an event is not worth the thread
                log.exception("event not written, by a defect of syncd")

    def _write(self, note: Note) -> None:
        series = self._known.get(note)
        now = self.clock()
        if series is not None and now - series.last < _SERIES:
            series.count += 1
            series.last = now
            if series.count & (series.count - 1):
                return  # told when the number has doubled: what happens all the time does not make a write each time
            try:
                self._patch(series)
            except NotFoundError:
                del self._known[note]  # the server keeps events for an hour or so
            else:
                return
        document = _document(note, self.instance)
        made = self.client.create(EVENTS, document, timeout=_TIMEOUT)
        self._forbidden = False
        self._known[note] = _Series(made["metadata"]["namespace"], made["metadata"]["name"], now)
        self._known.move_to_end(note)
        while len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)

    def _patch(self, series: _Series) -> None:
        body = {"series": {"count": series.count, "lastObservedTime": _now()}}
        write = Write(WriteMethod.JSON_MERGE_PATCH, body)
        self.client.patch(EVENTS, series.namespace, series.name, write, timeout=_TIMEOUT)


def _document(note: Note, instance: str) -> JSONObject:
    about = note.regarding
    regarding = {"apiVersion": about.api_version, "kind": about.kind, "name": about.name}
    more = {"namespace": about.namespace, "uid": about.uid}
    return {
        "apiVersion": EVENTS.api_version,
        "kind": EVENTS.kind,
        "metadata": {
            "name": f"{about.name[:_NAME_LENGTH].replace(':', '.').rstrip('-.').lower()}.{secrets.token_hex(8)}",
            "namespace": about.namespace or "default",  # where events of objects without a namespace are
        },
        "eventTime": _now(),
        "type": note.type,
        "reason": note.reason,
        "action": note.action,
        "note": note.text,
        "regarding": {**regarding, **{name: value for name, value in more.items() if value}},
        "reportingController": CONTROLLER,
        "reportingInstance": instance[:128],
    }


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _cut(text: str) -> str:
    data = text.encode()
    return text if len(data) <= NOTE_LENGTH else data[: NOTE_LENGTH - 3].decode(errors="ignore") + "…"
