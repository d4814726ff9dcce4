from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from syncd.daemon.backoff import RepairPace, poll_delay, retry_delay


@given(st.floats(0.1, 86400))
def test_polls_are_spread_around_their_interval(interval: float) -> None:
    assert 0.95 * interval <= poll_delay(interval) <= 1.05 * interval


@given(st.integers(1, 10_000), st.floats(0.1, 3600))
def test_a_retry_waits_at_least_half_a_second_and_at_most_a_minute_or_the_interval(
    failures: int, interval: float
) -> None:
    assert 0.5 <= retry_delay(failures, interval) <= max(60.0, interval)


def test_retries_wait_longer_and_longer() -> None:
    assert retry_delay(1, 1.0) <= 1.0
    assert retry_delay(5, 1.0) >= 8.0
    assert retry_delay(20, 1.0) >= 30.0


def test_a_few_repairs_are_free() -> None:
    pace = RepairPace()
    for moment in range(3):
        assert pace.delay(moment) == 0.0
        pace.repaired(moment)
    assert pace.delay(3) == 0.0


def test_repairs_that_are_undone_again_and_again_slow_down() -> None:
    pace = RepairPace()
    for moment in range(10):
        pace.repaired(moment)
    assert pace.delay(10) > 10
    assert pace.delay(9 + 60) == 0.0


def test_after_a_quiet_time_repairs_are_free_again() -> None:
    pace = RepairPace()
    for moment in range(10):
        pace.repaired(moment)
    pace.repaired(1000)
    assert pace.delay(1000) == 0.0
