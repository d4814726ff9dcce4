"""Syncs and statuses for the tests of the command line."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from syncd.daemon.status import Counts, DriftRecord, ObjectStatus, SyncState, SyncStatus
from syncd.health import Health
from syncd.model import ActionType, DriftReason, FieldChange, ObjectKey, OutcomeStatus, Revision
from syncd.spec import Sync, parse_sync


class Make:
    """Makes values with sensible defaults."""

    now = datetime(2026, 9, 1, 12, 0, 0, tzinfo=UTC)

    def sync(self, name: str = "shop-dev") -> Sync:
        return parse_sync(
            {
                "apiVersion": "syncd.dev/v1alpha1",
                "kind": "Sync",
                "metadata": {"name": name},
                "spec": {"source": {"git": {"url": "https://git.example.com/dev.git"}}, "path": "overlays/dev"},
            }
        )

    def status(self, name: str = "shop-dev", **changes: Any) -> SyncStatus:
        revision = Revision("main", "a" * 40, "b" * 40)
        status = SyncStatus(
            self.sync(name),
            state=SyncState.SYNCED,
            health=Health.HEALTHY,
            attempted=revision,
            applied=revision,
            reason="Succeeded",
            last_attempt=self.now,
            last_success=self.now,
            counts=Counts(unchanged=1),
            inventory_size=1,
        )
        return replace(status, **changes)

    def object(self, action: ActionType, name: str = "web", **changes: Any) -> ObjectStatus:
        found = ObjectStatus(
            key=ObjectKey("shop-dev", "apps", "Deployment", name),
            action=action,
            reason="Changed",
            message="it was changed in Git",
            outcome=OutcomeStatus.DONE,
            health=Health.HEALTHY,
        )
        return replace(found, **changes)

    def drift(self, **changes: Any) -> DriftRecord:
        record = DriftRecord(
            key=ObjectKey("shop-dev", "apps", "Deployment", "worker"),
            reason=DriftReason.CHANGED,
            since=self.now,
            changes=(FieldChange("spec.replicas", 5, 1),),
            manager="kubectl",
            operation="Update",
        )
        return replace(record, **changes)


@pytest.fixture
def make() -> Make:
    return Make()
