"""The JSON form of what the daemon knows: stable names in camelCase, documented in docs/reference/status-page.md."""

from __future__ import annotations

import json
from datetime import UTC
from typing import TYPE_CHECKING

import orjson

from syncd.model import ABSENT
from syncd.spec.objects import has_source

if TYPE_CHECKING:
    from datetime import datetime

    from syncd.daemon.status import Counts, DriftRecord, HistoryEntry, ObjectStatus, SyncStatus
    from syncd.model import FieldChange, JSONObject, JSONValue, ObjectKey, Revision
    from syncd.spec import Sync


def summary(status: SyncStatus) -> JSONObject:
    """One Sync in a list: everything but its objects, drift and history."""
    sync = status.sync
    return {
        "id": status.id,
        "namespace": sync.metadata.namespace,
        "name": sync.metadata.name,
        "source": source(sync),
        "suspended": sync.spec.suspend,
        "state": status.state.value,
        "health": status.health.value if status.health else None,
        "reason": status.reason,
        "error": status.error,
        "problems": list(status.problems),
        "message": status.message,
        "failures": status.failures,
        "failingSince": time(status.failing_since),
        "reconciling": status.reconciling,
        "attempted": revision(status.attempted),
        "applied": revision(status.applied),
        "lastAttempt": time(status.last_attempt),
        "lastSuccess": time(status.last_success),
        "nextAttempt": time(status.next_attempt),
        "durations": dict(status.durations),
        "counts": counts(status.counts),
        "inventorySize": status.inventory_size,
        "driftCount": sum(1 for record in status.drift if record.corrected_at is None),
        "pruneHeld": status.prune_held,
    }


def source(sync: Sync) -> JSONObject:
    """Where a Sync's manifests come from; one that does not hold may not say."""
    git = sync.spec.source.git
    url, ref = (git.url, str(git.ref)) if has_source(sync) else ("", "")
    return {"url": url, "ref": ref, "path": sync.spec.path}


def detail(status: SyncStatus) -> JSONObject:
    """One Sync with its objects, drift and history."""
    return {
        **summary(status),
        "objects": [object_status(item) for item in status.objects],
        "drift": [drift(record) for record in status.drift],
        "fights": [{**key(fight.key), "manager": fight.manager, "repairs": fight.repairs} for fight in status.fights],
        "history": [history(entry) for entry in status.history],
    }


def object_status(item: ObjectStatus) -> JSONObject:
    """One object, as the last reconcile left it."""
    return {
        **key(item.key),
        "action": item.action.value,
        "reason": item.reason,
        "message": item.message,
        "outcome": item.outcome.value,
        "error": item.error,
        "health": item.health.value if item.health else None,
        "healthMessage": item.health_message,
        "origin": item.origin,
        "changes": [change(one) for one in item.changes],
    }


def drift(record: DriftRecord) -> JSONObject:
    """One drift."""
    return {
        **key(record.key),
        "reason": record.reason.value,
        "since": time(record.since),
        "manager": record.manager,
        "operation": record.operation,
        "correctedAt": time(record.corrected_at),
        "changes": [change(one) for one in record.changes],
    }


def history(entry: HistoryEntry) -> JSONObject:
    """One past reconcile."""
    return {
        "finishedAt": time(entry.finished_at),
        "revision": revision(entry.revision),
        "counts": counts(entry.counts),
        "duration": entry.duration,
        "error": entry.error,
    }


def counts(value: Counts) -> JSONObject:
    """How many objects met which fate."""
    return {
        "created": value.created,
        "updated": value.updated,
        "unchanged": value.unchanged,
        "pruned": value.pruned,
        "kept": value.kept,
        "skipped": value.skipped,
        "failed": value.failed,
    }


def change(value: FieldChange) -> JSONObject:
    """One field that differs; the side that does not have the field is left out."""
    sides = {"before": value.before, "after": value.after}
    return {"path": value.path, **{name: side for name, side in sides.items() if side is not ABSENT}}


def key(value: ObjectKey) -> JSONObject:
    """An object's key, whole and in parts."""
    return {
        "key": str(value),
        "namespace": value.namespace,
        "group": value.group,
        "kind": value.kind,
        "name": value.name,
    }


def revision(value: Revision | None) -> JSONObject | None:
    """A revision, or null before the first."""
    return {"ref": value.ref, "commit": value.commit, "tree": value.tree} if value else None


def time(value: datetime | None) -> str | None:
    """RFC 3339 in UTC, whole milliseconds; null for never."""
    return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z") if value else None


def encode(value: JSONValue) -> bytes:
    """JSON text, indented for people."""
    try:
        return orjson.dumps(value, option=orjson.OPT_INDENT_2)
    except TypeError:  # a field of an object may hold a number beyond 64 bits or half a surrogate pair; json knows both
        return json.dumps(value, indent=2).encode()
