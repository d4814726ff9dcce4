"""What a reconcile costs while nothing changes: CPU of the daemon's process, for Syncs of different sizes.

    python -m bench.steady [OBJECTS ...]

The daemon polls a repository almost without a break, against the sandbox in this process; what the sandbox and git
take is not counted. The bound is 20 ms for 1,000 objects.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.support.clusters import Sandbox
from tests.support.daemon import DaemonProcess, metric, sync_document
from tests.support.repository import Repository

SIZES = (1_000, 5_000)
ROUNDS = 30
BOUND = 20.0
"""Milliseconds of CPU for 1,000 objects."""


def manifests(count: int) -> dict[str, str]:
    """A Namespace, and so many ConfigMaps in one file."""
    maps = "---\n".join(
        f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: map-{number}, namespace: bench}}\ndata: {{key: value}}\n"
        for number in range(count)
    )
    return {"namespace.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: bench}\n", "maps.yaml": maps}


def spent(daemon: DaemonProcess) -> tuple[float, float]:
    """Seconds of CPU and reconciles, so far."""
    return _value(daemon, "process_cpu_seconds_total"), _value(daemon, "syncd_sync_reconciles_total", result="success")


def _value(daemon: DaemonProcess, series: str, **labels: str) -> float:
    return metric(daemon, series, **labels) or 0.0


def wait_for(daemon: DaemonProcess, reconciles: float) -> None:
    """Wait until so many reconciles have ended; asks seldom, for answering costs the daemon too."""
    while spent(daemon)[1] < reconciles:
        time.sleep(2.0)


def unchanged(folder: Path, count: int) -> float:
    """Milliseconds of CPU that one unchanged reconcile of so many objects takes."""
    repository = Repository(folder / "repository.git")
    commit = repository.commit(manifests(count))
    sandbox = Sandbox(folder)
    spec: dict[str, Any] = {"interval": "100ms", "timeout": "10m"}
    try:
        with DaemonProcess(folder, sandbox.kubeconfig, sync_document("bench", repository.url, **spec)) as daemon:
            daemon.wait_synced("bench", commit)
            settled = spent(daemon)[1] + 3
            wait_for(daemon, settled)
            cpu, begun = spent(daemon)
            wait_for(daemon, begun + ROUNDS)
            after, ended = spent(daemon)
            return (after - cpu) / (ended - begun) * 1e3
    finally:
        sandbox.server.stop()


def main() -> None:
    """Print one line for each size."""
    for count in [int(text) for text in sys.argv[1:]] or SIZES:
        with tempfile.TemporaryDirectory() as folder:
            taken = unchanged(Path(folder), count)
        share = taken * 1_000 / count
        print(f"{count} unchanged objects: {taken:.1f} ms of CPU, {share:.1f} ms for 1,000 (bound {BOUND:.0f})")


if __name__ == "__main__":
    main()
