"""``syncd status`` against the daemon's own web server."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING

import pytest
from prometheus_client import CollectorRegistry

from syncd.cli.exits import Exit
from syncd.cli.main import run
from syncd.daemon.board import StatusBoard
from syncd.model import ActionType, FieldChange
from syncd.web import WebServer, create_app

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.unit.cli.conftest import Make


@pytest.fixture
def board() -> StatusBoard:
    return StatusBoard()


@pytest.fixture
def address(board: StatusBoard) -> Iterator[str]:
    server = WebServer(create_app(board, CollectorRegistry()))
    server.start()
    yield server.url
    server.stop()


def test_all_syncs_are_a_table_and_their_troubles_below_it(
    make: Make, board: StatusBoard, address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    board.put(make.status("shop-dev"))
    board.put(make.status("shop-prod", error="it does not build", problems=("no such file",), failing_since=make.now))
    assert run(["status", "--address", address]) == Exit.OK
    shown = capsys.readouterr().out
    assert "syncd/shop-dev" in shown
    assert "main@aaaaaaa " in shown
    assert "syncd/shop-prod: it does not build (failing since" in shown
    assert "! no such file" in shown


def test_one_sync_is_shown_with_its_drift_and_objects(
    make: Make, board: StatusBoard, address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    changes = (FieldChange("spec.replicas", 1, 3),)
    board.put(
        make.status(objects=(make.object(ActionType.UPDATE, changes=changes),), drift=(make.drift(),)), reconciled=True
    )
    assert run(["status", "shop-dev", "--address", address]) == Exit.OK
    shown = capsys.readouterr().out
    assert "drift: Deployment.apps shop-dev/worker changed by kubectl" in shown
    assert "~ spec.replicas: 5 → 1" in shown
    assert "~ Deployment.apps shop-dev/web: it was changed in Git" in shown


def test_json_is_what_the_daemon_says(
    make: Make, board: StatusBoard, address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    board.put(make.status())
    assert run(["status", "--address", address.removeprefix("http://"), "--output", "json"]) == Exit.OK
    (item,) = json.loads(capsys.readouterr().out)["items"]
    assert (item["id"], item["state"]) == ("syncd/shop-dev", "Synced")


def test_a_sync_that_is_not_there_is_an_error(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["status", "nope", "--address", address]) == Exit.FAILURE
    assert capsys.readouterr().err == "error: the daemon says: There is no Sync syncd/nope.\n"


def test_no_daemon_is_one_clear_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["status", "--address", "http://127.0.0.1:1"]) == Exit.FAILURE
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("error: no daemon answers at http://127.0.0.1:1/")
    assert "Connection refused" in shown.err
    assert len(shown.err.splitlines()) == 1


def test_something_else_at_the_address_is_no_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    class Stranger(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"<html>")

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Stranger) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        assert run(["status", "--address", f"127.0.0.1:{server.server_port}"]) == Exit.FAILURE
        thread.join()
    assert "is no syncd" in capsys.readouterr().err


def test_a_replica_that_stands_by_knows_nothing_and_says_who_does(
    board: StatusBoard, address: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(board, "standby", lambda: "other leads")
    assert run(["status", "--address", address]) == Exit.FAILURE
    assert "stands by: other leads; ask the one that leads" in capsys.readouterr().err
