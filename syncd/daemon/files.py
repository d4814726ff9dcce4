"""Following Syncs in files: what is written there is what the daemon does, within a moment and without a restart.

The files are looked at, rather than watched by a service of the system: that works with every file system, and with the
ways in which editors and ConfigMap volumes replace files. What does not hold is told, and the last that held stays.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final

import structlog

from syncd.daemon.config import ConfigError, load_syncs, stamps

if TYPE_CHECKING:
    from pathlib import Path

    from syncd.daemon.service import Daemon
    from syncd.spec import Sync

log = structlog.get_logger("syncd")

_PAUSE: Final = 0.3
"""Seconds between two looks; what has changed is read when it has not for as long."""
_TIMEOUT: Final = 10.0


class FileFollower:
    """Makes the daemon follow the Syncs of a configuration.

    Args:
        path: A file, or a folder of files.

    Attributes:
        syncs: What was in it when this was made.

    Raises:
        ConfigError: It does not hold.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen = self._taken = stamps(path)  # before it is read: a change in between is seen then
        self.syncs = load_syncs(path)
        self._known = {sync.id: sync for sync in self.syncs}
        self._daemon: Daemon
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="syncd-files", daemon=True)

    def start(self, daemon: Daemon) -> None:
        """Begin to make this daemon, which knows of :attr:`syncs`, follow them."""
        self._daemon = daemon
        self._thread.start()

    def stop(self) -> None:
        """Follow no more; what the daemon works on is not touched."""
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join(_TIMEOUT)

    def _run(self) -> None:
        while not self._stop.wait(_PAUSE):
            try:
                self._look()
            except Exception:  # a thread that dies silently would follow no change any more
                log.exception("the configuration could not be looked at, by a defect of syncd")

    def _look(self) -> None:
        before, self._seen = self._seen, stamps(self._path)
        if self._seen != before or self._seen == self._taken:
            return  # nothing new, or somebody may still be writing
        self._taken = self._seen
        try:
            wanted: dict[str, Sync] = {sync.id: sync for sync in load_syncs(self._path)}
        except ConfigError as error:
            log.error("configuration not taken over: it does not hold", problems=error.problems)  # noqa: TRY400 - its words say it all
            return
        for sync_id in self._known.keys() - wanted.keys():
            self._daemon.forget(sync_id)
            log.info("sync gone from the configuration; its objects stay", sync=sync_id)
        for sync_id, sync in wanted.items():
            if self._known.get(sync_id) != sync:
                self._daemon.put(sync)
                log.info("sync followed", sync=sync_id, suspended=sync.spec.suspend)
        self._known = wanted
