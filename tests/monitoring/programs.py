"""Debian's Prometheus and its promtool, as processes of their own."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from typing import TYPE_CHECKING, Any, Self

import pytest

from tests.controlplane.ports import free_port
from tests.support.daemon import PATIENCE, eventually

if TYPE_CHECKING:
    from pathlib import Path

Labels = tuple[str, ...]
"""The values of a series' labels, sorted by their names."""

_CONFIG = """\
global: {scrape_interval: 500ms, evaluation_interval: 1s}
rule_files: [%s]
scrape_configs:
- job_name: syncd
  static_configs: [{targets: [%s]}]
"""


def program(name: str) -> str:
    """Return where a program is; without it the test skips, except in CI, which has to have it."""
    found = shutil.which(name)
    if not found:
        missing = f"needs {name} (apt-get install prometheus)"
        if os.environ.get("CI"):
            pytest.fail(missing)
        pytest.skip(missing)
    return found


def promtool(*arguments: str) -> str:
    """Run promtool, and return what it said; it has to be content."""
    done = subprocess.run(
        [program("promtool"), *arguments], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


class Prometheus:
    """A Prometheus that scrapes one address and evaluates one file of rules.

    Series count as present for two hours after their last sample, so that a question may be asked about a later moment,
    as if everything stayed as it is. What a scrape no longer has is gone at once all the same.
    """

    def __init__(self, folder: Path, target: str, rules: Path) -> None:
        self.folder = folder
        self.url = f"http://127.0.0.1:{free_port()}"
        self._log = folder / "prometheus.log"
        config = folder / "prometheus.yaml"
        config.write_text(_CONFIG % (json.dumps(str(rules)), json.dumps(target)))
        self._command = [program("prometheus"), f"--config.file={config}", f"--storage.tsdb.path={folder / 'tsdb'}"]
        self._command += [f"--web.listen-address={self.url.removeprefix('http://')}", "--query.lookback-delta=2h"]
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log, start_new_session=True)
        eventually("Prometheus is ready", self._ready)
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(PATIENCE)

    def query(self, expression: str, *, later: float = 0.0) -> dict[Labels, float]:
        """Evaluate an expression now, or for a moment so many seconds later."""
        now = float(self._get("query", query="time()")["result"][1])
        data = self._get("query", query=expression, time=str(now + later))
        if data["resultType"] == "scalar":
            return {(): float(data["result"][1])}
        return {_labels(one["metric"]): float(one["value"][1]) for one in data["result"]}

    def over_time(self, expression: str, *, since: float) -> int:
        """Return how many numbers an expression gave since a moment, evaluated more often than it is scraped."""
        now = float(self._get("query", query="time()")["result"][1])
        data = self._get("query_range", query=expression, start=str(since), end=str(now), step="0.2")
        return sum(value != "NaN" for one in data["result"] for _, value in one["values"])

    def rules(self) -> list[dict[str, Any]]:
        """Return all rules, with how their evaluation went."""
        return [rule for group in self._get("rules")["groups"] for rule in group["rules"]]

    def metrics(self) -> set[str]:
        """Return the names of all metrics that were ever scraped."""
        return set(self._get("label/__name__/values"))

    def _ready(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, self._log.read_text()
        try:
            with urllib.request.urlopen(f"{self.url}/-/ready", timeout=PATIENCE) as answer:  # noqa: S310 - its own address
                return bool(answer.status == 200)
        except OSError:
            return False

    def _get(self, what: str, **parameters: str) -> Any:
        url = f"{self.url}/api/v1/{what}?{urllib.parse.urlencode(parameters)}"
        try:
            with urllib.request.urlopen(url, timeout=PATIENCE) as answer:  # noqa: S310 - its own address
                return json.loads(answer.read())["data"]
        except urllib.error.HTTPError as error:
            with error:
                raise AssertionError(f"{parameters.get('query')}: {error.read().decode()}") from None


def _labels(metric: dict[str, str]) -> Labels:
    return tuple(value for name, value in sorted(metric.items()) if name not in ("__name__", "instance", "job"))
