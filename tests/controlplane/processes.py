"""Child processes that a test can stop, pause and restart, and that never outlive the process that started them."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Self

from tests.controlplane.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_KILL_SECONDS = 10
_STOP_SECONDS = 30
_LOG_TAIL_BYTES = 20_000


class PartFailedError(Exception):
    """A part ended although nobody asked it to."""


class Guard:
    """A process group that is killed as soon as this process is gone, however it went.

    The group's leader is a shell that reads from a pipe which only this process can write to. The end of this process,
    be it by SIGKILL, is the end of that file, and then the shell kills its whole group. So this works for any program,
    asks nothing of it, and knows no process ids that could meanwhile mean something else.
    """

    def __init__(self) -> None:
        self._shell = subprocess.Popen(
            ["/bin/sh", "-c", "read -r _; kill -KILL 0"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            process_group=0,
        )

    @property
    def group(self) -> int:
        """The process group that a guarded process has to join."""
        return self._shell.pid

    def close(self) -> None:
        """Kill whatever is still in the group."""
        if self._shell.stdin is not None:
            self._shell.stdin.close()
        self._shell.wait(_KILL_SECONDS)


class Part:
    """One program of the control plane.

    Args:
        name: Its name in messages, and of its log file.
        command: The program and its arguments.
        folder: Its working folder, which is its home folder too, so that nothing of this machine's user has a say.
        log: Where its output goes.
        guard: The group that it joins.
        is_ready: Tells whether it serves; None where a program cannot tell.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str | Path],
        *,
        folder: Path,
        log: Path,
        guard: Guard,
        is_ready: Callable[[], bool] | None = None,
    ) -> None:
        self.name = name
        self.log = log
        self._command = command
        self._folder = folder
        self._guard = guard
        self._is_ready = is_ready
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def running(self) -> bool:
        """Whether its process exists; a paused one does."""
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        """Its process id; an error when it does not run."""
        if self._process is None or self._process.poll() is not None:
            raise PartFailedError(f"{self.name} is not running{self._tail_for_error()}")
        return self._process.pid

    @property
    def paused(self) -> bool:
        """Whether it is stopped by SIGSTOP."""
        return self._state() == "T"

    def start(self) -> Self:
        """Start the process, without waiting until it serves."""
        if self.running:
            return self
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command,
                cwd=self._folder,
                env={"HOME": str(self._folder), "PATH": os.defpath},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                process_group=self._guard.group,
            )
        return self

    def wait_ready(self, seconds: float = 60) -> Self:
        """Wait until it serves, and fail at once when it has ended instead."""
        wait_for(f"{self.name} to serve (its log: {self.log})", self._ready_or_ended, seconds=seconds)
        return self

    def stop(self, seconds: float = _STOP_SECONDS) -> Self:
        """End it as an administrator would (SIGTERM); what has not ended by the deadline is killed."""
        if self._process is None or self._process.poll() is not None:
            return self
        self._process.send_signal(signal.SIGCONT)  # a paused process does not hear SIGTERM
        self._process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
        return self.kill()

    def kill(self) -> Self:
        """End it at once (SIGKILL), as a power cut would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(_KILL_SECONDS)
        return self

    def pause(self) -> Self:
        """Freeze it (SIGSTOP): its connections stay open, and it answers nothing."""
        os.kill(self.pid, signal.SIGSTOP)
        wait_for(f"{self.name} to be paused", lambda: self.paused, seconds=_KILL_SECONDS)
        return self

    def resume(self) -> Self:
        """Let a paused one go on (SIGCONT)."""
        os.kill(self.pid, signal.SIGCONT)
        return self

    def restart(self) -> Self:
        """Stop it, start it again on the same port with the same data, and wait until it serves."""
        return self.stop().start().wait_ready()

    def log_tail(self, lines: int = 20) -> str:
        """Return the last lines of its log."""
        if not self.log.exists():
            return ""
        with self.log.open("rb") as log:
            log.seek(max(0, self.log.stat().st_size - _LOG_TAIL_BYTES))
            text = log.read().decode(errors="replace")
        return "\n".join(text.splitlines()[-lines:])

    def _ready_or_ended(self) -> bool:
        if not self.running:
            raise PartFailedError(f"{self.name} ended by itself{self._tail_for_error()}")
        return self._is_ready is None or self._is_ready()

    def _tail_for_error(self) -> str:
        tail = self.log_tail()
        return f"; the end of {self.log}:\n{tail}" if tail else ""

    def _state(self) -> str:
        """Return the letter that the kernel has for the state of the process."""
        # The name before it stands in brackets and may itself hold brackets and spaces.
        return Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0]
