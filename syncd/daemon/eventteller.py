"""What of a Sync's life becomes Kubernetes events: what changed, what failed, what somebody else did. Nothing else.

Each is on the object that it is about, and the sum is on the Sync: on its object, or, for a Sync from a file, on its
apply-config object. Only names of fields are told, never values.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from syncd.cluster.events import Note, Reference
from syncd.daemon.ending import TERMINATING
from syncd.daemon.objects import SYNCS
from syncd.daemon.status import Listener, SyncState
from syncd.model import ActionType, OutcomeStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from syncd.cluster import LiveObject
    from syncd.cluster.events import Recorder
    from syncd.daemon.service import Daemon
    from syncd.daemon.status import DriftRecord, ObjectStatus, SyncStatus
    from syncd.model import FieldChange, ObjectKey
    from syncd.spec import Sync

_OBJECTS_TOLD: Final = 10
"""Objects of one reconcile that get an event of their own; the Sync's counts them all."""
_NAMED: Final = 5
"""Objects, or fields, that one text names."""
_WORDS: Final = {ActionType.CREATE: "Created", ActionType.UPDATE: "Updated", ActionType.PRUNE: "Pruned"}


class EventTeller(Listener):
    """Listens to a daemon's board, and has events written; begins and ends with the daemon.

    Args:
        recorder: Writes them.
        find: What is known of a live object; None where nothing is.
        uid_of: The uid of the object that a Sync is in the cluster; "" for one from a file.
    """

    def __init__(
        self,
        recorder: Recorder,
        find: Callable[[ObjectKey], LiveObject | None],
        uid_of: Callable[[str], str] = lambda _: "",
    ) -> None:
        self._recorder = recorder
        self._find = find
        self._uid_of = uid_of
        self._failing: dict[str, bool] = {}
        self._held: dict[str, str] = {}
        self._owners: dict[str, str] = {}

    def start(self, _daemon: Daemon) -> None:
        """Begin to write."""
        self._recorder.start()

    def stop(self) -> None:
        """Write what waits, and end."""
        self._recorder.stop()

    def status_changed(self, status: SyncStatus) -> None:
        """What is on the way is no news yet."""

    def reconciled(self, status: SyncStatus) -> None:
        """A reconcile has ended: tell what it changed, and what went wrong."""
        self._owners[status.id] = status.owner
        if _judged(status):
            for note in self._of_objects(status):
                self._recorder.record(note)
        for note in self._of_sync(status):
            self._recorder.record(note)
        self._failing[status.id] = bool(status.error)
        self._held[status.id] = status.prune_held

    def drift_found(self, sync: Sync, record: DriftRecord) -> None:
        """Tell who changed what."""
        by = f" by {record.manager}" if record.manager else ""
        text = f"{record.reason.value}{by}{_fields(record.changes)}"
        about = self._object(record.key)
        self._recorder.record(Note(about, "Warning", "DriftDetected", "Compare", f"{text}; Sync {sync.id}", sync.id))
        if (own := self._sync(sync)) is not None:
            told = f"{record.key.display()}: {text}"
            self._recorder.record(Note(own, "Warning", "DriftDetected", "Compare", told, sync.id))

    def sync_removed(self, sync_id: str) -> None:
        """A Sync is no more."""
        for known in (self._failing, self._held, self._owners):
            known.pop(sync_id, None)
        self._recorder.forget(sync_id)

    def _of_objects(self, status: SyncStatus) -> Iterator[Note]:
        told = [item for item in status.objects if _is_news(item)]
        # What failed comes first: there may be more than are told.
        told.sort(key=lambda item: item.outcome is OutcomeStatus.DONE)
        for item in told[:_OBJECTS_TOLD]:
            about = self._object(item.key)
            action = item.action.value.capitalize()
            if item.outcome is not OutcomeStatus.DONE:
                text = f"{item.error}; Sync {status.id}"
                yield Note(about, "Warning", item.reason or "Failed", action, text, status.id)
            else:
                text = f"{item.message or item.reason}{_fields(item.changes)}; Sync {status.id}, {status.attempted}"
                yield Note(about, "Normal", _WORDS[item.action], action, text, status.id)

    def _of_sync(self, status: SyncStatus) -> Iterator[Note]:
        own = self._sync(status.sync)
        if own is None:
            return
        if status.error:
            yield Note(own, "Warning", status.reason, "Reconcile", status.error, status.id)
        elif self._failing.get(status.id):
            yield Note(own, "Normal", "Recovered", "Reconcile", f"it works again, at {status.attempted}", status.id)
        if status.prune_held and self._held.get(status.id) != status.prune_held and status.sync.spec.prune.enabled:
            yield Note(own, "Warning", "PruneHeld", "Prune", status.prune_held, status.id)
        changed = [item for item in status.objects if _is_news(item) and item.outcome is OutcomeStatus.DONE]
        if changed and _judged(status):
            counts = Counter(_WORDS[item.action].lower() for item in changed)
            what = ", ".join(f"{count} {word}" for word, count in sorted(counts.items()))
            names = ", ".join(item.key.display() for item in changed[:_NAMED])
            more = f" and {len(changed) - _NAMED} more" if len(changed) > _NAMED else ""
            yield Note(own, "Normal", "Applied", "Reconcile", f"{status.attempted}: {what}: {names}{more}", status.id)

    def _sync(self, sync: Sync) -> Reference | None:
        """The object that stands for a Sync; None while a Sync from a file has none yet."""
        namespace, name = sync.metadata.namespace, sync.metadata.name
        if uid := self._uid_of(sync.id):
            return Reference(SYNCS.api_version, SYNCS.kind, namespace, name, uid)
        if owner := self._owners.get(sync.id):
            return Reference("v1", "ConfigMap", namespace, name, owner)
        return None

    def _object(self, key: ObjectKey) -> Reference:
        found = self._find(key)
        version = found.api_version if found else f"{key.group}/v1" if key.group else "v1"
        return Reference(version, key.kind, key.namespace, key.name, found.uid if found else "")


def _judged(status: SyncStatus) -> bool:
    """Whether the objects are those of the reconcile that has just ended, and not of an earlier one."""
    return status.state is not SyncState.UNKNOWN and status.reason != TERMINATING


def _is_news(item: ObjectStatus) -> bool:
    """Whether something came of it; what was given up for a newer commit is told by the reconcile of that."""
    if item.outcome is OutcomeStatus.DONE:
        return item.action.changes_cluster
    return item.outcome is OutcomeStatus.FAILED


def _fields(changes: tuple[FieldChange, ...]) -> str:
    """Which fields, by name alone: a value may be a secret."""
    if not changes:
        return ""
    names = ", ".join(change.path for change in changes[:_NAMED])
    more = f" and {len(changes) - _NAMED} more" if len(changes) > _NAMED else ""
    return f": {names}{more}"
