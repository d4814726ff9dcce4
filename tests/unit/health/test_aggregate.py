"""How a Sync's health comes from that of its objects."""

from hypothesis import given
from hypothesis import strategies as st

from syncd.health import Health, HealthStatus, aggregate

statuses = st.lists(st.builds(HealthStatus, st.sampled_from(Health), st.sampled_from(["", "a", "b"])))


def test_nothing_is_healthy() -> None:
    assert aggregate([]) == HealthStatus(Health.HEALTHY)


def test_the_worst_wins_with_its_message() -> None:
    worst = HealthStatus(Health.DEGRADED, "web: crashes")
    assert aggregate([HealthStatus(Health.PROGRESSING, "db: starts"), worst, HealthStatus(Health.HEALTHY)]) == worst


def test_equally_bad_ones_are_counted() -> None:
    found = aggregate([HealthStatus(Health.DEGRADED, name) for name in ("web: crashes", "db: crashes", "x: crashes")])
    assert found.message == "web: crashes (and 2 more)"


def test_the_order_of_severity_is_that_of_argo_cd() -> None:
    assert sorted(Health, key=lambda health: health.severity) == [
        Health.HEALTHY,
        Health.SUSPENDED,
        Health.PROGRESSING,
        Health.MISSING,
        Health.DEGRADED,
        Health.UNKNOWN,
    ]


@given(statuses)
def test_no_object_is_worse_than_the_whole(found: list[HealthStatus]) -> None:
    whole = aggregate(found)
    assert all(status.health.severity <= whole.health.severity for status in found)
    assert whole.health in {status.health for status in found} | {Health.HEALTHY}
