from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncd.engine.deadline import Deadline
from syncd.engine.executor import WAITS, execute
from syncd.model import Action, ActionType, ObjectKey, Outcome, OutcomeStatus
from syncd.plan.order import Graph

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


@pytest.fixture(scope="module")
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(8) as made:
        yield made


def key(name: str) -> ObjectKey:
    return ObjectKey("shop", "", "ConfigMap", name)


def actions(names: str) -> list[Action]:
    return [Action(ActionType.CREATE, key(name), "New") for name in names]


def edges(**needs: str) -> dict[ObjectKey, frozenset[ObjectKey]]:
    return {key(name): frozenset(map(key, needed)) for name, needed in needs.items()}


class Recorder:
    """Carries actions out in memory, and remembers what had ended when each began."""

    def __init__(self, failing: str = "") -> None:
        self.failing = failing
        self.ended: list[str] = []
        self.seen: dict[str, frozenset[str]] = {}
        self._lock = threading.Lock()

    def __call__(self, action: Action) -> Outcome:
        name = action.key.name
        with self._lock:
            self.seen[name] = frozenset(self.ended)
            self.ended.append(name)
        status = OutcomeStatus.FAILED if name in self.failing else OutcomeStatus.DONE
        return Outcome(action, status, "broken" if name in self.failing else "")


def run(
    pool: ThreadPoolExecutor, names: str, graph: Graph, carry_out: Callable[[Action], Outcome], **options: object
) -> Mapping[str, OutcomeStatus]:
    deadline = options.get("deadline") or Deadline.after(60)
    assert isinstance(deadline, Deadline)
    outcomes = execute(actions(names), graph, carry_out, pool=pool, width=4, deadline=deadline)
    return {outcome.action.key.name: outcome.status for outcome in outcomes}


def test_everything_is_done_once(pool: ThreadPoolExecutor) -> None:
    recorder = Recorder()
    assert run(pool, "abcdef", Graph({}, {}), recorder) == dict.fromkeys("abcdef", OutcomeStatus.DONE)
    assert sorted(recorder.ended) == list("abcdef")


def test_nothing_to_do_is_done_at_once(pool: ThreadPoolExecutor) -> None:
    assert run(pool, "", Graph({}, {}), Recorder()) == {}


@given(st.sets(st.tuples(st.integers(0, 6), st.integers(0, 6)).filter(lambda pair: pair[0] < pair[1])), st.booleans())
def test_an_object_begins_after_all_that_it_waits_for(pairs: set[tuple[int, int]], hard: bool) -> None:  # noqa: FBT001 - drawn by hypothesis
    names = "abcdefg"
    needs = {names[late]: "".join(names[early] for early, other in pairs if other == late) for _, late in pairs}
    graph = Graph(edges(**needs), {}) if hard else Graph({}, edges(**needs))
    recorder = Recorder()
    with ThreadPoolExecutor(4) as executor:
        run(executor, names, graph, recorder)
    assert all(set(needed) <= recorder.seen[name] for name, needed in needs.items())


def test_a_failure_stops_what_needs_it_and_nothing_else(pool: ThreadPoolExecutor) -> None:
    graph = Graph(edges(b="a", c="b"), edges(d="a"))
    found = run(pool, "abcde", graph, Recorder(failing="a"))
    assert found == {
        "a": OutcomeStatus.FAILED,
        "b": OutcomeStatus.ABANDONED,
        "c": OutcomeStatus.ABANDONED,
        "d": OutcomeStatus.DONE,
        "e": OutcomeStatus.DONE,
    }


def test_an_edge_to_an_object_that_needs_nothing_done_counts_as_done(pool: ThreadPoolExecutor) -> None:
    assert run(pool, "b", Graph(edges(b="a"), {}), Recorder()) == {"b": OutcomeStatus.DONE}


def test_a_broken_dependency_fails_its_object_and_what_needs_that(pool: ThreadPoolExecutor) -> None:
    graph = Graph(edges(a="", b="a"), {}, {key("a"): "goes in a circle"})
    recorder = Recorder()
    assert run(pool, "abc", graph, recorder) == {
        "a": OutcomeStatus.FAILED,
        "b": OutcomeStatus.ABANDONED,
        "c": OutcomeStatus.DONE,
    }
    assert recorder.ended == ["c"]


def test_once_stopped_nothing_new_begins(pool: ThreadPoolExecutor) -> None:
    deadline = Deadline.after(60)
    recorder = Recorder()

    def stop_at_b(action: Action) -> Outcome:
        if action.key.name == "b":
            deadline.stop.set()
        return recorder(action)

    found = run(pool, "abcd", Graph(edges(b="a", c="b", d="c"), {}), stop_at_b, deadline=deadline)
    assert recorder.ended == ["a", "b"]
    assert found["c"] is OutcomeStatus.ABANDONED
    assert found["d"] is OutcomeStatus.ABANDONED


def test_the_lower_rank_goes_first_when_both_may(pool: ThreadPoolExecutor) -> None:
    order: list[str] = []

    def note(action: Action) -> Outcome:
        order.append(action.key.kind)
        return Outcome(action, OutcomeStatus.DONE)

    both = [
        Action(ActionType.CREATE, ObjectKey("", "", kind, "x"), "New") for kind in ("Deployment", "Secret", "Namespace")
    ]
    execute(both, Graph({}, {}), note, pool=pool, width=1, deadline=Deadline.after(60))
    assert order == ["Namespace", "Secret", "Deployment"]


def test_what_depends_on_something_that_is_not_healthy_waits_and_so_does_what_needs_it(
    pool: ThreadPoolExecutor,
) -> None:
    graph = Graph(edges(a="", b="a", c="b", d=""), edges(a="", b="", c="", d=""), {}, edges(b="az"))
    recorder = Recorder()
    health = {key("a"): "", key("z"): "is Progressing: 0/1 replicas"}
    outcomes = execute(
        actions("abcd"), graph, recorder, pool=pool, width=4, deadline=Deadline.after(60), missing=health.__getitem__
    )
    found = {outcome.action.key.name: (outcome.action.reason, outcome.action.message) for outcome in outcomes}
    assert sorted(recorder.ended) == ["a", "d"]
    assert found["b"] == (WAITS, "waits for ConfigMap shop/z, which is Progressing: 0/1 replicas")
    assert found["c"] == (WAITS, "waits for ConfigMap shop/b, which waits too")
    assert {outcome.status for outcome in outcomes} == {OutcomeStatus.DONE}
