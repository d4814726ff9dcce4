"""From what the daemon knows of a Sync to the status of its object in the cluster. Pure.

Nothing is in it that changes with every uneventful reconcile, so that those write nothing. What an earlier process
wrote is taken over where this one does not know better: a restart forgets neither history nor drift.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from syncd.daemon.ending import TERMINATING
from syncd.daemon.status import DriftRecord, SyncState, SyncStatus
from syncd.daemon.waiting import SUCCEEDED
from syncd.inventory.keylist import approval_of
from syncd.model import DriftReason, ObjectKey
from syncd.plan.settings import DRIFT_REPORTED, TUG_OF_WAR
from syncd.spec import SpecError
from syncd.spec.status import (
    ERRORS_SHOWN,
    HISTORY_SHOWN,
    MESSAGE_LENGTH,
    NAMES_SHOWN,
    Condition,
    StatusCounts,
    StatusDrift,
    StatusDrifts,
    StatusHeldPrunes,
    StatusHistory,
    StatusObjects,
    StatusRevision,
    SyncObjectStatus,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from syncd.daemon.status import Counts, HistoryEntry
    from syncd.model import Revision
    from syncd.spec import Sync

_PENDING: Final = "Pending"
_SUSPENDED: Final = "Suspended"
_READY: Final = frozenset({SUCCEEDED, DRIFT_REPORTED, TUG_OF_WAR})
"""Reasons with which all that the Sync asks for is done."""
_WAITS_FOR_A_PERSON: Final = frozenset({"PruneHeld"})


class Verdict(NamedTuple):
    """One condition, without what follows from the one before."""

    type: str
    status: Literal["True", "False", "Unknown"]
    reason: str
    message: str = ""


class Subject(NamedTuple):
    """What is known of a Sync object itself.

    Attributes:
        generation: What the object asks for, by number.
        previous: What its status says already.
        handled: The request that was acted on last; "" if none was.
    """

    generation: int
    previous: SyncObjectStatus
    handled: str = ""


def recall(sync: Sync, written: SyncObjectStatus) -> SyncStatus:
    """What an earlier process found out and still matters: since when a Sync fails, and what drifts since when.

    Raises:
        ValueError: The status makes no sense.
    """
    drift = (
        DriftRecord(
            ObjectKey.parse(item.object),
            DriftReason(item.reason),
            datetime.fromisoformat(item.since),
            manager=item.manager,
        )
        for item in written.drift.objects
        if item.corrected_at is None
    )
    since = datetime.fromisoformat(written.failing_since) if written.failing_since else None
    return SyncStatus(sync, drift=tuple(drift), failing_since=since)


def reconciled(subject: Subject, status: SyncStatus, now: datetime) -> SyncObjectStatus:
    """The status after a reconcile of what the object asks for now."""
    before = subject.previous
    drift = _drift(status.drift, before.drift)
    return SyncObjectStatus(
        observed_generation=subject.generation,
        conditions=conditions(subject, now, *_verdicts(status), _drifted(drift)),
        state=status.state.value,
        health=status.health.value if status.health else "",
        revision=str(status.applied) if status.applied else before.revision,
        applied=_revision(status.applied) or before.applied,
        attempted=_revision(status.attempted) or before.attempted,
        objects=_objects(status),
        errors=tuple(_short(problem) for problem in status.problems[:ERRORS_SHOWN]),
        failing_since=_since(status.failing_since, before.failing_since),
        held_prunes=_held(status),
        drift=drift,
        last_handled_request=subject.handled or before.last_handled_request,
        history=_history(status.history, before.history),
    )


def pending(subject: Subject, now: datetime, *, suspended: bool) -> SyncObjectStatus:
    """The status before the first reconcile of what the object asks for now; what was found before stays."""
    before = subject.previous
    if suspended:
        verdicts = [
            Verdict("Reconciling", "False", _SUSPENDED, "nothing is done while spec.suspend is true"),
            Verdict("Stalled", "False", _SUSPENDED),
        ]
        first = Verdict("Ready", "Unknown", _SUSPENDED, "it has not been reconciled yet")
        seen = subject.generation
    else:
        verdicts = [
            Verdict("Reconciling", "True", _PENDING, "it is about to be reconciled"),
            Verdict("Stalled", "False", _PENDING),
        ]
        first = Verdict("Ready", "Unknown", _PENDING, "it is about to be reconciled")
        seen = before.observed_generation
    if not suspended or not any(condition.type == "Ready" for condition in before.conditions):
        verdicts.append(first)
    update = {"observed_generation": seen, "conditions": conditions(subject, now, *verdicts)}
    return before.model_copy(update=update)


def invalid(subject: Subject, problems: tuple[str, ...], now: datetime) -> SyncObjectStatus:
    """The status of an object that cannot be followed as it is; only another one helps."""
    text = _short("; ".join(problems))
    verdicts = (
        Verdict("Ready", "False", SpecError.reason, text),
        Verdict("Reconciling", "False", SpecError.reason),
        Verdict("Stalled", "True", SpecError.reason, text),
    )
    update = {
        "observed_generation": subject.generation,
        "conditions": conditions(subject, now, *verdicts),
        "state": SyncState.UNKNOWN.value,
        "errors": tuple(_short(problem) for problem in problems[:ERRORS_SHOWN]),
    }
    return subject.previous.model_copy(update=update)


def conditions(subject: Subject, now: datetime, *verdicts: Verdict) -> tuple[Condition, ...]:
    """The conditions, sorted by type: these, and what there was of others; since when only changes with a status."""
    found = {condition.type: condition for condition in subject.previous.conditions}
    for verdict in verdicts:
        before = found.get(verdict.type)
        same = before is not None and before.status == verdict.status
        found[verdict.type] = Condition(
            type=verdict.type,
            status=verdict.status,
            reason=verdict.reason,
            message=_short(verdict.message),
            last_transition_time=before.last_transition_time if before and same else _time(now),
            observed_generation=subject.generation,
        )
    return tuple(found[name] for name in sorted(found))


def _verdicts(status: SyncStatus) -> Iterator[Verdict]:
    """What a reconcile came to."""
    reason, error = status.reason, status.error
    ready: Literal["True", "False", "Unknown"] = "Unknown"
    message = error or status.message
    if reason == TERMINATING:
        ready, message = "False", error or "it is being brought to its end"
    elif error:
        ready = "False"
    elif reason in _READY:
        ready, message = "True", message or f"applied revision {status.applied}"
    elif reason in _WAITS_FOR_A_PERSON:
        ready, message = "False", status.prune_held
    yield Verdict("Ready", ready, reason, message)
    if ready == "True" or reason in _WAITS_FOR_A_PERSON:
        yield Verdict("Reconciling", "False", reason)
    elif reason == TERMINATING:
        yield Verdict("Reconciling", "True", TERMINATING, error)
    else:
        yield Verdict("Reconciling", "True", "Retrying" if error else reason, message)
    yield Verdict("Stalled", "False", reason)


def _drifted(drift: StatusDrifts) -> Verdict:
    if drift.count:
        oldest = min((item for item in drift.objects if item.corrected_at is None), key=lambda item: item.since)
        more = f"; and {drift.count - 1} more" if drift.count > 1 else ""
        return Verdict("Drifted", "True", "DriftDetected", f"{_drift_text(oldest)}{more}")
    if drift.objects:
        return Verdict("Drifted", "False", "Corrected", f"put right: {_drift_text(drift.objects[0])}")
    return Verdict("Drifted", "False", "NoDrift")


def _drift_text(item: StatusDrift) -> str:
    by = f" by {item.manager}" if item.manager else ""
    return f"{ObjectKey.parse(item.object).display()} {item.reason}{by} at {item.since}"


def _drift(records: tuple[DriftRecord, ...], before: StatusDrifts) -> StatusDrifts:
    """What drifts now, then what was put right lately, by this process and by those before it."""
    known = {(item.object, item.reason): item.since for item in before.objects if item.corrected_at is None}
    mine = [
        StatusDrift(
            object=str(record.key),
            reason=record.reason.value,
            since=_earlier(_time(record.since), known.get((str(record.key), record.reason.value))),
            manager=record.manager,
            corrected_at=_time(record.corrected_at) if record.corrected_at else None,
        )
        for record in records
    ]
    drifting = [item for item in mine if item.corrected_at is None]
    named = {(item.object, item.since) for item in mine}
    corrected = [item for item in mine if item.corrected_at is not None]
    corrected += [item for item in before.objects if item.corrected_at and (item.object, item.since) not in named]
    return StatusDrifts(
        count=len(drifting),
        since=min((item.since for item in drifting), default=None),
        objects=tuple((drifting + corrected)[:NAMES_SHOWN]),
    )


def _held(status: SyncStatus) -> StatusHeldPrunes | None:
    if not status.prune_held or not status.prune_candidates or not status.sync.spec.prune.enabled:
        return None
    candidates = status.prune_candidates
    return StatusHeldPrunes(
        message=_short(status.prune_held),
        count=len(candidates),
        objects=tuple(str(key) for key in candidates[:NAMES_SHOWN]),
        approval=approval_of(status.attempted.commit, candidates) if status.attempted else "",
    )


def _history(entries: Iterable[HistoryEntry], before: tuple[StatusHistory, ...]) -> tuple[StatusHistory, ...]:
    """The newest entries of this process and those before it; a run of equal failures counts as its first."""
    mine = [
        StatusHistory(
            time=_time(entry.finished_at),
            revision=str(entry.revision or ""),
            counts=_counts(entry.counts),
            error=_short(entry.error),
        )
        for entry in entries
    ]
    first = mine[-1].time if mine else None
    merged = [*mine, *(entry for entry in before if first is None or entry.time < first)]
    found: list[StatusHistory] = []
    for entry in merged:
        if found and entry.error and (entry.error, entry.revision) == (found[-1].error, found[-1].revision):
            found[-1] = entry
        else:
            found.append(entry)
    return tuple(found[:HISTORY_SHOWN])


def _revision(revision: Revision | None) -> StatusRevision | None:
    return StatusRevision(ref=revision.ref, commit=revision.commit, tree=revision.tree) if revision else None


def _objects(status: SyncStatus) -> StatusObjects:
    """Numbers that only change when something does: what was created just now is unchanged the next time."""
    counts = status.counts
    return StatusObjects(
        applied=counts.created + counts.updated + counts.unchanged,
        kept=counts.kept,
        skipped=counts.skipped,
        failed=counts.failed,
        inventory=status.inventory_size,
    )


def _counts(counts: Counts) -> StatusCounts:
    return StatusCounts(**{name: getattr(counts, name) for name in counts.__slots__})


def _since(now: datetime | None, before: str | None) -> str | None:
    return _earlier(_time(now), before) if now else None


def _earlier(moment: str, other: str | None) -> str:
    return min(moment, other) if other else moment


def _time(moment: datetime) -> str:
    """RFC 3339 in whole seconds, as Kubernetes writes it; such texts sort as the moments do."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _short(text: str) -> str:
    return text if len(text) <= MESSAGE_LENGTH else text[: MESSAGE_LENGTH - 1] + "…"
