"""What the demo shows while it runs."""

from __future__ import annotations

import io
import threading
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from syncd.cli.demo.screen import Events, Screen, status_table, summary_table
from syncd.cli.demo.tally import Tally
from syncd.daemon.status import Counts, SyncState
from syncd.model import ActionType, FieldChange

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Make


@pytest.fixture
def stream() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def screen(stream: io.StringIO) -> Screen:
    return Screen(Console(file=stream, width=160, highlight=False, markup=False))


def test_a_reconcile_that_changed_something_is_told_with_its_objects(
    make: Make, screen: Screen, stream: io.StringIO
) -> None:
    changes = (FieldChange("spec.replicas", 1, 3),)
    objects = (make.object(ActionType.UPDATE, changes=changes), make.object(ActionType.UNCHANGED, "other"))
    screen.reconciled(make.status(objects=objects, counts=Counts(updated=1, unchanged=1)))
    shown = stream.getvalue()
    assert "syncd/shop-dev  1 updated, 1 unchanged to main@aaaaaaaaaaaa" in shown
    assert "~ Deployment.apps shop-dev/web: it was changed in Git" in shown
    assert "~ spec.replicas: 1 → 3" in shown
    assert "other" not in shown


def test_a_first_apply_is_one_line(make: Make, screen: Screen, stream: io.StringIO) -> None:
    objects = tuple(make.object(ActionType.CREATE, f"web-{number}") for number in range(20))
    screen.reconciled(make.status(objects=objects, counts=Counts(created=20)))
    assert len(stream.getvalue().splitlines()) == 1


def test_a_reconcile_that_did_nothing_is_not_told(make: Make, screen: Screen, stream: io.StringIO) -> None:
    screen.reconciled(make.status())
    assert stream.getvalue() == ""


def test_an_error_is_told_once_and_so_is_its_end(make: Make, screen: Screen, stream: io.StringIO) -> None:
    failing = make.status(error="it does not build", problems=("overlays/dev: no such file",), counts=Counts(failed=1))
    for _ in range(3):
        screen.reconciled(failing)
    assert stream.getvalue().count("no such file") == 1
    screen.reconciled(make.status())
    assert stream.getvalue().splitlines()[-1].endswith("1 unchanged to main@aaaaaaaaaaaa")


def test_a_drift_is_told_with_who_made_it(make: Make, screen: Screen, stream: io.StringIO) -> None:
    screen.drift(make.sync(), make.drift())
    assert "syncd/shop-dev  drift: Deployment.apps shop-dev/worker changed by kubectl" in stream.getvalue()


def test_the_table_has_a_row_for_each_sync(make: Make, stream: io.StringIO) -> None:
    statuses = [make.status("shop-dev"), make.status("shop-prod", state=SyncState.UNKNOWN, error="no repository")]
    Console(file=stream, width=160).print(status_table(statuses))
    shown = stream.getvalue()
    assert "syncd/shop-dev" in shown
    assert "no repository" in shown


def test_where_there_is_no_terminal_there_is_no_table(make: Make, screen: Screen, stream: io.StringIO) -> None:
    with screen.table():
        screen.update([make.status()])
        screen.say("hello")
    assert stream.getvalue() == "hello\n"


def test_events_reach_the_screens_thread_in_order(make: Make) -> None:
    events = Events()
    first, second = make.status(counts=Counts(created=1)), make.status(counts=Counts(created=2))

    def tell() -> None:
        events.reconciled(first)
        events.reconciled(second)

    teller = threading.Thread(target=tell)
    teller.start()
    assert events.next(10) == first
    assert events.next(10) == second
    teller.join()
    assert events.next(0) is None


def test_a_tally_adds_up_until_the_sync_has_converged(make: Make) -> None:
    tally = Tally("syncd/shop-dev")
    tally = tally.add(make.status(state=SyncState.OUT_OF_SYNC, counts=Counts(created=3, failed=1), error="refused"))
    assert (tally.synced, tally.error) == (False, "refused")
    tally = tally.add(make.status(counts=Counts(created=1, unchanged=3)))
    assert (tally.synced, tally.reconciles, tally.counts) == (True, 2, Counts(created=4, unchanged=3))
    assert tally.add(make.status(counts=Counts(unchanged=4))) == tally


def test_the_summary_says_who_is_not_synced(stream: io.StringIO) -> None:
    tallies = [Tally("syncd/a", Counts(created=7), 1, synced=True), Tally("syncd/b", Counts(failed=2), 3, error="x")]
    Console(file=stream, width=160).print(summary_table(tallies))
    (a_row,) = (line for line in stream.getvalue().splitlines() if "syncd/a" in line)
    (b_row,) = (line for line in stream.getvalue().splitlines() if "syncd/b" in line)
    assert a_row.split() == ["syncd/a", "Synced", "7", "0", "0", "0", "0", "0"]
    assert b_row.split() == ["syncd/b", "not", "synced", "0", "0", "0", "0", "0", "2"]
