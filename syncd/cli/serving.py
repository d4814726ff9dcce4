"""The daemon with everything around it: metrics, the web server, and an orderly end."""

from __future__ import annotations

import threading
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from syncd.cli.session import USER_AGENT, open_cluster, open_sources
from syncd.cluster.config import connect
from syncd.cluster.events import Recorder
from syncd.cluster.lease import LeaseClient
from syncd.daemon.eventteller import EventTeller
from syncd.daemon.files import FileFollower
from syncd.daemon.leadership import Leadership, own_identity
from syncd.daemon.objects import Following, ObjectFollower
from syncd.daemon.replica import Replica, Term
from syncd.daemon.service import Daemon
from syncd.telemetry.metrics import Telemetry
from syncd.web import WebServer, create_app
from syncd.web.hooks import Hooks
from syncd.web.server import url_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from syncd.cli.options import ClusterChoice, ElectionChoice
    from syncd.cluster import Cluster
    from syncd.daemon.status import Board, Listener
    from syncd.engine.sources import Sources
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
def serving(  # noqa: PLR0913 - all that a daemon can be told, by keyword
    syncs: Path | Following,
    choice: ClusterChoice,
    *,
    listen: tuple[str, int],
    data_dir: Path,
    stop: threading.Event,
    listeners: Sequence[Listener] = (),
    webhook_secret: SecretFile | None = None,
    election: ElectionChoice | None = None,
) -> Iterator[Service]:
    """Run a daemon for as long as this lasts.

    Args:
        syncs: The file or folder that says what it keeps in sync, or which objects of the cluster do; while it runs.
        choice: The cluster.
        listen: Host and port of the web server.
        data_dir: Where mirrors are kept.
        stop: Ends what reads from Git, early, once it is set.
        listeners: Who else is told of what happens.
        webhook_secret: What callers of webhooks must know; without it there are no webhooks.
        election: Work only while this replica leads; without it, always.

    Raises:
        SyncdError: It cannot start.
    """
    telemetry = Telemetry()
    maker = _Maker(syncs, choice, data_dir, telemetry, (telemetry, *listeners))
    with maker.elected(election) if election else maker.alone(stop) as daemon:
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


@dataclass(frozen=True, slots=True)
class _Maker:
    """Makes daemons with all that they need; with a leader election, one for each term."""

    syncs: Path | Following
    choice: ClusterChoice
    data_dir: Path
    telemetry: Telemetry
    listeners: Sequence[Listener]

    @contextmanager
    def alone(self, stop: threading.Event) -> Iterator[Daemon]:
        """One that always works."""
        with self._term(stop) as term:
            yield term.daemon

    @contextmanager
    def elected(self, election: ElectionChoice) -> Iterator[Replica]:
        """One that works while it holds a Lease."""
        with closing(
            connect(self.choice.kubeconfig, self.choice.context, USER_AGENT, observer=self.telemetry.observe_request)
        ) as transport:
            leadership = Leadership(
                LeaseClient(transport, election.lease, url_of(*election.address) if election.address else ""),
                own_identity(),
                election.timing,
                observe=self.telemetry.observe_leadership,
            )
            self.telemetry.watch_leadership(leadership.leads)
            yield Replica(leadership, lambda fence: self._term(threading.Event(), fence))

    @contextmanager
    def _term(self, stop: threading.Event, fence: Callable[[], None] | None = None) -> Iterator[Term]:
        with open_cluster(self.choice, self.telemetry.observe_request, fence) as cluster:
            sources = open_sources(self.data_dir, stop, cluster, self.telemetry.observe_git)
            daemon = self._daemon(cluster, sources)
            self.telemetry.watch_live(cluster.lives)
            try:
                yield Term(daemon, stop, cluster.close)
            finally:
                self.telemetry.watch_live(tuple)
                for status in daemon.board.statuses():
                    daemon.board.remove(status.id)  # whoever leads next tells of them

    def _daemon(self, cluster: Cluster, sources: Sources) -> Daemon:
        account = self.choice.default_account
        recorder = Recorder(cluster.client, own_identity())
        if isinstance(self.syncs, Following):
            objects = ObjectFollower(cluster.client, self.syncs)
            events = EventTeller(recorder, cluster.known, objects.statuses.uid_of)
            listeners = (*self.listeners, objects.statuses, events)
            companions = (objects, events)
            return Daemon((), cluster, sources, listeners=listeners, companions=companions, default_account=account)
        files = FileFollower(self.syncs)
        events = EventTeller(recorder, cluster.known)
        return Daemon(
            files.syncs,
            cluster,
            sources,
            listeners=(*self.listeners, events),
            companions=(files, events),
            default_account=account,
        )
