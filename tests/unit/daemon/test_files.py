from __future__ import annotations

import threading
from typing import TYPE_CHECKING, cast

import pytest
from structlog.testing import capture_logs

from syncd.daemon.config import ConfigError
from syncd.daemon.files import FileFollower

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from syncd.daemon.service import Daemon
    from syncd.spec import Sync


def document(name: str, interval: str = "1m") -> str:
    return f"""\
apiVersion: syncd.dev/v1alpha1
kind: Sync
metadata: {{name: {name}}}
spec: {{source: {{git: {{url: "https://git.example.com/a.git"}}}}, interval: {interval}}}
---
"""


class FakeDaemon:
    """Knows what it was told."""

    def __init__(self) -> None:
        self._told: list[tuple[str, str]] = []
        self._news = threading.Condition()

    def put(self, sync: Sync) -> None:
        self._tell("put", sync.id)

    def forget(self, sync_id: str) -> None:
        self._tell("forget", sync_id)

    def _tell(self, *what: str) -> None:
        with self._news:
            self._told.append(cast("tuple[str, str]", what))
            self._news.notify_all()

    def wait(self, *told: tuple[str, str]) -> None:
        with self._news:
            assert self._news.wait_for(lambda: self._told == list(told), timeout=60), self._told
            self._told.clear()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "syncs"
    folder.mkdir()
    (folder / "one.yaml").write_text(document("one") + document("two"))
    return folder


@pytest.fixture
def daemon(folder: Path) -> Iterator[FakeDaemon]:
    daemon = FakeDaemon()
    follower = FileFollower(folder)
    assert [sync.id for sync in follower.syncs] == ["syncd/one", "syncd/two"]
    follower.start(cast("Daemon", daemon))
    yield daemon
    follower.stop()


def test_syncs_come_change_and_go_with_their_files(folder: Path, daemon: FakeDaemon) -> None:
    (folder / "three.yaml").write_text(document("three"))
    daemon.wait(("put", "syncd/three"))
    (folder / "one.yaml").write_text(document("one", "10s"))
    daemon.wait(("forget", "syncd/two"), ("put", "syncd/one"))
    (folder / "new.yaml").write_text(document("three", "2m"))
    (folder / "new.yaml").replace(folder / "three.yaml")
    daemon.wait(("put", "syncd/three"))


def test_a_file_that_does_not_hold_changes_nothing(folder: Path, daemon: FakeDaemon) -> None:
    with capture_logs() as logs:
        (folder / "one.yaml").write_text(document("one", "soon"))
        (folder / "three.yaml").write_text("kind: [")
        while not logs:  # the follower logs it from its own thread
            threading.Event().wait(0.05)
    assert logs[0]["event"] == "configuration not taken over: it does not hold"
    (folder / "three.yaml").unlink()
    (folder / "one.yaml").write_text(document("one", "10s") + document("two"))
    daemon.wait(("put", "syncd/one"))


def test_it_does_not_begin_with_what_does_not_hold(folder: Path) -> None:
    (folder / "one.yaml").write_text("kind: [")
    with pytest.raises(ConfigError):
        FileFollower(folder)
