"""The end of one Sync: its objects are deleted or released, then its inventory, and then somebody is told."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import structlog

from syncd.daemon.backoff import retry_delay
from syncd.daemon.status import SyncState, SyncStatus
from syncd.engine.deadline import Deadline, StoppedError
from syncd.engine.inventory import InventoryForbiddenError
from syncd.model import SyncdError

if TYPE_CHECKING:
    from collections.abc import Callable

    from syncd.daemon.agenda import Cause
    from syncd.daemon.board import StatusBoard
    from syncd.daemon.removal import Removal
    from syncd.engine.reconcile import Reconciler
    from syncd.model import Outcome
    from syncd.spec import Sync

log = structlog.get_logger("syncd")

TERMINATING = "Terminating"
"""The reason of a Sync that is being brought to its end."""
_STRAYS_NAMED = 20


class Ending:
    """Brings a Sync to its end, however often it takes; nothing is rendered for that.

    Args:
        sync: What was asked for; what matters is where its inventory is, and its deletion policy.
        reconciler: Does the work.
        board: Where the status hangs.
        wake: Asks the scheduler to run this at a moment.
        ended: Called when nothing of the Sync is left; it may fail, and is called again then.
        removal: Finds out how the Sync comes to be deleted; may fail, and then nothing is done.
    """

    def __init__(
        self,
        sync: Sync,
        reconciler: Reconciler,
        board: StatusBoard,
        *,
        wake: Callable[[str, datetime], None],
        ended: Callable[[], None],
        removal: Callable[[], Removal],
    ) -> None:
        self.sync = sync
        self.owner = ""
        self._reconciler = reconciler
        self._board = board
        self._wake = wake
        self._ended = ended
        self._removal = removal
        self._done = False
        self._stop = threading.Event()
        self._lock = threading.Lock()
        before = board.status(sync.id) or SyncStatus(sync)
        board.put(
            replace(
                before,
                sync=sync,
                state=SyncState.UNKNOWN,
                reason=TERMINATING,
                reconciling=False,
                error="",
                problems=(),
                failures=0,
            )
        )

    def trigger(self, _cause: Cause) -> None:
        """Have it tried again now."""
        self._wake(self.sync.id, datetime.now(UTC))

    def stop(self) -> None:
        """Give up at the next safe point."""
        self._stop.set()

    def run(self) -> None:
        """Try once, and say when the next time is."""
        if self._done or not self._lock.acquire(blocking=False):
            return
        try:
            with structlog.contextvars.bound_contextvars(sync=self.sync.id):
                self._done = self._try()
        finally:
            self._lock.release()

    def _try(self) -> bool:
        """Whether nothing is left."""
        try:
            left = self._destroy(self._removal())
            if not left:
                self._ended()
                log.info("sync ended")
                return True
            self._report(tuple(map(_why, left)))
        except StoppedError as error:
            if not self._stop.is_set():
                self._report((str(error),))
        except SyncdError as error:
            self._report((str(error),))
        except Exception as error:
            log.exception("the end of a Sync failed by a defect of syncd")
            self._report((f"{type(error).__name__}: {error}",))
        return False

    def _destroy(self, removal: Removal) -> tuple[Outcome, ...]:
        """Delete or release what the Sync has applied; gives what stays and does not go with its namespace."""
        sync = self.sync
        if removal.definition and sync.spec.deletion_policy != "Orphan":
            log.warning("the definition of Syncs is being deleted: objects are released, and stay")
            sync = sync.model_copy(update={"spec": sync.spec.model_copy(update={"deletion_policy": "Orphan"})})
        try:
            left = self._reconciler.destroy(sync, Deadline.after(sync.spec.timeout, self._stop))
        except InventoryForbiddenError:
            # It goes with the namespace, and the right to read it has gone already; or there has never been one.
            if not (removal.namespace or removal.untouched):
                raise
            left = ()
        if not removal.namespace:
            return left
        left = tuple(outcome for outcome in left if outcome.action.key.namespace != sync.metadata.namespace)
        if not left:
            self._tell_strays()
        return left

    def _tell_strays(self) -> None:
        """Log which objects outside of a namespace that is being deleted nobody can delete any more."""
        known = self._board.status(self.sync.id) or SyncStatus(self.sync)
        live = self._reconciler.cluster_of(self.sync).live
        keys = [item.key for item in known.objects if item.key.namespace != self.sync.metadata.namespace]
        strays = [str(key) for key in keys if live.get(key) is not None]
        if strays:
            log.warning(
                "objects outside of the deleted namespace stay: find them by the label kubectl.kubernetes.io/apply-id",
                count=len(strays),
                objects=strays[:_STRAYS_NAMED],
                apply_id=known.owner,
            )

    def _report(self, problems: tuple[str, ...]) -> None:
        """Say what the end waits for, and try again later."""
        now = datetime.now(UTC)
        before = self._board.status(self.sync.id) or SyncStatus(self.sync)
        failures = before.failures + 1
        due = now + timedelta(seconds=retry_delay(failures, 0.0))
        more = f"; and {len(problems) - 1} more" if len(problems) > 1 else ""
        status = replace(
            before,
            reason=TERMINATING,
            error=problems[0] + more,
            problems=problems,
            failures=failures,
            failing_since=before.failing_since or now,
            last_attempt=now,
            next_attempt=due,
        )
        log.error("sync cannot end yet", error=status.error, failures=failures)
        self._board.put(status, reconciled=True)
        self._wake(self.sync.id, due)


def _why(outcome: Outcome) -> str:
    return f"{outcome.action.key.display()} stays: {outcome.message or outcome.action.message}"
