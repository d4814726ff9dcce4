"""Two replicas as processes of their own on a real control plane: at most one of them writes, whatever happens."""

from __future__ import annotations

import itertools
import threading
from typing import TYPE_CHECKING, NamedTuple, Self

import pytest

from tests.support.daemon import DaemonProcess, eventually, metric, sync_document

if TYPE_CHECKING:
    from pathlib import Path

    from tests.controlplane.audit import Request
    from tests.controlplane.fixtures import NewNamespace
    from tests.controlplane.proxy import Proxy
    from tests.controlplane.server import ControlPlane
    from tests.support.repository import Repository

pytestmark = pytest.mark.controlplane

ADMINISTRATORS = ("system:masters",)
DURATION = 6
QUICK = ("--lease-duration", f"{DURATION}s", "--lease-renew-deadline", "4s", "--lease-retry-period", "500ms")
PATIENT = ("--lease-duration", "10m", "--lease-renew-deadline", "9m", "--lease-retry-period", "500ms")
SETTING = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: setting-%d, namespace: %s}\ndata: {value: '%d'}\n"
OBJECTS = 4


class Replica(NamedTuple):
    """One of the two, with a user and a way to the API server of its own."""

    user: str
    daemon: DaemonProcess
    proxy: Proxy

    def leads(self) -> bool:
        return metric(self.daemon, "syncd_leader") == 1


class Pair:
    """Two replicas that serve one Sync, and a repository that gives them something to write all the time."""

    def __init__(
        self, control_plane: ControlPlane, repository: Repository, namespace: str, folder: Path, pace: tuple[str, ...]
    ) -> None:
        self.control_plane = control_plane
        self.namespace = namespace
        self._repository = repository
        self._numbers = itertools.count(1)
        self._enough = threading.Event()
        self._committer = threading.Thread(target=self._commit_on_and_on)
        self._mark = control_plane.audit().mark()
        self.commit()
        self.replicas = tuple(self._replica(f"{namespace}-{name}", folder, pace) for name in ("a", "b"))

    def _replica(self, user: str, folder: Path, pace: tuple[str, ...]) -> Replica:
        place = folder / user
        place.mkdir()
        proxy = self.control_plane.proxy()
        kubeconfig = self.control_plane.kubeconfig_for(user, ADMINISTRATORS, through=proxy)
        options = ("--leader-elect", "--lease-namespace", self.namespace, *pace)
        sync = sync_document(self.namespace, self._repository.url)
        return Replica(user, DaemonProcess(place, kubeconfig, sync, options=options), proxy)

    def __enter__(self) -> Self:
        for replica in self.replicas:
            replica.daemon.start()
        self._committer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._enough.set()
        for replica in self.replicas:
            replica.daemon.kill()
        self._committer.join()

    def commit(self) -> str:
        number = next(self._numbers)
        documents = [SETTING % (index, self.namespace, number) for index in range(OBJECTS)]
        return self._repository.commit({"all.yaml": "---\n".join(documents)})

    def _commit_on_and_on(self) -> None:
        while not self._enough.wait(0.2):
            self.commit()

    def split(self) -> tuple[Replica, Replica]:
        """The leader, and the one that stands by, once there is one of each."""

        def attempt() -> tuple[Replica, Replica] | None:
            one, other = self.replicas
            if one.leads() == other.leads():
                return None
            return (one, other) if one.leads() else (other, one)

        return eventually("one of the two leads", attempt)

    def wait_written_by(self, replica: Replica) -> None:
        """Wait until a replica has written objects, from now on."""
        mark = self.control_plane.audit().mark()

        def attempt() -> bool:
            return any(one.user == replica.user and self._is_write(one) for one in self._since(mark))

        eventually(f"{replica.user} writes", attempt)

    def _since(self, mark: int) -> tuple[Request, ...]:
        return self.control_plane.audit().since(mark).where(writes=True, namespace=self.namespace)

    @staticmethod
    def _is_write(request: Request) -> bool:
        return request.resource == "configmaps" and request.code < 300

    def nobody_wrote_out_of_term(self) -> None:
        """Hold every write against the Lease, as the API server has seen both."""
        writers = {replica.user for replica in self.replicas}
        requests = [one for one in self._since(self._mark) if one.user in writers and one.code < 300]
        renewals = [one for one in requests if one.resource == "leases"]
        writes = [one for one in requests if self._is_write(one)]
        assert {one.user for one in writes} == writers, "both have led, or this proves nothing"
        for one in writes:
            before = [renewal for renewal in renewals if renewal.received <= one.received]
            assert before, f"{one.user} wrote before anybody had the Lease"
            last = max(before, key=lambda renewal: renewal.received)
            assert last.user == one.user, f"{one.user} wrote while {last.user} had the Lease"
            assert one.answered - last.received < DURATION, f"{one.user} wrote after its Lease had ended"
        for one, other in itertools.combinations(writes, 2):
            if one.user != other.user:
                assert one.answered < other.received or other.answered < one.received, "both wrote at the same moment"


@pytest.fixture
def make_pair(
    control_plane: ControlPlane, namespace_factory: NewNamespace, repository: Repository, tmp_path: Path
) -> MakePair:
    return MakePair(control_plane, namespace_factory, repository, tmp_path)


class MakePair(NamedTuple):
    control_plane: ControlPlane
    new_namespace: NewNamespace
    repository: Repository
    folder: Path

    def __call__(self, pace: tuple[str, ...]) -> Pair:
        return Pair(self.control_plane, self.repository, self.new_namespace(), self.folder, pace)


def test_a_leader_that_is_killed_stopped_or_cut_off_is_replaced_and_never_writes_out_of_its_term(
    make_pair: MakePair,
) -> None:
    with make_pair(QUICK) as pair:
        killed, other = pair.split()
        pair.wait_written_by(killed)
        killed.daemon.kill()
        pair.wait_written_by(other)
        killed.daemon.start()

        stopped, other = pair.split()
        assert "leads" in other.daemon.get("/")
        stopped.daemon.pause()
        pair.wait_written_by(other)
        stopped.daemon.resume()
        eventually("the stopped one stands by", lambda: not stopped.leads())
        pair.wait_written_by(other)

        cut_off, other = pair.split()
        cut_off.proxy.black_hole()
        pair.wait_written_by(other)
        eventually("the one that is cut off knows it", lambda: not cut_off.leads())
        cut_off.proxy.restore()
        pair.wait_written_by(other)
        eventually("it tells", lambda: metric(cut_off.daemon, "syncd_leader_changes_total", change="lost") == 1)
    pair.nobody_wrote_out_of_term()


def test_a_leader_that_is_told_to_end_hands_over_without_anybody_waiting_for_the_lease_to_end(
    make_pair: MakePair,
) -> None:
    with make_pair(PATIENT) as pair:
        leader, other = pair.split()
        pair.wait_written_by(leader)
        assert leader.daemon.stop() == 0
        pair.wait_written_by(other)
