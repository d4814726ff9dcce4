"""Whether processes that a test's child started are still there."""

from __future__ import annotations

import time
from pathlib import Path


def end_soon(pids: str, seconds: float = 20) -> bool:
    """Whether all of these processes, which were told to end, are gone or will be within a moment."""
    deadline = time.monotonic() + seconds
    while any(_runs(pid) for pid in pids.split()):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def _runs(pid: str) -> bool:
    """Whether a process is there and is no zombie that waits for its parent to notice."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
