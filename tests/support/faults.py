"""What can go wrong with a request."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

from syncd.sandbox import responses
from syncd.sandbox.app import Fault

if TYPE_CHECKING:
    import subprocess

    from syncd.sandbox.app import Audit
    from syncd.sandbox.requests import Request

SLOW = 1.0
"""Seconds by which an answer comes too late for a request that may take half of that."""


def refusal(code: int) -> Fault:
    """The server refuses without doing anything."""
    reasons = {409: "Conflict", 429: "TooManyRequests", 500: "InternalError", 503: "ServiceUnavailable"}
    status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reasons[code]}
    return Fault(response=responses.plain({**status, "message": "so the test wants it"}, code))


FAULTS = {
    "409": refusal(409),
    "429": refusal(429),
    "500": refusal(500),
    "503": refusal(503),
    "cut before": Fault(cut="before"),
    "cut after": Fault(cut="after"),
    "too late": Fault(delay=SLOW),
}


class Strike:
    """Has one request, by its number, meet a fault; watches do not count."""

    def __init__(self, number: int, fault: Fault) -> None:
        self.hit = ""
        self._number = number
        self._fault = fault
        self.count = 0

    def __call__(self, request: Request) -> Fault | None:
        if request.verb == "watch":
            return None
        self.count += 1
        if self.count != self._number:
            return None
        self.hit = f"{request.verb} {request.path}"
        return self._fault


class Executioner:
    """Kills a process when its n-th request arrives, or once the server has done it."""

    def __init__(self, process: subprocess.Popen[bytes], number: int, *, done: bool) -> None:
        self._process = process
        self._number = number
        self._done = done
        self._arrived = 0
        self._ended = 0

    def before(self, _request: Request) -> Fault | None:
        """See ``intercept`` of the sandbox."""
        self._arrived += 1
        if self._arrived < self._number or self._done:
            return None
        self._kill()
        return Fault(cut="before")

    def after(self, _audit: Audit) -> None:
        """See ``on_request`` of the sandbox."""
        self._ended += 1
        if self._ended >= self._number:
            self._kill()

    def _kill(self) -> None:
        os.kill(self._process.pid, signal.SIGKILL)
