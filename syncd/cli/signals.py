"""Ending long-running commands by SIGINT and SIGTERM."""

from __future__ import annotations

import os
import signal
import socket
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from syncd.cli.exits import Exit

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def stopped_by_signal(impatient: Exit | None = None) -> Iterator[threading.Event]:
    """Give an event that SIGINT and SIGTERM set; what they did before is put back at the end.

    The event is set by a thread of its own. A handler in Python runs in the main thread only, and there not while it
    waits for a lock and the kernel has given the signal to another thread; and it could not set an event whose lock the
    main thread holds just then.

    Args:
        impatient: The status with which a second signal ends the process at once, without any cleaning up. None: it
            does no more than the first.
    """
    stop = threading.Event()
    reading, writing = socket.socketpair()
    writing.setblocking(False)
    watcher = threading.Thread(target=_watch, args=(reading, stop, impatient), name="syncd-signals", daemon=True)
    watcher.start()
    former = signal.set_wakeup_fd(writing.fileno(), warn_on_full_buffer=False)
    before = {number: signal.signal(number, lambda *_: None) for number in _SIGNALS}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(former)
        writing.close()
        watcher.join()
        reading.close()


def _watch(reading: socket.socket, stop: threading.Event, impatient: Exit | None) -> None:
    """Take in the numbers of signals, as they come, until the other end is closed."""
    came = 0
    while numbers := reading.recv(64):
        came += sum(number in _SIGNALS for number in numbers)
        if came > 1 and impatient is not None:
            os._exit(impatient)
        if came:
            stop.set()
