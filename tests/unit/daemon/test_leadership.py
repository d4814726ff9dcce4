from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from syncd.cluster.errors import ConflictError, ForbiddenError
from syncd.daemon.board import StatusBoard
from syncd.daemon.election import ElectionTiming, NotLeaderError
from syncd.daemon.leadership import Leadership
from syncd.daemon.replica import Replica, Term
from tests.support.daemon import eventually

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from syncd.model import JSONObject

SLOW = ElectionTiming(600, 500, 0.01)
"""Nobody loses this one by being slow."""


class FakeLease:
    """A Lease on a server that a test can take away."""

    def __init__(self) -> None:
        self.spec: JSONObject | None = None
        self.version = 0
        self.trouble: Exception | None = None

    def read(self, timeout: float) -> JSONObject | None:
        assert timeout > 0
        if self.trouble:
            raise self.trouble
        return None if self.spec is None else self._document()

    def write(self, spec: JSONObject, resource_version: str, timeout: float) -> JSONObject:
        assert timeout > 0
        if self.trouble:
            raise self.trouble
        if resource_version != (str(self.version) if self.spec else ""):
            raise ConflictError("somebody was faster")
        self.take(spec)
        return self._document()

    def take(self, spec: JSONObject) -> None:
        self.spec, self.version = spec, self.version + 1

    def holder(self) -> str:
        return str((self.spec or {}).get("holderIdentity", ""))

    def _document(self) -> JSONObject:
        return {"metadata": {"resourceVersion": str(self.version)}, "spec": self.spec}


class FakeDaemon:
    def __init__(self, log: list[str]) -> None:
        self.board = StatusBoard()
        self._log = log

    def start(self) -> None:
        self._log.append("start")

    def stop(self, timeout: float) -> bool:
        assert timeout > 0
        self._log.append("stop")
        return True


class Scene:
    """A replica whose daemon only notes what it is told."""

    def __init__(self, lease: FakeLease, timing: ElectionTiming = SLOW) -> None:
        self.lease = lease
        self.log: list[str] = []
        self.fences: list[Callable[[], None]] = []
        self.leadership = Leadership(_any(lease), "me", timing, observe=self.log.append)
        self.replica = Replica(self.leadership, self._begin)

    @contextmanager
    def _begin(self, fence: Callable[[], None]) -> Iterator[Term]:
        self.fences.append(fence)
        yield Term(_any(FakeDaemon(self.log)), threading.Event(), lambda: self.log.append("abort"))
        self.log.append("closed")

    def works(self) -> bool:
        return not self.replica.standby()


def _any(value: Any) -> Any:
    return value


@pytest.fixture
def lease() -> FakeLease:
    return FakeLease()


@pytest.fixture
def scene(lease: FakeLease) -> Iterator[Scene]:
    made = Scene(lease)
    made.replica.start()
    yield made
    made.lease.trouble = None
    made.replica.stop()


def others(duration: int = 600) -> JSONObject:
    return {"holderIdentity": "other", "leaseDurationSeconds": duration, "leaseTransitions": 1}


def test_a_replica_that_gets_the_lease_works_and_gives_it_back_when_it_has_ended(scene: Scene) -> None:
    eventually("it works", scene.works)
    scene.fences[0]()
    assert scene.lease.holder() == "me"
    assert scene.replica.stop()
    assert scene.lease.holder() == ""
    assert [told for told in scene.log if told != "acquired"] == ["start", "stop", "abort", "closed", "released"]
    with pytest.raises(NotLeaderError):
        scene.fences[0]()


def test_a_replica_stands_by_while_another_one_leads(lease: FakeLease) -> None:
    lease.take(others())
    scene = Scene(lease)
    scene.replica.start()
    eventually("it has seen who leads", lambda: scene.replica.standby() == "other leads")
    assert scene.replica.ready() == scene.replica.alive() == ""
    assert scene.replica.statuses() == ()
    with pytest.raises(KeyError):
        scene.replica.trigger("syncd/shop")
    assert scene.replica.stop()
    assert lease.holder() == "other"
    assert scene.log == []


def test_a_leader_that_finds_another_holder_cuts_its_requests_and_may_write_no_more(scene: Scene) -> None:
    eventually("it works", scene.works)
    scene.lease.take(others())
    eventually("it stands by", lambda: scene.replica.standby() == "other leads")
    with pytest.raises(NotLeaderError):
        scene.fences[0]()
    eventually("the term has been closed", lambda: "closed" in scene.log)
    assert {"abort", "stop", "lost"} <= set(scene.log)


def test_another_term_has_another_fence_and_the_old_one_stays_shut(scene: Scene) -> None:
    eventually("it works", scene.works)
    scene.lease.take(others())
    eventually("it stands by", lambda: scene.replica.standby() == "other leads")
    scene.lease.take({**others(), "holderIdentity": ""})
    eventually("it works again", scene.works)
    scene.fences[1]()
    with pytest.raises(NotLeaderError):
        scene.fences[0]()


def test_a_leader_that_cannot_renew_stops_by_its_own_clock(lease: FakeLease) -> None:
    scene = Scene(lease, ElectionTiming(2, 1, 0.01))
    scene.replica.start()
    eventually("it works", scene.works)
    lease.trouble = ForbiddenError("you may not update leases")
    eventually("it stands by", lambda: not scene.works())
    assert "you may not update leases" in scene.replica.ready()
    assert "abort" in scene.log
    scene.replica.stop()
