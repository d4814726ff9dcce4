"""One thread that runs all controllers: events in, keys queued once, the controllers called, failures tried again."""

from __future__ import annotations

import heapq
import logging
import threading
import time
from typing import TYPE_CHECKING, NamedTuple

from syncd.sandbox.errors import StatusError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from syncd.sandbox.controllers.base import Controller, Key
    from syncd.sandbox.kinds import Event, Objects

_STOP_TIMEOUT = 10.0
_FIRST_DELAY = 0.005
_LONGEST_DELAY = 30.0
_log = logging.getLogger(__name__)


class _Work(NamedTuple):
    controller: int
    key: Key


class Controllers:
    """The controller manager of one sandbox; starts at once.

    Args:
        objects: The store.
        controllers: What to run, in order of preference when several have work.
    """

    def __init__(self, objects: Objects, controllers: Sequence[Controller]) -> None:
        self._controllers = tuple(controllers)
        self._events = objects.watch()
        self._ready: dict[_Work, None] = {}
        self._later: list[tuple[float, _Work]] = []
        self._failures: dict[_Work, int] = {}
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="syncd-sandbox-controllers", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread, and wait until it has ended; at once but for the write in hand."""
        self._stopping.set()
        self._events.close()
        self._thread.join(_STOP_TIMEOUT)

    def _run(self) -> None:
        while not self._stopping.is_set():
            while (event := self._events.next(0)) is not None:
                self._note(event)
            self._promote()
            if self._ready:
                work = next(iter(self._ready))
                del self._ready[work]
                self._do(work)
                continue
            event = self._events.next(self._patience())
            if event is not None:
                self._note(event)

    def _note(self, event: Event) -> None:
        for number, controller in enumerate(self._controllers):
            for key in controller.keys(event):
                self._ready[_Work(number, key)] = None

    def _promote(self) -> None:
        now = time.monotonic()
        while self._later and self._later[0][0] <= now:
            self._ready[heapq.heappop(self._later)[1]] = None

    def _patience(self) -> float | None:
        """How long to wait for an event; for ever when nothing is due."""
        return max(0.0, self._later[0][0] - time.monotonic()) if self._later else None

    def _do(self, work: _Work) -> None:
        try:
            again = self._controllers[work.controller].reconcile(work.key)
        except StatusError:
            again = self._backoff(work)
        except Exception:  # noqa: BLE001  # one controller's defect must not stop the others; it is logged
            _log.exception("a controller of the sandbox failed on %s", work.key)
            again = self._backoff(work)
        else:
            self._failures.pop(work, None)
        if again is not None:
            heapq.heappush(self._later, (time.monotonic() + again, work))

    def _backoff(self, work: _Work) -> float:
        failures = self._failures[work] = self._failures.get(work, 0) + 1
        return min(_LONGEST_DELAY, _FIRST_DELAY * 2.0 ** min(failures, 20))
