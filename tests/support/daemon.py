"""The daemon as a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Self, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

_T = TypeVar("_T")

PATIENCE = 90.0
"""Seconds after which a test gives up; far more than anything should take."""


def eventually(what: str, attempt: Callable[[], _T | None], *, patience: float = PATIENCE) -> _T:
    """Try until it gives something true; for waits on other processes, which have no event to wait for."""
    end = time.monotonic() + patience
    while True:
        found = attempt()
        if found:
            return found
        assert time.monotonic() < end, f"still not: {what}"
        time.sleep(0.05)


def sync_document(name: str, url: str, **spec: Any) -> dict[str, Any]:
    """A Sync that polls often, so that tests need not wait."""
    return {
        "apiVersion": "syncd.dev/v1alpha1",
        "kind": "Sync",
        "metadata": {"name": name},
        "spec": {"source": {"git": {"url": url, "ref": {"branch": "main"}}}, "interval": "200ms", **spec},
    }


class DaemonProcess:
    """``syncd run`` against one cluster; end it with :meth:`stop`, or let :meth:`kill` do its worst.

    Without any Syncs it follows those that are objects of the cluster.
    """

    def __init__(
        self,
        folder: Path,
        kubeconfig: Path,
        *syncs: dict[str, Any],
        options: Sequence[str] = (),
        program: Sequence[str] = (sys.executable, "-m", "syncd.cli"),
    ) -> None:
        self.folder = folder
        self._program = program
        self._kubeconfig = kubeconfig
        self._options = [*options]
        if syncs:
            config = folder / "syncs.yaml"
            config.write_text("---\n".join(json.dumps(sync) + "\n" for sync in syncs))
            self._options += ["--config", str(config)]
        self._process: subprocess.Popen[bytes] | None = None
        self._starts = 0
        self.url = ""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    @property
    def log(self) -> Path:
        """What the present process has logged."""
        return self.folder / f"log-{self._starts}.jsonl"

    @property
    def pid(self) -> int:
        """The process."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start it, and wait until its web server answers."""
        self._starts += 1
        command = [*self._program, "run", "--kubeconfig", str(self._kubeconfig)]
        command += ["--listen", "127.0.0.1:0"]
        command += ["--data-dir", str(self.folder / "data"), "--log-format", "json", *self._options]
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(command, stderr=log, stdout=log, start_new_session=True)
        self.url = eventually("the daemon says where it serves", self._address)

    def stop(self) -> int:
        """Ask it to end, and give its exit status."""
        self._signal(signal.SIGTERM)
        assert self._process is not None
        return self._process.wait(PATIENCE)

    def kill(self) -> None:
        """End it without a chance to do anything."""
        if self._process is not None:
            if self._process.poll() is None:
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(PATIENCE)

    def pause(self) -> None:
        """Stop it in its tracks, as a machine does that is out of breath."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on, as if nothing had happened."""
        self._signal(signal.SIGCONT)

    def get(self, path: str) -> str:
        """Read a page."""
        with urllib.request.urlopen(self.url + path, timeout=PATIENCE) as answer:  # noqa: S310 - its own address
            return str(answer.read().decode())

    def status(self, name: str) -> dict[str, Any]:
        """What the daemon knows of one Sync."""
        found: dict[str, Any] = json.loads(self.get(f"/api/v1/syncs/syncd/{name}"))
        return found

    def wait_for(self, name: str, what: str, holds: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
        """Wait until something holds for a Sync's status, and give that status; also for a Sync still to be known."""
        last: dict[str, Any] = {}

        def attempt() -> dict[str, Any] | None:
            nonlocal last
            try:
                last = self.status(name)
            except urllib.error.HTTPError as error:
                with error:
                    if error.code != HTTPStatus.NOT_FOUND:
                        raise
                return None
            return last if holds(last) else None

        try:
            return eventually(f"{name}: {what}", attempt)
        except AssertionError as error:
            raise AssertionError(f"{error}; its status is {json.dumps(last)[:3000]}") from None

    def wait_synced(self, name: str, commit: str) -> dict[str, Any]:
        """Wait until a commit is live."""
        return self.wait_for(
            name,
            f"commit {commit[:12]} is live",
            lambda status: status["state"] == "Synced" and (status["applied"] or {}).get("commit") == commit,
        )

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def _address(self) -> str:
        assert self._process is not None
        text = self.log.read_text()
        assert self._process.poll() is None, f"the daemon ended: {text[-3000:]}"
        for line in text.splitlines():
            if line.startswith("{") and (entry := json.loads(line)).get("event") == "serving":
                return str(entry["address"])
        return ""


def metric(daemon: DaemonProcess, series: str, **labels: str) -> float | None:
    """The value of one series of the daemon's metrics, or None."""
    for line in daemon.get("/metrics").splitlines():
        if line.startswith(series) and all(f'{key}="{value}"' in line for key, value in labels.items()):
            return float(line.rsplit(" ", 1)[1])
    return None
