from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import pytest

from syncd.cluster.errors import NotFoundError, ServerError
from syncd.daemon import statuswriter
from syncd.daemon.objects import SYNCS
from syncd.daemon.status import SyncState, SyncStatus
from syncd.daemon.statuswriter import StatusWriter
from syncd.model import Revision
from syncd.spec.objects import parse_object

if TYPE_CHECKING:
    from collections.abc import Iterator

    from syncd.cluster import Client
    from syncd.model import JSONObject, Write
    from syncd.spec import Sync

REVISION = Revision("main", "c" * 40, "t" * 40)


def sync_object(name: str = "shop", generation: int = 1, **status: Any) -> JSONObject:
    return {
        "metadata": {"name": name, "namespace": "team", "uid": f"uid-{name}", "generation": generation},
        "spec": {"source": {"git": {"url": "https://git.example.com/a.git"}}},
        "status": status,
    }


class FakeClient:
    """Takes what is written, or fails as a test says."""

    def __init__(self) -> None:
        self.failures: list[Exception] = []
        self.written: list[JSONObject] = []
        self._news = threading.Condition()

    def patch(self, _resource: object, _namespace: str, _name: str, write: Write, **options: Any) -> JSONObject:
        assert options["subresource"] == "status"
        with self._news:
            if self.failures:
                raise self.failures.pop(0)
            assert write.body is not None
            self.written.append(write.body)
            self._news.notify_all()
        return {}

    def wait(self, count: int) -> list[JSONObject]:
        with self._news:
            assert self._news.wait_for(lambda: len(self.written) >= count, timeout=60)
            return self.written


@pytest.fixture
def client() -> FakeClient:
    return FakeClient()


@pytest.fixture
def writer(client: FakeClient) -> Iterator[StatusWriter]:
    writer = StatusWriter(cast("Client", client), SYNCS)
    writer.start()
    yield writer
    writer.stop()


def done(sync: Sync) -> SyncStatus:
    return SyncStatus(sync, state=SyncState.SYNCED, reason="Succeeded", attempted=REVISION, applied=REVISION)


def follow(writer: StatusWriter, obj: JSONObject) -> Sync:
    sync = parse_object(obj)
    writer.follow(obj, sync)
    return sync


def test_the_end_of_a_reconcile_is_written_once(writer: StatusWriter, client: FakeClient) -> None:
    sync = follow(writer, sync_object())
    for _ in range(3):
        writer.status_changed(replace(done(sync), reconciling=True))
        writer.reconciled(done(sync))
    client.wait(1)
    writer.stop()
    assert len(client.written) == 1
    assert client.written[0]["metadata"] == {"name": "shop", "namespace": "team", "uid": "uid-shop"}
    status = client.written[0]["status"]
    assert (status["observedGeneration"], status["revision"]) == (1, "main@cccccccccccc")


def test_after_a_restart_nothing_is_written_until_something_is_found_out(
    writer: StatusWriter, client: FakeClient
) -> None:
    sync = follow(writer, sync_object())
    writer.reconciled(done(sync))
    status = client.wait(1)[0]["status"]
    second = StatusWriter(cast("Client", client), SYNCS)
    second.start()
    again = follow(second, sync_object(**status))
    second.status_changed(SyncStatus(again))
    second.reconciled(done(again))
    second.stop()
    assert len(client.written) == 1


def test_what_belongs_to_an_older_generation_is_not_written(writer: StatusWriter, client: FakeClient) -> None:
    old = follow(writer, sync_object())
    new = follow(writer, sync_object(generation=2))
    writer.reconciled(replace(done(old), reason="ApplyFailed", error="old"))
    writer.reconciled(done(new))
    writer.stop()
    assert [body["status"]["observedGeneration"] for body in client.written] == [2]


def test_a_request_is_answered_by_a_reconcile_that_began_after_it(writer: StatusWriter, client: FakeClient) -> None:
    sync = follow(writer, sync_object())
    writer.status_changed(replace(done(sync), reconciling=True))
    writer.request("team/shop", "now")
    writer.reconciled(done(sync))
    assert "lastHandledRequest" not in client.wait(1)[0]["status"]
    writer.status_changed(replace(done(sync), reconciling=True))
    writer.reconciled(done(sync))
    assert client.wait(2)[1]["status"]["lastHandledRequest"] == "now"


def test_a_failed_write_is_tried_again_and_holds_up_nobody(
    writer: StatusWriter, client: FakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(statuswriter, "_RETRY", 0.05)
    client.failures += [ServerError("away"), RuntimeError("a defect")]
    for name in ("one", "two", "three"):
        writer.reconciled(done(follow(writer, sync_object(name))))
    assert {body["metadata"]["name"] for body in client.wait(3)} == {"one", "two", "three"}


def test_an_object_that_is_gone_is_given_up(writer: StatusWriter, client: FakeClient) -> None:
    client.failures.append(NotFoundError("gone"))
    writer.reconciled(done(follow(writer, sync_object("gone"))))
    writer.reconciled(done(follow(writer, sync_object("there"))))
    writer.stop()
    assert [body["metadata"]["name"] for body in client.written] == ["there"]


def test_a_status_that_makes_no_sense_is_written_anew(writer: StatusWriter, client: FakeClient) -> None:
    sync = follow(writer, sync_object(conditions="nonsense"))
    writer.reconciled(done(sync))
    assert client.wait(1)[0]["status"]["state"] == "Synced"


def test_an_object_that_cannot_be_followed_says_so_at_once(writer: StatusWriter, client: FakeClient) -> None:
    writer.refuse(sync_object(), ("spec.path: is bad",))
    conditions = {item["type"]: item for item in client.wait(1)[0]["status"]["conditions"]}
    assert (conditions["Stalled"]["status"], conditions["Stalled"]["message"]) == ("True", "spec.path: is bad")
