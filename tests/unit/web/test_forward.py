from __future__ import annotations

import hashlib
import hmac
import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
import urllib3
from prometheus_client import CollectorRegistry

from syncd.web import WebServer, create_app
from syncd.web.forward import FORWARDED
from syncd.web.hooks import Hooks, SecretFile
from tests.unit.web import sample

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PUSH = json.dumps({"url": "https://git.example.com/platform/prod.git"}).encode()


@contextmanager
def serving(board: sample.FakeBoard, hooks: Hooks | None = None) -> Iterator[WebServer]:
    server = WebServer(create_app(board, CollectorRegistry(), clock=lambda: sample.NOW, hooks=hooks))
    server.start()
    try:
        yield server
    finally:
        server.stop()


class Pair:
    """A replica that leads, and one that stands by."""

    def __init__(self, leader: WebServer, follower: WebServer, board: sample.FakeBoard, triggered: list[str]) -> None:
        self.leader = leader
        self.follower = follower
        self.board = board
        self.triggered = triggered

    def ask(self, path: str, method: str = "GET", **options: Any) -> urllib3.BaseHTTPResponse:
        """Ask the one that stands by."""
        with urllib3.PoolManager() as pool:
            return pool.request(method, self.follower.url + path, retries=False, timeout=30, **options)

    def push(self, secret: bytes) -> urllib3.BaseHTTPResponse:
        signature = "sha256=" + hmac.new(secret, PUSH, hashlib.sha256).hexdigest()
        return self.ask("/hooks/generic", "POST", body=PUSH, headers={"X-Signature": signature})


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    secret = tmp_path / "secret"
    secret.write_text("hunter2\n")
    triggered: list[str] = []
    leads, stands_by = sample.believable(), sample.FakeBoard(stands_by="one leads")
    hooks = [Hooks(board, triggered.append, SecretFile(secret)) for board in (leads, stands_by)]
    with serving(leads, hooks[0]) as leader, serving(stands_by, hooks[1]) as follower:
        stands_by.leads_at = leader.url
        yield Pair(leader, follower, stands_by, triggered)


def test_pages_and_json_are_those_of_the_leader(pair: Pair) -> None:
    page = pair.ask("/syncs/syncd/shop-prod?show=failed", headers={"Accept-Encoding": "gzip"})
    assert page.status == 200
    assert b"shop/worker" in page.data
    assert page.headers["Content-Security-Policy"]
    assert len(pair.ask("/api/v1/syncs").json()["items"]) == 12
    assert pair.ask("/api/v1/syncs/syncd/nothing").status == 404


def test_a_push_reaches_the_leader_which_looks_at_the_signature(pair: Pair) -> None:
    assert pair.push(b"hunter2").status == 202
    assert "syncd/shop-prod" in pair.triggered
    pair.triggered.clear()
    assert pair.push(b"guessed").status == 401
    assert pair.triggered == []


def test_probes_metrics_and_static_files_are_its_own(pair: Pair) -> None:
    pair.board.not_alive = "the election is not running"
    pair.leader.stop()
    assert pair.ask("/healthz").status == 503
    assert [pair.ask(path).status for path in ("/readyz", "/metrics", "/static/style.css")] == [200, 200, 200]


def test_a_leader_that_does_not_answer_is_told(pair: Pair) -> None:
    pair.leader.stop()
    answer = pair.push(b"hunter2")
    assert (answer.status, answer.headers["Retry-After"]) == (503, "5")
    assert "does not answer" in answer.json()["error"]


def test_nothing_is_handed_on_twice_or_to_nobody(pair: Pair) -> None:
    assert pair.ask("/api/v1/syncs", headers={FORWARDED: "1"}).json()["standby"] == "one leads"
    pair.board.leads_at = pair.follower.url
    assert pair.ask("/api/v1/syncs").json()["standby"] == "one leads"
    pair.board.leads_at = ""
    assert b"one leads" in pair.ask("/").data
    assert pair.push(b"hunter2").status == 503
