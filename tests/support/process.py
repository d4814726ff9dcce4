"""``syncd sync`` as a process."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def start_sync(config: Path, kubeconfig: Path, data: Path) -> subprocess.Popen[bytes]:
    """Begin one reconcile of every Sync of a configuration."""
    command = [sys.executable, "-m", "syncd.cli", "sync", "--config", str(config)]
    return subprocess.Popen(
        [*command, "--kubeconfig", str(kubeconfig), "--data-dir", str(data)],
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
