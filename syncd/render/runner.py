"""The one way in which syncd starts an external renderer.

An environment from nothing, a home and a temporary folder of its own, a PATH without programs, limits for time, memory,
processor and output, and an end for everything it started.
"""

from __future__ import annotations

import resource
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from syncd.render.errors import RenderTimeoutError, ToolMissingError
from syncd.source.errors import LimitExceededError
from syncd.source.processes import Completed, ProcessOutputError, ProcessTimeoutError, supervise

if TYPE_CHECKING:
    import threading
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_NO_NETWORK: Final = "http://127.0.0.1:9"
"""A proxy that is not there: the discard port of this machine."""


@dataclass(frozen=True, slots=True)
class ToolLimits:
    """What an external renderer may use."""

    address_space: int = 2 << 30
    """In bytes. Programs written in Go reserve much more than they use."""
    cpu_seconds: int = 120
    file_bytes: int = 1 << 30
    output_bytes: int = 128 << 20


class ToolFailedError(Exception):
    """An external renderer ended with an error; its caller says what that means."""

    def __init__(self, status: int, stderr: str) -> None:
        self.status = status
        self.stderr = stderr
        super().__init__(f"it ended with status {status}: {stderr}")


class Runner:
    """Runs external renderers.

    Args:
        stop: Set on shutdown: what runs is ended at once.
        limits: What each of them may use.
    """

    def __init__(self, stop: threading.Event | None = None, limits: ToolLimits = ToolLimits()) -> None:
        self._stop = stop
        self._limits = limits

    def run(
        self,
        command: Sequence[str],
        *,
        home: Path,
        deadline: float,
        environment: Mapping[str, str] | None = None,
    ) -> Completed:
        """Run a program that ends well, and return what it wrote.

        Args:
            command: The program's whole path, and its arguments.
            home: An empty folder that nobody else uses: its home, temporary folder, and where it runs.
            deadline: On ``time.monotonic()``'s clock.
            environment: Variables besides those that every program gets.

        Raises:
            ToolFailedError: It ended with an error.
            ToolMissingError: It cannot be started.
            RenderTimeoutError: The deadline passed.
            LimitExceededError: It wrote more than allowed.
            ProcessStoppedError: syncd is shutting down.
        """
        name = command[0].rpartition("/")[2]
        try:
            process = subprocess.Popen(
                command,
                cwd=home,
                env={**_environment(home), **(environment or {})},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise ToolMissingError(f"{command[0]} cannot be started: {error.strerror}") from None
        try:
            completed = supervise(
                process,
                deadline=deadline,
                stop=self._stop,
                stdout_limit=self._limits.output_bytes,
                limits=self._resources(),
            )
        except ProcessTimeoutError:
            raise RenderTimeoutError(f"{name} did not end before the Sync's timeout") from None
        except ProcessOutputError:
            raise LimitExceededError(f"{name} wrote more than {self._limits.output_bytes} bytes") from None
        if completed.status < 0:
            reason = f"it was ended by signal {-completed.status}, most likely for using too much processor or memory"
            raise ToolFailedError(completed.status, reason)
        if completed.status > 0:
            raise ToolFailedError(completed.status, completed.stderr.decode(errors="replace"))
        return completed

    def _resources(self) -> dict[int, int]:
        return {
            resource.RLIMIT_AS: self._limits.address_space,
            resource.RLIMIT_CPU: self._limits.cpu_seconds,
            resource.RLIMIT_FSIZE: self._limits.file_bytes,
            resource.RLIMIT_CORE: 0,
        }


def _environment(home: Path) -> dict[str, str]:
    """The whole environment: nothing of syncd's own, and no way to the network for programs that heed proxies."""
    return {
        "PATH": str(home),
        "HOME": str(home),
        "TMPDIR": str(home),
        "LC_ALL": "C",
        "HTTP_PROXY": _NO_NETWORK,
        "HTTPS_PROXY": _NO_NETWORK,
        "ALL_PROXY": _NO_NETWORK,
    }
