from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest

from syncd.cluster.errors import ForbiddenError, NotFoundError
from syncd.cluster.events import Note, Recorder, Reference

if TYPE_CHECKING:
    from collections.abc import Callable

    from syncd.cluster import Client
    from syncd.model import JSONObject, Write

WEB = Reference("apps/v1", "Deployment", "shop", "web", "uid-1")


def note(text: str = "it changed", *, about: Reference = WEB, source: str = "syncd/shop") -> Note:
    return Note(about, "Normal", "Updated", "Update", text, source)


class Server:
    """Takes events, or fails as a test says."""

    def __init__(self) -> None:
        self.failures: list[Exception] = []
        self.made: list[JSONObject] = []
        self.patched: list[tuple[str, Any]] = []

    def create(self, _resource: object, body: JSONObject, **_: object) -> JSONObject:
        if self.failures:
            raise self.failures.pop(0)
        self.made.append(body)
        return body

    def patch(self, _resource: object, _namespace: str, name: str, write: Write, **_: object) -> JSONObject:
        if self.failures:
            raise self.failures.pop(0)
        assert write.body is not None
        self.patched.append((name, write.body["series"]["count"]))
        return {}


@pytest.fixture
def server() -> Server:
    return Server()


def write(server: Server, *notes: Note, clock: Callable[[], float] = lambda: 0.0) -> Recorder:
    """Record before the thread begins, and end it when all is written."""
    recorder = Recorder(cast("Client", server), "syncd-0_1234", clock)
    for item in notes:
        recorder.record(item)
    recorder.start()
    recorder.stop()
    return recorder


def test_an_event_has_what_kubectl_shows(server: Server) -> None:
    write(server, note())
    (event,) = server.made
    assert event["metadata"]["namespace"] == "shop"
    assert event["metadata"]["name"].startswith("web.")
    assert event["regarding"] == {
        "apiVersion": "apps/v1", "kind": "Deployment", "namespace": "shop", "name": "web", "uid": "uid-1",
    }  # fmt: skip
    assert (event["type"], event["reason"], event["action"], event["note"]) == (
        "Normal", "Updated", "Update", "it changed",
    )  # fmt: skip


def test_an_event_of_an_object_without_namespace_is_in_the_default_one(server: Server) -> None:
    write(server, note(about=Reference("rbac.authorization.k8s.io/v1", "ClusterRole", "", "system:A")))
    (event,) = server.made
    assert event["metadata"]["namespace"] == "default"
    assert event["metadata"]["name"].startswith("system.a.")
    assert "namespace" not in event["regarding"]


def test_equal_events_are_one_that_is_counted_with_ever_fewer_writes(server: Server) -> None:
    write(server, *[note()] * 20)
    assert len(server.made) == 1
    name = server.made[0]["metadata"]["name"]
    assert server.patched == [(name, 2), (name, 4), (name, 8), (name, 16)]


def test_an_equal_event_much_later_is_a_new_one(server: Server) -> None:
    times = iter([0.0, 0.0, 0.0, 5000.0])  # each is recorded, then written
    write(server, note(), note(), clock=lambda: next(times))
    assert len(server.made) == 2


def test_a_source_has_a_rate_and_takes_nothing_from_others(server: Server) -> None:
    recorder = write(server, *(note(str(number)) for number in range(100)), note("other", source="syncd/other"))
    assert len(server.made) == 31
    assert server.made[-1]["note"] == "other"
    assert recorder.dropped == 70


def test_what_cannot_be_written_is_lost_and_nothing_else(server: Server) -> None:
    server.failures += [ForbiddenError("no"), RuntimeError("a defect")]
    write(server, note("one"), note("two"), note("three"))
    assert [event["note"] for event in server.made] == ["three"]


def test_an_event_that_the_server_forgot_is_made_anew(server: Server) -> None:
    recorder = Recorder(cast("Client", server), "syncd-0", lambda: 0.0)
    recorder._write(note())
    server.failures.append(NotFoundError("gone"))
    recorder._write(note())
    assert len(server.made) == 2


def test_a_long_text_is_cut_where_the_server_would_refuse_it(server: Server) -> None:
    write(server, note("ä" * 2000))
    assert len(server.made[0]["note"].encode()) <= 1024
