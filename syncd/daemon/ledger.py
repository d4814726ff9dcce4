"""What drifted, since when, and whether it has been put right: kept over reconciles, in memory."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from syncd.daemon.status import DriftRecord
from syncd.model import ActionType, OutcomeStatus

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from syncd.model import Drift, ObjectKey, Outcome

_REMEMBERED = 50
"""Repaired drifts that stay visible."""


class DriftLedger:
    """The drift of one Sync; used by one reconcile at a time.

    Args:
        known: What was known of it before, as :meth:`records` gives it.
    """

    def __init__(self, known: Iterable[DriftRecord] = ()) -> None:
        known = tuple(known)
        self._open = {record.key: record for record in known if record.corrected_at is None}
        self._repaired = [record for record in reversed(known) if record.corrected_at is not None]

    def update(self, outcomes: Iterable[Outcome], now: datetime) -> tuple[DriftRecord, ...]:
        """Take note of what one complete reconcile found.

        Returns:
            Drift that was not known before.
        """
        new: list[DriftRecord] = []
        seen: set[ObjectKey] = set()
        for outcome in outcomes:
            drift, key = outcome.action.drift, outcome.action.key
            if drift is None:
                continue
            seen.add(key)
            known = self._open.get(key)
            record = _record(key, drift, known.since if known else now)
            if known is None or known.reason is not record.reason:
                new.append(record)
            self._open[key] = record
            if outcome.status is OutcomeStatus.DONE and outcome.action.type is not ActionType.SKIP:
                self._close(key, now)
        for key in self._open.keys() - seen:
            self._close(key, now)
        return tuple(new)

    def records(self) -> tuple[DriftRecord, ...]:
        """What drifts now, newest first, then what was repaired lately."""
        unrepaired = sorted(self._open.values(), key=lambda record: record.since, reverse=True)
        return (*unrepaired, *reversed(self._repaired))

    def _close(self, key: ObjectKey, now: datetime) -> None:
        self._repaired.append(replace(self._open.pop(key), corrected_at=now))
        del self._repaired[:-_REMEMBERED]


def _record(key: ObjectKey, drift: Drift, since: datetime) -> DriftRecord:
    return DriftRecord(key, drift.reason, since, drift.changes, drift.manager, drift.operation)
