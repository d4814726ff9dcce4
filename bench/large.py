"""One Sync with very many objects: from nothing, unchanged, with some removed, and after a restart.

    python -m bench.large [OBJECTS]

The daemon is a process, and so is the sandbox, so that what they take is told apart. Tells seconds until the commit is
live, CPU seconds and resident memory of the daemon, and its requests to the API server by method.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.support.daemon import DaemonProcess, eventually, sync_document
from tests.support.repository import Repository

OBJECTS = 25_000
SPACES = 50
PATIENCE = 3600.0
GENEROUS = {"budget": {"objects": 100_000, "percent": 100}}


def manifests(count: int, *, without: int = 0) -> dict[str, str | None]:
    """A file for each namespace: the namespace, and its share of ConfigMaps, but for the first ones."""
    files: dict[str, str | None] = {}
    for space in range(SPACES):
        name = f"namespace-{space:02}"
        parts = [f"apiVersion: v1\nkind: Namespace\nmetadata: {{name: {name}}}\n"]
        parts += [
            "apiVersion: v1\nkind: ConfigMap\n"
            f"metadata: {{name: an-application-with-a-name-{number:05}, namespace: {name}, labels: {{app: bench}}}}\n"
            f"data: {{key: value, number: '{number}'}}\n"
            for number in range(max(space, without + space), count, SPACES)
        ]
        files[f"{name}.yaml"] = "---\n".join(parts)
    return files


class Meter:
    """What one stage costs the daemon."""

    def __init__(self, daemon: DaemonProcess) -> None:
        self._daemon = daemon
        self._begin = time.perf_counter()
        self._cpu = self._usage()[0]
        self._requests = self._counts()

    def tell(self, stage: str) -> None:
        """Print a line."""
        seconds = time.perf_counter() - self._begin
        cpu, resident = self._usage()
        requests = self._counts() - self._requests
        made = ", ".join(f"{count} {verb}" for verb, count in sorted(requests.items())) or "none"
        print(f"{stage:<28} {seconds:8.1f} s  {cpu - self._cpu:7.1f} s CPU  {resident:5.0f} MB  requests: {made}")

    def _usage(self) -> tuple[float, float]:
        process = Path(f"/proc/{self._daemon.pid}")
        fields = (process / "stat").read_text().rpartition(")")[2].split()
        resident = next(line for line in (process / "status").read_text().splitlines() if line.startswith("VmRSS"))
        return (int(fields[11]) + int(fields[12])) / 100, int(resident.split()[1]) / 1024

    def _counts(self) -> Counter[str]:
        found: Counter[str] = Counter()
        for line in self._daemon.get("/metrics").splitlines():
            if line.startswith("syncd_api_requests_total{"):
                labels, _, value = line.rpartition(" ")
                found[labels.partition('verb="')[2].partition('"')[0]] += int(float(value))
        return found


def wait_live(daemon: DaemonProcess, commit: str) -> None:
    """Wait until a commit is live."""

    def is_live() -> bool:
        status = daemon.status("bench")
        return status["state"] == "Synced" and (status["applied"] or {}).get("commit") == commit

    eventually(f"{commit} is live", is_live, patience=PATIENCE)


def main(count: int) -> None:
    """Run and print."""
    with tempfile.TemporaryDirectory(prefix="syncd-bench-") as name:
        folder = Path(name)
        kubeconfig = folder / "kubeconfig"
        command = [sys.executable, "-m", "syncd.cli", "sandbox", "--port", "0", "--kubeconfig", str(kubeconfig)]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as sandbox:
            try:
                eventually("the sandbox serves", kubeconfig.exists)
                run(folder, kubeconfig, count)
            finally:
                sandbox.terminate()


def run(folder: Path, kubeconfig: Path, count: int) -> None:
    """The story."""
    repository = Repository(folder / "repository.git")
    document = sync_document("bench", repository.url, prune=GENEROUS, interval="5s", timeout="1h")
    commit = repository.commit(manifests(count))
    with DaemonProcess(folder, kubeconfig, document) as daemon:
        meter = Meter(daemon)
        wait_live(daemon, commit)
        meter.tell(f"{count} objects from nothing")
        meter = Meter(daemon)
        time.sleep(60)
        meter.tell("a minute of nothing (5 s)")
        commit = repository.commit(manifests(count, without=count // 10))
        meter = Meter(daemon)
        wait_live(daemon, commit)
        meter.tell(f"{count // 10} removed")
        commit = repository.commit({"one.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: one-more}\n"})
        meter = Meter(daemon)
        wait_live(daemon, commit)
        meter.tell("1 added")
        daemon.kill()
        begin = time.perf_counter()
        daemon.start()
        meter = Meter(daemon)
        wait_live(daemon, commit)
        meter.tell("after a restart")
        print(f"{'':<28} {time.perf_counter() - begin:8.1f} s with the start of the process")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else OBJECTS)
