"""What came of the first convergence, Sync by Sync."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from syncd.daemon.status import Counts, SyncState

if TYPE_CHECKING:
    from syncd.daemon.status import SyncStatus
    from syncd.model import JSONObject


@dataclass(frozen=True, slots=True)
class Tally:
    """One Sync on its way to the first convergence.

    Attributes:
        sync_id: Which one.
        counts: What was created, updated and pruned until then; the rest as the last reconcile counted it.
        reconciles: How many there were.
        synced: Whether it has converged; from then on nothing more is counted.
        error: The last reconcile's error.
    """

    sync_id: str
    counts: Counts = field(default_factory=Counts)
    reconciles: int = 0
    synced: bool = False
    error: str = ""

    def add(self, status: SyncStatus) -> Tally:
        """Count one more reconcile."""
        if self.synced:
            return self
        last = status.counts
        counts = replace(
            last,
            created=self.counts.created + last.created,
            updated=self.counts.updated + last.updated,
            pruned=self.counts.pruned + last.pruned,
        )
        return Tally(self.sync_id, counts, self.reconciles + 1, status.state is SyncState.SYNCED, status.error)

    def document(self) -> JSONObject:
        """Return the tally as JSON."""
        counts = self.counts
        return {
            "sync": self.sync_id,
            "synced": self.synced,
            "created": counts.created,
            "updated": counts.updated,
            "unchanged": counts.unchanged,
            "pruned": counts.pruned,
            "kept": counts.kept,
            "failed": counts.failed,
            "error": self.error,
        }
