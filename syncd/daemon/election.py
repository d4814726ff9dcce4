"""Who may write: an election by a Lease, as a pure state machine that is told the time.

The rule that makes it safe: whoever leads counts from the *start* of its last successful renewal, whoever waits counts
from when it *saw* that renewal, and the leader stops sooner than the others may take over. So no two may write at once
as long as their clocks run equally fast within the margin between the two durations; what the clocks show does not
matter. The algorithm is that of Kubernetes' own components (client-go's leaderelection), with the fence that it lacks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from syncd.model import SyncdError

if TYPE_CHECKING:
    from collections.abc import Callable


class NotLeaderError(SyncdError):
    """This replica may not write: another one may, or will soon."""

    reason = "NotLeader"


@dataclass(frozen=True, slots=True)
class ElectionTiming:
    """The pace of an election, in seconds; the defaults are those of Kubernetes' own components.

    Attributes:
        duration: How long the others believe in a leader that they have not seen renew.
        deadline: How long a leader writes after the start of its last successful renewal.
        retry: How often a leader renews, and the others look.
    """

    duration: float = 15.0
    deadline: float = 10.0
    retry: float = 2.0

    def __post_init__(self) -> None:
        if not self.duration > self.deadline > self.retry > 0:
            raise ValueError(
                f"the lease's duration ({self.duration:g} s) must be longer than the deadline for renewing it "
                f"({self.deadline:g} s), and that longer than the pause between two tries ({self.retry:g} s)"
            )


class LeaseRecord(NamedTuple):
    """What a Lease says."""

    holder: str = ""
    """Who leads; "" when nobody does, or there is no Lease yet."""
    duration: float = 0.0
    """Seconds for which the others are to believe in the holder."""
    transitions: int = 0
    """How often the holder has changed."""
    acquired: str = ""
    """When the holder began, for people."""
    renewed: str = ""
    """When the holder renewed it, for people."""
    version: str = ""
    """The resourceVersion; "" when there is no Lease yet."""


class Election:
    """One replica's view. Times are seconds on a clock that never goes back; only their differences count.

    Args:
        identity: What tells this replica from all others, and from its own former lives.
        timing: The pace.
    """

    def __init__(self, identity: str, timing: ElectionTiming) -> None:
        self.identity = identity
        self.timing = timing
        self.record = LeaseRecord()
        """What the Lease said when it was last seen."""
        self.known = False
        """Whether it surely says so still, as far as this replica is concerned; else it has to be read before a bid."""
        self.term = 0
        """How often this replica has begun to lead."""
        self._busy_until = float("-inf")
        self._leads_until = float("-inf")
        self._resigned = False

    def see(self, record: LeaseRecord, now: float) -> None:
        """Take what a read, which ended at ``now``, has shown."""
        if record.holder != self.identity:
            self._leads_until = float("-inf")
        if not record.version:
            pass  # somebody deleted the Lease: that tells no leader to stop, so the others wait all the same
        elif record.holder in ("", self.identity):
            self._busy_until = float("-inf")
        elif record.version != self.record.version:
            self._busy_until = now + max(record.duration, self.timing.duration)
        self.record, self.known = record, True

    def bid(self, now: float, wall: Callable[[], str]) -> LeaseRecord | None:
        """What to write in order to lead, or to go on leading.

        Args:
            now: The time.
            wall: Gives the time of day, as a Lease has it.

        Returns:
            None while somebody else may be leading, or the Lease has to be read first.
        """
        record = self.record
        if not self.known or self._resigned or now < self._busy_until:
            return None
        same = record.holder == self.identity
        moment = wall()
        return LeaseRecord(
            self.identity,
            self.timing.duration,
            record.transitions + (0 if same or not record.version else 1),
            record.acquired if same else moment,
            moment,
            record.version,
        )

    def won(self, record: LeaseRecord, started: float) -> None:
        """Take that a bid was written, by a request that began at ``started``."""
        self.record, self.known = record, True
        self._busy_until = float("-inf")
        if self._resigned:
            return
        if self.left(started) == 0:
            self.term += 1
        self._leads_until = started + self.timing.deadline

    def lose_sight(self) -> None:
        """Take that a bid may or may not have been written, so that the Lease has to be read."""
        self.known = False

    def resign(self) -> LeaseRecord | None:
        """Stop leading at once and for good.

        Returns:
            What to write so that another replica need not wait; None if the Lease is not surely this replica's.
        """
        self._resigned = True
        self._leads_until = float("-inf")
        if not self.known or self.record.holder != self.identity:
            return None
        return self.record._replace(holder="", duration=1.0)

    def left(self, now: float) -> float:
        """Seconds for which this replica may surely write; 0 when it may not."""
        return max(0.0, self._leads_until - now)
