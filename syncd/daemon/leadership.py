"""Holding a Lease: the thread that renews it, and the fence that every write asks.

See :mod:`syncd.daemon.election` for why at most one replica writes.
"""

from __future__ import annotations

import os
import random
import socket
import threading
import time
import uuid
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import structlog

from syncd.cluster.errors import AlreadyExistsError, ApiError, ConflictError
from syncd.cluster.lease import address_in
from syncd.daemon.election import Election, ElectionTiming, LeaseRecord, NotLeaderError
from syncd.model import SyncdError

if TYPE_CHECKING:
    from collections.abc import Callable

    from syncd.cluster.lease import LeaseClient
    from syncd.model import JSONObject

log = structlog.get_logger("syncd")

_CLOCK: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""A clock that goes on while the machine sleeps, where there is one."""


def now() -> float:
    """Seconds on a clock that never goes back, and goes on while this process is stopped."""
    return time.clock_gettime(_CLOCK)


def own_identity() -> str:
    """A name that no other process has, nor had: that of the Pod or host, for people, and something random."""
    return f"{os.environ.get('POD_NAME') or socket.gethostname()}_{uuid.uuid4().hex[:8]}"


class Leadership:
    """One replica's part in the election. Safe to use from many threads.

    Args:
        lease: The Lease that decides.
        identity: See :func:`own_identity`.
        timing: The pace.
        observe: Told of each change: ``acquired``, ``lost`` or ``released``.
    """

    def __init__(
        self,
        lease: LeaseClient,
        identity: str,
        timing: ElectionTiming,
        *,
        observe: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.identity = identity
        self._lease = lease
        self._election = Election(identity, timing)
        self._timing = timing
        self._observe = observe
        self._changed = threading.Condition()
        self._ending = threading.Event()
        self._leads = False
        """Whether ``acquired`` was the last that was told."""
        self._problem = ""
        self._leader = ""
        """What the Lease said of where its holder is served, when it was read last."""
        self._thread = threading.Thread(target=self._run, name="syncd-leadership", daemon=True)

    def start(self) -> None:
        """Take part from now on."""
        self._thread.start()

    def leads(self) -> bool:
        """Whether this replica may write now."""
        return self._election.left(now()) > 0

    def fence(self, term: int) -> Callable[[], None]:
        """What is called before each write in a term; it raises :class:`NotLeaderError` when that term is over."""

        def check() -> None:
            if self._left(term) == 0:
                raise NotLeaderError("this replica of syncd does not lead any more, so it may not write")

        return check

    def holder(self) -> str:
        """Who leads, as far as is known; "" when nobody does."""
        return self._election.record.holder

    def leader(self) -> str:
        """Where the replica that leads is served, as far as is known; "" when that is this one, or nobody leads."""
        return self._leader if self.holder() not in ("", self.identity) else ""

    def problem(self) -> str:
        """Why the Lease could not be read or written lately; "" if it could."""
        return self._problem

    def alive(self) -> bool:
        """Whether the thread that takes part runs."""
        return self._thread.is_alive()

    def await_won(self, stop: threading.Event) -> int:
        """Wait until this replica leads.

        Returns:
            The term that has begun; 0 if ``stop`` was set, and :meth:`wake` called, before.
        """
        with self._changed:
            while not stop.is_set():
                if self.leads():
                    return self._election.term
                self._changed.wait(self._timing.duration)
        return 0

    def await_lost(self, term: int, stop: threading.Event) -> None:
        """Wait until a term is over, by this process's own clock, or ``stop`` is set and :meth:`wake` called."""
        with self._changed:
            while not stop.is_set() and (left := self._left(term)) > 0:
                self._changed.wait(left)

    def wake(self) -> None:
        """Make those who wait look at their ``stop`` again."""
        with self._changed:
            self._changed.notify_all()

    def stop(self, *, release: bool) -> None:
        """Take part no longer.

        Args:
            release: Let another replica lead at once, and not only when the lease ends; only if nothing of this one can
                write any more.
        """
        self._ending.set()
        self._thread.join(2 * self._timing.deadline)
        farewell = self._election.resign()
        if release and farewell is not None:
            try:
                self._election.see(self._write(farewell), now())
            except SyncdError as error:
                log.warning(
                    "the lease could not be given back; another replica takes it when it ends", error=str(error)
                )
        self._tell("released")

    def _left(self, term: int) -> float:
        left = self._election.left(now())
        return left if self._election.term == term else 0.0  # asked last: a new term counts before it has any time

    def _run(self) -> None:
        while not self._ending.is_set():
            try:
                self._step()
            except ApiError as error:
                self._failed(error)
            except Exception as error:
                # A thread that dies silently would leave a replica that never leads again
                log.exception("a defect of syncd in its leader election")
                self._failed(error)
            else:
                self._problem = ""
            self._note()
            self._ending.wait(self._timing.retry * random.uniform(0.8, 1.2))  # noqa: S311 - spreads load, guards nothing

    def _step(self) -> None:
        """Look, where that is needed, and bid, where that is allowed."""
        election = self._election
        if not (election.known and self.leads()):
            election.lose_sight()
            lease = self._lease.read(self._timeout)
            self._leader = address_in(lease)
            election.see(_record(lease), now())
        bid, started = election.bid(now(), _moment), now()
        if bid is None:
            return
        election.lose_sight()
        try:
            written = self._write(bid)
        except (ConflictError, AlreadyExistsError):
            return  # somebody else has written it: the next look says what
        election.won(written, started)

    def _write(self, record: LeaseRecord) -> LeaseRecord:
        return _record(self._lease.write(_spec(record), record.version, self._timeout))

    @property
    def _timeout(self) -> float:
        """Half of what a leader has, so that there is time for a second try."""
        return self._timing.deadline / 2

    def _failed(self, error: Exception) -> None:
        if not self._problem:
            log.warning("the lease of the leader election cannot be renewed", error=str(error))
        self._problem = f"the leader election does not get on: {error}"

    def _note(self) -> None:
        """Tell of what has changed since the last step."""
        leads = self.leads()
        with self._changed:
            self._changed.notify_all()
        if leads and not self._leads:
            self._tell("acquired")
        elif self._leads and not leads:
            self._tell("lost")

    def _tell(self, change: str) -> None:
        if (change == "acquired") == self._leads:
            return
        self._leads = change == "acquired"
        log.info("leadership", change=change, identity=self.identity)
        self._observe(change)


def _record(lease: JSONObject | None) -> LeaseRecord:
    """Read a Lease; one that was never held, or lacks fields, is free."""
    if lease is None:
        return LeaseRecord()
    spec = lease.get("spec") or {}
    return LeaseRecord(
        spec.get("holderIdentity") or "",
        float(spec.get("leaseDurationSeconds") or 0),
        int(spec.get("leaseTransitions") or 0),
        spec.get("acquireTime") or "",
        spec.get("renewTime") or "",
        lease["metadata"]["resourceVersion"],
    )


def _spec(record: LeaseRecord) -> JSONObject:
    """The Lease's spec; its duration is in whole seconds, and never shorter than meant."""
    return {
        "holderIdentity": record.holder,
        "leaseDurationSeconds": max(1, -int(-record.duration // 1)),
        "leaseTransitions": record.transitions,
        "acquireTime": record.acquired,
        "renewTime": record.renewed,
    }


def _moment() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
