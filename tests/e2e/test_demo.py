"""``syncd demo`` as a process: the first thing that a new user sees, with the commands that it tells them to type."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.slow

SYNCD = (sys.executable, "-m", "syncd.cli")
REPOSITORY = str(Path(__file__).parents[2])
SECONDS = 120


def environment() -> dict[str, str]:
    """Return what a shell has in which Git knows nobody yet."""
    return {**os.environ, "PYTHONPATH": REPOSITORY, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}


class Demo:
    """A running demo whose output can be waited for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lines: list[str] = []
        self._ended = False
        self._news = threading.Condition()
        self.process = subprocess.Popen(
            [*SYNCD, "demo", "--port", "0"],
            cwd=folder,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            bufsize=1,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            with self._news:
                self._lines.append(line.rstrip("\n"))
                self._news.notify_all()
        with self._news:
            self._ended = True
            self._news.notify_all()

    @property
    def text(self) -> str:
        with self._news:
            return "\n".join(self._lines)

    def wait_for(self, pattern: str, after: int = 0) -> re.Match[str]:
        """Wait until the output holds this, and return where."""
        deadline = time.monotonic() + SECONDS
        with self._news:
            while not (found := re.compile(pattern, re.MULTILINE).search("\n".join(self._lines), after)):
                left = deadline - time.monotonic()
                if self._ended or left <= 0 or not self._news.wait(left):
                    pytest.fail(f"the demo did not print {pattern!r}:\n" + "\n".join(self._lines))
        return found

    def type_in(self, commands: list[str]) -> str:
        """Type commands into a new shell, the printed preparation first; returns what they print."""
        first = self.section("First:")
        script = "set -e\n" + "\n".join(first + [line for line in commands if "--watch" not in line])
        done = subprocess.run(
            ["bash", "-c", script], env=environment(), capture_output=True, text=True, timeout=SECONDS, check=False
        )
        assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"
        return done.stdout

    def section(self, title: str) -> list[str]:
        """Return the commands that are printed below a title."""
        below = self.text.split(title, 1)[1].splitlines()[1:]
        return [
            line.strip() for line in below[: next(i for i, line in enumerate(below) if not line.startswith("    "))]
        ]

    def kubectl(self, *arguments: str) -> str:
        return self.type_in([f"{Path(sys.executable).with_name('kubectl')} {' '.join(arguments)}"])


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[Demo]:
    demo = Demo(tmp_path)
    yield demo
    if demo.process.poll() is None:
        demo.process.kill()
    demo.process.wait(timeout=SECONDS)
    demo._reader.join(timeout=SECONDS)
    assert demo.process.stdout
    demo.process.stdout.close()


def test_once_ends_after_the_first_convergence_with_a_summary(tmp_path: Path) -> None:
    done = subprocess.run(
        [*SYNCD, "demo", "--once", "--port", "0"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    rows = [line.split() for line in done.stdout.splitlines() if line.strip().startswith("syncd/")]
    assert [row[:2] for row in rows] == [
        ["syncd/shop-dev", "Synced"],
        ["syncd/shop-prod", "Synced"],
        ["syncd/shop-staging", "Synced"],
    ]
    for row in rows:
        created, *others = map(int, row[2:])
        assert created > 15
        assert others == [0, 0, 0, 0, 0]


def test_the_three_things_to_try_do_what_the_demo_says(demo: Demo) -> None:
    demo.wait_for("Ctrl-C ends the demo")
    assert demo.text.count("created") == 3

    seen = len(demo.text)
    demo.type_in(demo.section("1. "))
    demo.wait_for(r"syncd/shop-dev  2 updated, \d+ unchanged to main@", seen)
    demo.wait_for(
        r"~ Deployment\.apps shop-dev/web: .*\n.*image: .* → \"registry\.example\.com/shop/web:1\.9\.0\"", seen
    )

    seen = len(demo.text)
    demo.type_in(demo.section("2. "))
    demo.wait_for(r"syncd/shop-dev  4 pruned, \d+ unchanged to main@", seen)
    assert "load-test" not in demo.kubectl("get", "deployments,configmaps,networkpolicies", "--namespace", "shop-dev")

    seen = len(demo.text)
    demo.type_in(demo.section("3. "))
    demo.wait_for(r"drift: Deployment\.apps shop-dev/worker changed", seen)
    demo.wait_for(r"~ spec\.replicas: 5 → 1", seen)
    worker = json.loads(demo.kubectl("get", "deployment", "worker", "--namespace", "shop-dev", "--output", "json"))
    assert worker["spec"]["replicas"] == 1

    demo.process.send_signal(signal.SIGINT)
    assert demo.process.wait(timeout=SECONDS) == 0
    assert "Traceback" not in demo.text


def test_the_status_page_and_the_status_command_answer_while_the_demo_runs(demo: Demo) -> None:
    demo.wait_for("Ctrl-C ends the demo")
    address = demo.wait_for(r"^Status page +(http://\S+)")[1]
    done = subprocess.run(
        [*SYNCD, "status", "--address", address, "--output", "json"],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=True,
    )
    assert {item["id"] for item in json.loads(done.stdout)["items"]} == {
        "syncd/shop-dev",
        "syncd/shop-prod",
        "syncd/shop-staging",
    }
