"""What keeps the folder of mirrors from growing for ever."""

from __future__ import annotations

import fcntl
import shutil
import threading
import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

_UNUSED_SECONDS: Final = 7 * 24 * 3600.0
"""After this time a mirror that nobody used goes."""
_PRIVATE: Final = ("credentials-*", "verify-*", "history-*")
_PRIVATE_SECONDS: Final = 24 * 3600.0
"""After this time the private folder of a command is one that a killed process left: no command takes so long."""
_PAUSE: Final = 3600.0


class Housekeeping:
    """Removes what nobody needs any more, at most once an hour. Safe beside other processes that use the folder.

    Args:
        directory: Where the mirrors are.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._lock = threading.Lock()
        self._next = float("-inf")

    def look(self) -> None:
        """Do what is due. To be called whenever a mirror is added: that is when the folder grows."""
        with self._lock:
            if time.monotonic() < self._next:
                return
            self._next = time.monotonic() + _PAUSE
        for lock_file in self._directory.glob("*.lock"):
            if _older(lock_file, _UNUSED_SECONDS):
                with lock_file.open("ab") as file:
                    # Never the lock file itself: another process may be about to wait for it.
                    if try_lock(file.fileno()):
                        shutil.rmtree(lock_file.with_suffix(".git"), ignore_errors=True)
        for pattern in _PRIVATE:
            for folder in self._directory.glob(pattern):
                if _older(folder, _PRIVATE_SECONDS):
                    shutil.rmtree(folder, ignore_errors=True)


def try_lock(file: int) -> bool:
    """Take the lock of an open file for as long as it is open; gives whether nobody else has it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _older(path: Path, seconds: float) -> bool:
    try:
        return time.time() - path.stat().st_mtime > seconds
    except FileNotFoundError:
        return False
