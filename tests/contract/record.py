"""Writes ``golden/`` from a real control plane: ``python -m tests.contract.record``."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tests.contract.golden import RECORD

if __name__ == "__main__":
    os.environ[RECORD] = "1"
    folder = str(Path(__file__).parent)
    arguments = ["-q", "-m", "controlplane", "-p", "no:randomly", folder, *sys.argv[1:]]
    os.execv(sys.executable, [sys.executable, "-m", "pytest", *arguments])  # noqa: S606  # no shell is wanted
