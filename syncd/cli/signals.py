"""Ending long-running commands by SIGINT and SIGTERM."""

from __future__ import annotations

import os
import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from syncd.cli.exits import Exit


@contextmanager
def stopped_by_signal(impatient: Exit | None = None) -> Iterator[threading.Event]:
    """Give an event that SIGINT and SIGTERM set; what they did before is put back at the end.

    Args:
        impatient: The status with which a second signal ends the process at once, without any cleaning up. None: it
            does no more than the first.
    """
    stop = threading.Event()

    def handle(_number: int, _frame: Any) -> None:
        if stop.is_set() and impatient is not None:
            os._exit(impatient)
        stop.set()

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
