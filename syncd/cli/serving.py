"""The daemon with everything around it: metrics, the web server, and an orderly end."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from syncd.cli.session import open_cluster, open_sources
from syncd.daemon.service import Daemon
from syncd.telemetry.metrics import Telemetry
from syncd.web import WebServer, create_app
from syncd.web.hooks import Hooks

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from syncd.cli.options import ClusterChoice
    from syncd.daemon.status import Board, Listener
    from syncd.spec import Sync
    from syncd.web.hooks import SecretFile

STOP_SECONDS: Final = 30.0
"""How long the work in hand may take to reach a safe point; a Pod gets as long before it is killed."""


@dataclass(frozen=True, slots=True)
class Service:
    """A running daemon.

    Attributes:
        board: What it knows.
        url: Where its web server listens, without a slash at the end.
    """

    board: Board
    url: str


@contextmanager
def serving(
    syncs: Sequence[Sync],
    choice: ClusterChoice,
    *,
    listen: tuple[str, int],
    data_dir: Path,
    stop: threading.Event,
    listeners: Sequence[Listener] = (),
    webhook_secret: SecretFile | None = None,
) -> Iterator[Service]:
    """Run a daemon for as long as this lasts.

    Args:
        syncs: What it keeps in sync.
        choice: The cluster.
        listen: Host and port of the web server.
        data_dir: Where mirrors are kept.
        stop: Ends what reads from Git, early, once it is set.
        listeners: Who else is told of what happens.
        webhook_secret: What callers of webhooks must know; without it there are no webhooks.

    Raises:
        SyncdError: It cannot start.
    """
    telemetry = Telemetry()
    with open_cluster(choice, telemetry.observe_request) as cluster:
        telemetry.watch_live(cluster.live)
        sources = open_sources(data_dir, stop, cluster, telemetry.observe_git)
        daemon = Daemon(syncs, cluster, sources, listeners=(telemetry, *listeners))
        hooks = Hooks(daemon.board, daemon.trigger, webhook_secret) if webhook_secret else None
        web = WebServer(create_app(daemon.board, telemetry.registry, hooks=hooks), *listen)
        web.start()  # before the daemon: an address that is taken is to be known before anything is written
        try:
            daemon.start()
            try:
                yield Service(daemon.board, web.url)
            finally:
                daemon.stop(STOP_SECONDS)
        finally:
            web.stop()
