from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from syncd.daemon.seat import Seat, Worker
from syncd.spec import parse_sync

if TYPE_CHECKING:
    from collections.abc import Callable

    from syncd.daemon.agenda import Cause

SYNC = parse_sync({"metadata": {"name": "shop"}, "spec": {"source": {"git": {"url": "https://git.example.com/a.git"}}}})


class Recorder:
    """Does as a test says when it runs, and notes that it was stopped."""

    def __init__(self, work: Callable[[], None] = lambda: None) -> None:
        self.sync = SYNC
        self.owner = ""
        self.runs = 0
        self.stopped = threading.Event()
        self._work = work

    def run(self) -> None:
        self.runs += 1
        self._work()

    def trigger(self, cause: Cause) -> None:
        """Nothing to do."""

    def stop(self) -> None:
        self.stopped.set()


def made(worker: Worker) -> Callable[[], Worker]:
    return lambda: worker


def test_an_idle_worker_is_replaced_at_once() -> None:
    seat, first, second = Seat(), Recorder(), Recorder()
    seat.replace(made(first))
    seat.replace(made(second))
    seat.run()
    assert first.stopped.is_set()
    assert (first.runs, second.runs) == (0, 1)


def test_the_next_worker_begins_only_when_the_one_before_has_ended() -> None:
    seat, second = Seat(), Recorder()
    seen: list[object] = []

    def change() -> None:
        seat.replace(made(second))
        seen.append(seat.worker)

    first = Recorder(change)
    seat.replace(made(first))
    seat.run()
    assert seen == [first]
    assert first.stopped.is_set()
    assert seat.worker is second


def test_all_runs_of_a_worker_must_have_ended() -> None:
    """One may look for a newer commit while another one reconciles."""
    seat, second = Seat(), Recorder()
    depth: list[int] = []
    seen: list[object] = []

    def work() -> None:
        depth.append(1)
        if len(depth) == 1:
            seat.replace(made(second))
            seat.run()
            seen.append(seat.worker)

    first = Recorder(work)
    seat.replace(made(first))
    seat.run()
    assert seen == [first]
    assert seat.worker is second


def test_of_two_changes_while_a_worker_is_busy_only_the_last_is_made() -> None:
    seat, last, made_of = Seat(), Recorder(), []

    def change() -> None:
        seat.replace(lambda: made_of.append("first"))
        seat.replace(made(last))

    seat.replace(made(Recorder(change)))
    seat.run()
    assert made_of == []
    assert seat.worker is last


def test_a_seat_may_be_left_empty() -> None:
    seat = Seat()
    seat.replace(made(Recorder()))
    seat.replace(lambda: None)
    seat.run()
    assert seat.worker is None
