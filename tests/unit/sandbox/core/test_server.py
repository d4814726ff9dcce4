from __future__ import annotations

import socket
import threading
from typing import TYPE_CHECKING

import pytest
import urllib3
import yaml

from syncd.model import SyncdError
from syncd.sandbox.app import Audit, Fault
from syncd.sandbox.responses import Response
from syncd.sandbox.server import SandboxServer
from tests.unit.sandbox.core.client import CONFIG_MAPS, Http, config_map

if TYPE_CHECKING:
    from pathlib import Path

    from syncd.sandbox.requests import Request
    from tests.unit.sandbox.core.conftest import Start


def test_a_server_can_start_and_stop_and_leaves_nothing() -> None:
    before = set(threading.enumerate())
    for _ in range(3):
        with SandboxServer() as server:
            assert server.url.startswith("http://127.0.0.1:")
    assert set(threading.enumerate()) == before


def test_a_stopped_server_has_no_address() -> None:
    server = SandboxServer(controllers=False)
    with pytest.raises(SyncdError, match="not running"):
        _ = server.url
    server.stop()


def test_a_port_that_is_taken_is_an_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(SyncdError, match=f"cannot listen on 127.0.0.1:{port}"):
            SandboxServer(port=port).start()


def test_it_begins_with_what_every_cluster_has(http: Http) -> None:
    names = [item["metadata"]["name"] for item in http.get("/api/v1/namespaces").data["items"]]
    assert names == ["default", "kube-node-lease", "kube-public", "kube-system"]
    assert http.get("/api/v1/namespaces/default/services/kubernetes").status == 200


def test_objects_outlive_a_restart(start: Start) -> None:
    server, http = start()
    http.post(CONFIG_MAPS, config_map())
    server.stop()
    server.start()
    assert Http(server.url).get(f"{CONFIG_MAPS}/a").status == 200


def test_the_kubeconfig_is_for_its_owner_only(start: Start, tmp_path: Path) -> None:
    server, _ = start(token="secret-token")
    path = server.write_kubeconfig(tmp_path / "new" / "config")
    assert path.stat().st_mode & 0o777 == 0o600
    config = yaml.safe_load(path.read_text())
    assert config["clusters"][0]["cluster"]["server"] == server.url
    assert config["users"][0]["user"] == {"token": "secret-token"}


def test_a_token_must_be_shown(start: Start) -> None:
    _, http = start(token="secret-token")
    refused = http.get("/api/v1/namespaces")
    assert (refused.status, refused.data["reason"]) == (401, "Unauthorized")
    assert http.get("/api/v1/namespaces", authorization="Bearer secret-token").status == 200
    assert http.get("/readyz").status == 200


def test_every_request_is_told(start: Start) -> None:
    told: list[Audit] = []
    _, http = start(on_request=told.append)
    http.post(CONFIG_MAPS, config_map(), user_agent="me/1")
    http.get(f"{CONFIG_MAPS}/none")
    next(http.watch(f"{CONFIG_MAPS}?watch=1"))
    assert [(a.verb, a.resource, a.namespace, a.name, a.code) for a in told] == [
        ("create", "configmaps", "default", "", 201),
        ("get", "configmaps", "default", "none", 404),
        ("watch", "configmaps", "default", "", 200),
    ]
    assert (told[0].user_agent, told[2].query) == ("me/1", "watch=1")


def faulty(verb: str, fault: Fault) -> dict[str, object]:
    def intercept(request: Request) -> Fault | None:
        return fault if request.verb == verb else None

    return {"intercept": intercept}


def test_a_request_cut_before_is_not_done(start: Start) -> None:
    _, http = start(**faulty("create", Fault(cut="before")))
    with pytest.raises(urllib3.exceptions.ProtocolError):
        http.post(CONFIG_MAPS, config_map())
    assert http.get(f"{CONFIG_MAPS}/a").status == 404


def test_a_request_cut_after_is_done(start: Start) -> None:
    _, http = start(**faulty("create", Fault(cut="after")))
    with pytest.raises(urllib3.exceptions.ProtocolError):
        http.post(CONFIG_MAPS, config_map())
    assert http.get(f"{CONFIG_MAPS}/a").status == 200


def test_a_watch_can_be_cut_after_its_first_events(start: Start) -> None:
    _, http = start(**faulty("watch", Fault(cut="after")))
    http.post(CONFIG_MAPS, config_map())
    with pytest.raises(urllib3.exceptions.ProtocolError):
        list(http.watch(f"{CONFIG_MAPS}?watch=1"))


def test_an_answer_can_be_put_in_place_of_the_true_one(start: Start) -> None:
    busy = Response(429, b'{"kind":"Status","code":429}', headers=((b"retry-after", b"1"),))
    _, http = start(**faulty("list", Fault(response=busy)))
    answer = http.get(CONFIG_MAPS)
    assert (answer.status, answer.headers["retry-after"]) == (429, "1")


def test_a_delayed_request_holds_up_no_other(start: Start) -> None:
    released = threading.Event()

    def intercept(request: Request) -> Fault | None:
        return Fault(delay=0.2) if request.verb == "list" else None

    _, http = start(intercept=intercept)

    def slow() -> None:
        http.get(CONFIG_MAPS)
        released.set()

    thread = threading.Thread(target=slow)
    thread.start()
    assert http.get("/healthz").status == 200
    thread.join(30)
    assert released.is_set()


def test_all_connections_can_be_cut(start: Start) -> None:
    server, http = start()
    watch = http.watch(f"{CONFIG_MAPS}?watch=1")
    http.post(CONFIG_MAPS, config_map())
    next(watch)
    server.cut_connections()
    with pytest.raises(urllib3.exceptions.ProtocolError):
        next(watch)


def test_a_mistake_of_the_server_is_an_internal_error(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    server, http = start()
    object.__setattr__(server.context, "clock", lambda: 1 / 0)
    answer = http.post(CONFIG_MAPS, config_map())
    assert (answer.status, answer.data["reason"]) == (500, "InternalError")
    assert "POST" in caplog.text


def test_requests_of_many_threads_are_all_done(start: Start) -> None:
    _, http = start()

    def work(number: int) -> None:
        mine = Http(http.url)
        for index in range(20):
            assert mine.post(CONFIG_MAPS, config_map(f"a{number}-{index}")).status == 201
        mine.pool.clear()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    listed = http.get(CONFIG_MAPS)
    assert len(listed.data["items"]) == 80
    assert len({item["metadata"]["resourceVersion"] for item in listed.data["items"]}) == 80
