from __future__ import annotations

import heapq
import itertools
import random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncd.daemon.election import Election, ElectionTiming, LeaseRecord

if TYPE_CHECKING:
    from collections.abc import Iterator

TIMING = ElectionTiming(15, 10, 2)
SEEDS = st.integers(0, 2**32)


def noon() -> str:
    return "noon"


def held(holder: str, version: str, duration: float = 15) -> LeaseRecord:
    return LeaseRecord(holder, duration, 3, "then", "then", version)


def leading(started: float = 100) -> Election:
    election = Election("me", TIMING)
    election.see(LeaseRecord(), started)
    bid = election.bid(started, noon)
    assert bid is not None
    election.won(bid._replace(version="1"), started)
    return election


@pytest.mark.parametrize("timing", [(10, 10, 2), (15, 2, 2), (15, 10, 0), (5, 10, 2)])
def test_a_pace_that_is_not_safe_is_refused(timing: tuple[float, float, float]) -> None:
    with pytest.raises(ValueError, match="must be longer"):
        ElectionTiming(*timing)


def test_nobody_bids_before_looking() -> None:
    assert Election("me", TIMING).bid(100, noon) is None


def test_a_missing_lease_is_made_and_the_term_counts_from_the_start_of_the_request() -> None:
    election = leading(started=100)
    assert election.record == LeaseRecord("me", 15, 0, "noon", "noon", "1")
    assert (election.left(100), election.left(109), election.left(110)) == (10, 1, 0)
    assert election.term == 1


def test_a_leader_renews_what_it_knows_and_stays_in_its_term() -> None:
    election = leading(started=100)
    bid = election.bid(102, lambda: "later")
    assert bid == LeaseRecord("me", 15, 0, "noon", "later", "1")
    election.won(bid._replace(version="2"), 102)
    assert (election.left(102), election.term) == (10, 1)


def test_a_leader_that_renews_too_late_begins_a_new_term() -> None:
    election = leading(started=100)
    bid = election.bid(111, noon)
    assert bid is not None
    election.won(bid._replace(version="2"), 111)
    assert (election.left(111), election.term) == (10, 2)


def test_whoever_waits_counts_from_when_it_saw_the_last_renewal() -> None:
    election = Election("me", TIMING)
    election.see(held("other", "7"), 100)
    election.see(held("other", "7"), 112)
    assert election.bid(114.9, noon) is None
    bid = election.bid(115, noon)
    assert bid is not None
    assert (bid.holder, bid.transitions, bid.acquired, bid.version) == ("me", 4, "noon", "7")


def test_a_renewal_begins_the_wait_anew() -> None:
    election = Election("me", TIMING)
    election.see(held("other", "7"), 100)
    election.see(held("other", "8"), 114)
    assert election.bid(128, noon) is None


def test_a_holder_that_asks_for_more_time_gets_it() -> None:
    election = Election("me", TIMING)
    election.see(held("other", "7", duration=60), 100)
    assert election.bid(159, noon) is None
    assert election.bid(160, noon)


def test_a_lease_that_was_given_back_is_free_at_once() -> None:
    election = Election("me", TIMING)
    election.see(held("other", "7"), 100)
    election.see(held("", "8"), 101)
    assert election.bid(101, noon)


def test_a_lease_that_somebody_deleted_is_not_free_before_its_holder_must_have_stopped() -> None:
    election = Election("me", TIMING)
    election.see(held("other", "7"), 100)
    election.see(LeaseRecord(), 101)
    assert election.bid(114, noon) is None
    assert election.bid(115, noon)


def test_a_leader_that_sees_another_holder_stops_at_once() -> None:
    election = leading(started=100)
    election.see(held("other", "9"), 101)
    assert election.left(101) == 0
    assert election.bid(101, noon) is None


