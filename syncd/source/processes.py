"""Child processes that always end, with everything they started, and whose output is bounded.

Git and every external renderer are waited for here and nowhere else.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import resource
import selectors
import signal
import subprocess
import time
from typing import IO, TYPE_CHECKING, NamedTuple

from syncd.model import SyncdError

if TYPE_CHECKING:
    import threading
    from collections.abc import Mapping

_CHUNK = 1 << 18
_GATHERING = 0.0003
"""How long, in seconds, a pipe may fill before it is read again: Git writes each header and each file by itself, and to
wake up for every one takes longer than Git does."""
_STOP_CHECK = 0.1
"""How often, in seconds, a wait looks whether it was told to stop."""
_GRACE = 2.0
"""How long, in seconds, a process may take to tidy up (Git removes its lock files) before it is killed."""


class ProcessTimeoutError(SyncdError):
    """A child process was ended because its deadline had passed."""

    reason = "Timeout"


class ProcessStoppedError(SyncdError):
    """A child process was ended because syncd is shutting down."""

    reason = "Stopped"


class ProcessOutputError(SyncdError):
    """A child process was ended because it wrote more than allowed."""

    reason = "LimitExceeded"


class Completed(NamedTuple):
    """A child process that ended by itself."""

    status: int
    """The exit status; negative is the signal that ended it."""
    stdout: bytes
    stderr: bytes
    """The first :data:`STDERR_LIMIT` bytes."""


STDERR_LIMIT = 64 << 10


def supervise(
    process: subprocess.Popen[bytes],
    *,
    deadline: float,
    stop: threading.Event | None = None,
    stdin: bytes = b"",
    stdout_limit: int,
    limits: Mapping[int, int] | None = None,
) -> Completed:
    """Feed a process, read what it writes, and wait for it; whatever happens, nothing of it is left running.

    Args:
        process: Started with pipes for stdout and stderr (and stdin, if there is any) and ``start_new_session=True``,
            so that its process group holds all of its descendants.
        deadline: On ``time.monotonic()``'s clock.
        stop: Set when syncd shuts down.
        stdin: What the process reads.
        stdout_limit: In bytes.
        limits: Resource limits (``resource.RLIMIT_AS`` and the like) of the process and what it starts; where the
            operating system cannot set them for another process, there are none.

    Raises:
        ProcessTimeoutError: The deadline passed.
        ProcessStoppedError: ``stop`` was set.
        ProcessOutputError: There was more output than allowed.
    """
    try:
        _limit(process, limits or {})
        stdout, stderr = _exchange(process, stdin, stdout_limit, deadline, stop)
        while process.poll() is None:
            _check(deadline, stop)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=_STOP_CHECK)
        return Completed(process.returncode, stdout, stderr)
    finally:
        _end_group(process)


def _limit(process: subprocess.Popen[bytes], limits: Mapping[int, int]) -> None:
    # From outside, and just after the start: Popen's preexec_fn is unsafe in a program with threads.
    if not hasattr(resource, "prlimit"):
        return
    with contextlib.suppress(ProcessLookupError):
        for kind, value in limits.items():
            resource.prlimit(process.pid, kind, (value, value))


def _exchange(
    process: subprocess.Popen[bytes], stdin: bytes, stdout_limit: int, deadline: float, stop: threading.Event | None
) -> tuple[bytes, bytes]:
    """Write stdin and read stdout and stderr at the same time until both end."""
    stdout, stderr = bytearray(), bytearray()
    unsent = memoryview(stdin)
    with selectors.DefaultSelector() as selector:
        for stream, events in (
            (process.stdout, selectors.EVENT_READ),
            (process.stderr, selectors.EVENT_READ),
            (process.stdin, selectors.EVENT_WRITE),
        ):
            if stream is not None:
                os.set_blocking(stream.fileno(), False)
                _widen(stream)
                selector.register(stream, events)
        while selector.get_map():
            _check(deadline, stop)
            got = 0
            for key, _ in selector.select(min(_STOP_CHECK, max(0.0, deadline - time.monotonic()))):
                if key.fileobj is process.stdin:
                    unsent = _feed(selector, process.stdin, unsent)
                elif key.fileobj is process.stdout:
                    got = _drain(selector, process.stdout, stdout)
                    if len(stdout) > stdout_limit:
                        raise ProcessOutputError(f"it wrote more than {stdout_limit} bytes")
                elif key.fileobj is process.stderr:
                    _drain(selector, process.stderr, stderr)
                    del stderr[STDERR_LIMIT:]
            if 0 < got < _CHUNK:
                time.sleep(_GATHERING)
    return bytes(stdout), bytes(stderr)


def _widen(stream: IO[bytes]) -> None:
    """Let more bytes wait in a pipe, which saves switching between the processes; an optimisation where it works."""
    if hasattr(fcntl, "F_SETPIPE_SZ"):
        with contextlib.suppress(OSError):
            fcntl.fcntl(stream.fileno(), fcntl.F_SETPIPE_SZ, _CHUNK)


def _feed(selector: selectors.BaseSelector, stream: IO[bytes], unsent: memoryview) -> memoryview:
    written = 0
    try:
        written = os.write(stream.fileno(), unsent[:_CHUNK]) if unsent else 0
    except BlockingIOError:
        return unsent
    except BrokenPipeError:
        unsent = unsent[:0]  # it ended, or needs no more; its exit status tells which
    unsent = unsent[written:]
    if not unsent:
        selector.unregister(stream)
        with contextlib.suppress(BrokenPipeError):
            stream.close()
    return unsent


def _drain(selector: selectors.BaseSelector, stream: IO[bytes], into: bytearray) -> int:
    """Read what is there, and return how many bytes that is."""
    try:
        data = os.read(stream.fileno(), _CHUNK)
    except BlockingIOError:
        return 0
    if data:
        into += data
    else:
        selector.unregister(stream)
    return len(data)


def _check(deadline: float, stop: threading.Event | None) -> None:
    if stop is not None and stop.is_set():
        raise ProcessStoppedError("syncd is shutting down")
    if time.monotonic() >= deadline:
        raise ProcessTimeoutError("it did not end within its deadline")


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """End the process and all its descendants, politely first if it still runs, and release its pipes."""
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()
    if process.poll() is None:
        _signal_group(process, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=_GRACE)
    _signal_group(process, signal.SIGKILL)
    process.wait()


def _signal_group(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    # The group has the leader's id. It may be empty by now; on macOS a group of zombies answers PermissionError.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
