from __future__ import annotations

from datetime import UTC, datetime

import pytest

from syncd.model import Action, ActionType, ObjectKey, Plan, Write, WriteMethod
from syncd.plan.windows import WINDOW_CLOSED, closed, hold, next_edge
from syncd.spec import SpecError, Window, parse_sync


def window(kind: str, schedule: str, duration: str, timezone: str = "UTC", scope: str = "All") -> Window:
    return Window.model_validate(
        {"kind": kind, "schedule": schedule, "duration": duration, "timezone": timezone, "scope": scope}
    )


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


WEEKEND = window("Deny", "0 16 * * 5", "64h")
OFFICE = window("Allow", "0 8 * * 1-5", "9h", "Europe/Berlin")


def test_without_windows_all_is_allowed_at_any_time() -> None:
    assert closed((), "All", at("2026-03-01")) == ""
    assert next_edge((), at("2026-03-01")) is None


@pytest.mark.parametrize(
    ("moment", "is_closed"),
    [
        ("2026-03-06T15:59:59", False),  # a Friday
        ("2026-03-06T16:00:00", True),
        ("2026-03-08T12:00:00", True),
        ("2026-03-09T07:59:59", True),
        ("2026-03-09T08:00:00", False),
    ],
)
def test_a_deny_window_forbids_from_its_beginning_to_its_end(moment: str, is_closed: bool) -> None:  # noqa: FBT001 - a table's column
    assert bool(closed([WEEKEND], "All", at(moment))) is is_closed


def test_the_reason_names_the_window_and_its_end() -> None:
    assert closed([WEEKEND], "All", at("2026-03-07")) == (
        "the Deny window '0 16 * * 5' (UTC) is open; changes are allowed again from 2026-03-09 08:00 UTC"
    )
    assert closed([OFFICE], "All", at("2026-03-07")) == (
        "no Allow window is open; changes are allowed again from 2026-03-09 08:00 CET"
    )


def test_outside_of_all_allow_windows_nothing_is_allowed_and_deny_wins() -> None:
    assert closed([OFFICE], "All", at("2026-03-05T10:00")) == ""
    assert closed([OFFICE], "All", at("2026-03-05T06:59"))
    assert closed([OFFICE, window("Deny", "0 0 * * *", "24h")], "All", at("2026-03-05T10:00"))


def test_a_window_follows_its_time_zone_through_the_change_of_clocks() -> None:
    assert closed([OFFICE], "All", at("2026-03-27T07:30")) == ""  # 08:30 in winter
    assert closed([OFFICE], "All", at("2026-03-30T06:30")) == ""  # 08:30 in summer
    assert closed([OFFICE], "All", at("2026-03-27T06:30"))


def test_each_scope_has_windows_of_its_own() -> None:
    only_drift = window("Deny", "0 0 * * *", "24h", scope="Correction")
    assert closed([only_drift], "All", at("2026-03-05")) == ""
    assert closed([only_drift], "Correction", at("2026-03-05")).endswith("for as long as can be foreseen")


def test_the_next_edge_is_a_beginning_or_an_end() -> None:
    assert next_edge([WEEKEND], at("2026-03-05")) == at("2026-03-06T16:00")
    assert next_edge([WEEKEND], at("2026-03-07")) == at("2026-03-09T08:00")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("schedule", "0 16 * *"),
        ("schedule", "0 25 * * *"),
        ("schedule", "0 0 30 2 *"),
        ("timezone", "Berlin"),
        ("duration", "5"),
    ],
)
def test_what_is_no_window_is_refused_with_its_place(field: str, value: str) -> None:
    windows = [{"kind": "Deny", "schedule": "0 16 * * 5", "duration": "1h", field: value}]
    spec = {"source": {"git": {"url": "https://git.example.com/a.git"}}, "windows": windows}
    with pytest.raises(SpecError, match=rf"spec\.windows\.0\.{field}"):
        parse_sync({"metadata": {"name": "shop"}, "spec": spec})


def test_a_plan_that_is_held_shows_all_and_writes_nothing() -> None:
    write = Write(WriteMethod.DELETE)
    actions = tuple(
        Action(type_, ObjectKey("shop", "", "ConfigMap", type_.value), "Why", write=write, release=True)
        for type_ in ActionType
    )
    held = hold(Plan(actions), "later").actions
    found = {action.key.name: (action.type, action.reason) for action in held}
    assert found["create"] == found["update"] == (ActionType.SKIP, WINDOW_CLOSED)
    assert found["prune"] == (ActionType.KEEP, WINDOW_CLOSED)
    assert not [action for action in held if action.type.changes_cluster]
    assert not [action for action in held if action.type is ActionType.KEEP and (action.write or action.release)]