def test_a_bid_of_unknown_fate_gives_no_term_and_has_to_be_looked_for() -> None:
    election = leading(started=100)
    election.lose_sight()
    assert election.left(102) == 8
    assert election.bid(102, noon) is None
    election.see(held("me", "2"), 103)
    assert election.left(103) == 7
    assert election.bid(103, noon)


def test_who_resigns_writes_no_more_and_leaves_a_free_lease() -> None:
    election = leading(started=100)
    farewell = election.resign()
    assert farewell is not None
    assert (farewell.holder, farewell.version) == ("", "1")
    assert election.left(100) == 0
    election.won(held("me", "2"), 101)
    assert election.left(101) == 0
    assert election.bid(101, noon) is None


def test_who_does_not_lead_has_nothing_to_give_back() -> None:
    election = Election("me", TIMING)
    election.see(held("other", "7"), 100)
    assert election.resign() is None


def world(seed: int, replicas: int, *, calm_after: float) -> World:
    """One possible world."""
    return World(random.Random(seed), replicas, calm_after=calm_after)  # noqa: S311 - no cryptography


class World:
    """A server with one Lease, and replicas that reach it slowly, late, or not at all, and may be stopped anywhere."""

    def __init__(self, chance: random.Random, replicas: int, *, calm_after: float) -> None:
        self.chance = chance
        self.now = 0.0
        self.calm_after = calm_after
        self.lease = LeaseRecord()
        self._versions = itertools.count(1)
        self.elections = [Election(f"replica-{number}", TIMING) for number in range(replicas)]
        self._clocks = [(chance.uniform(0, 1000), chance.uniform(0.9, 1.1)) for _ in self.elections]

    def run(self, seconds: float) -> None:
        queue = [(0.0, number, self._live(number)) for number in range(len(self.elections))]
        while queue and queue[0][0] < seconds:
            self.now, number, life = heapq.heappop(queue)
            heapq.heappush(queue, (self.now + next(life), number, life))

    def clock(self, number: int) -> float:
        offset, rate = self._clocks[number]
        return offset + rate * self.now

    def writers(self) -> list[int]:
        return [number for number, election in enumerate(self.elections) if election.left(self.clock(number)) > 0]

    def _some_time(self) -> float:
        """Mostly short; now and then as long as a process can be stopped, or a network hold things back."""
        if self.now > self.calm_after or self.chance.random() < 0.8:
            return self.chance.uniform(0, 0.5)
        return self.chance.choice([1.0, 4.0, 9.0, 11.0, 16.0, 40.0])

    def _lost(self) -> bool:
        return self.now <= self.calm_after and self.chance.random() < 0.2

    def _live(self, number: int) -> Iterator[float]:
        election = self.elections[number]
        while True:
            yield TIMING.retry * self.chance.uniform(0.8, 1.2)
            if not (election.known and election.left(self.clock(number)) > 0):
                election.lose_sight()
                yield self._some_time()
                if self._lost():
                    continue
                answer = self.lease
                yield self._some_time()
                election.see(answer, self.clock(number))
            bid = election.bid(self.clock(number), noon)
            if bid is None:
                continue
            started = self.clock(number)
            election.lose_sight()
            yield self._some_time()
            if self._lost():
                continue
            accepted = bid.version == self.lease.version
            if accepted:
                self.lease = bid._replace(version=str(next(self._versions)))
            answer = self.lease
            yield self._some_time()
            if accepted and not self._lost():
                election.won(answer, started)
                assert len(self.writers()) <= 1


@given(SEEDS, st.integers(2, 4))
def test_no_two_may_write_at_a_time_whatever_the_network_and_the_scheduler_do(seed: int, replicas: int) -> None:
    world(seed, replicas, calm_after=300).run(300)


@given(SEEDS, st.integers(1, 3))
def test_somebody_leads_soon_after_all_is_calm_again(seed: int, replicas: int) -> None:
    calm = world(seed, replicas, calm_after=100)
    calm.run(100 + 80)  # the longest stop, a lease on the slowest clock, and some tries
    assert len(calm.writers()) == 1
