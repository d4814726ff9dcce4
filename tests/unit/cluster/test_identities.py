from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from syncd.cluster import Cluster
from syncd.cluster.errors import RequestCancelledError
from tests.faults.cluster.fakeapi import FakeAPI, transport_to

if TYPE_CHECKING:
    from collections.abc import Iterator

ALICE, BOB = "system:serviceaccount:a:alice", "system:serviceaccount:b:bob"


@pytest.fixture
def server() -> Iterator[FakeAPI]:
    with FakeAPI(lambda exchange: exchange.reply({})) as fake:
        yield fake


@pytest.fixture
def cluster(server: FakeAPI) -> Iterator[Cluster]:
    with Cluster(transport_to(server.url)) as opened:
        yield opened


def ask(cluster: Cluster) -> None:
    cluster.transport.request("GET", "/version")


def names(server: FakeAPI) -> list[Any]:
    return [request.headers.get("Impersonate-User") for request in server.requests]


def test_requests_carry_the_name_they_are_made_in_and_no_groups(server: FakeAPI, cluster: Cluster) -> None:
    for user in ("", ALICE, BOB):
        ask(cluster.acting_for(f"of {user}", user))
    assert names(server) == [None, ALICE, BOB]
    assert not any("Impersonate-Group" in request.headers for request in server.requests)


def test_clients_of_one_user_share_its_cluster_and_all_share_what_the_server_serves(cluster: Cluster) -> None:
    one, other = cluster.acting_for("one", ALICE), cluster.acting_for("other", ALICE)
    assert one is other
    assert one.live is not cluster.live
    assert one.discovery is cluster.discovery
    assert one.schemas is cluster.schemas
    assert cluster.lives() == (cluster.live, one.live)


def test_a_cluster_is_closed_when_its_last_client_has_left(cluster: Cluster) -> None:
    alice = cluster.acting_for("one", ALICE)
    cluster.acting_for("other", ALICE)
    bob = cluster.acting_for("one", BOB)
    ask(alice)
    cluster.forget("other")
    with pytest.raises(RequestCancelledError):
        ask(alice)
    ask(bob)
    assert cluster.acting_for("one", "") is cluster
    with pytest.raises(RequestCancelledError):
        ask(bob)
    assert cluster.lives() == (cluster.live,)


def test_closing_the_cluster_closes_those_of_all_users(cluster: Cluster) -> None:
    alice = cluster.acting_for("one", ALICE)
    cluster.close()
    for closed in (alice, cluster.acting_for("other", BOB)):
        with pytest.raises(RequestCancelledError):
            ask(closed)


def test_the_fence_holds_for_every_name(server: FakeAPI) -> None:
    def fence() -> None:
        raise RequestCancelledError("no longer the leader")

    with (
        Cluster(transport_to(server.url, before_write=fence)) as cluster,
        pytest.raises(RequestCancelledError, match="no longer the leader"),
    ):
        cluster.acting_for("one", ALICE).transport.request("POST", "/api/v1/namespaces", body={})
    assert not server.requests
