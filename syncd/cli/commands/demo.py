"""``syncd demo``."""

from __future__ import annotations

import socket
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from rich.text import Text

from syncd.cli.demo.guide import experiments, preparation
from syncd.cli.demo.repositories import make_environments, prepare_folder, sample_manifests
from syncd.cli.demo.screen import Events, Screen, summary_table
from syncd.cli.demo.tally import Tally
from syncd.cli.exits import Exit
from syncd.cli.options import ClusterChoice
from syncd.cli.output import console
from syncd.cli.serving import serving
from syncd.cli.signals import stopped_by_signal
from syncd.daemon.status import SyncStatus
from syncd.sandbox.server import SandboxServer
from syncd.telemetry.logs import configure_logging

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator, Sequence

    from syncd.cli.demo.repositories import Environment
    from syncd.cli.demo.screen import Event
    from syncd.cli.serving import Service

_HOST: Final = "127.0.0.1"
_PORT: Final = 8080
_CONVERGENCE_SECONDS: Final = 180.0
_ATTEMPTS: Final = 5
"""Reconciles after which a Sync that still fails is taken for one that will not converge."""
_TICK_SECONDS: Final = 0.2


@click.command("demo")
@click.option("--once", is_flag=True, help="End after the first convergence, with a summary.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    show_default=f"{_PORT}, or any free one where that is taken",
    help="Of the status page.",
)
@click.option(
    "--dir",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(".demo"),
    show_default=True,
    help="Where repositories and everything else go; made anew each time.",
)
def command(*, once: bool, port: int | None, folder: Path) -> int:
    """Run syncd on three sample environments, with a Kubernetes API server of its own. Needs no cluster.

    Makes one Git repository for each environment, starts the API server, brings it in line with the repositories, and
    goes on until Ctrl-C. With --once: ends after the first convergence, with status 0 if every Sync is Synced.
    """
    folder = folder.absolute()
    prepare_folder(folder)
    screen = Screen(console())
    with stopped_by_signal(Exit.INTERRUPTED) as stop, _logging_to(folder / "syncd.log"), SandboxServer() as cluster:
        environments = _prepare(folder, cluster, screen)
        events = Events()
        with serving(
            folder / "syncs.yaml",
            ClusterChoice(folder / "kubeconfig", None, sandbox=False),
            listen=(_HOST, _PORT if port is None and _is_free(_PORT) else port or 0),
            data_dir=folder / "data",
            stop=stop,
            listeners=(events,),
        ) as service:
            screen.say(f"Status page   {service.url}/")
            if once:
                return _until_converged(screen, service, events, stop)
            return _until_stopped(screen, service, events, stop, lambda: _show_guide(screen, environments, folder))


@contextmanager
def _logging_to(path: Path) -> Iterator[None]:
    """Send the log into a file for as long as this lasts: the screen tells what happens in its own words."""
    with path.open("w", encoding="utf-8", buffering=1) as file:
        configure_logging("info", "json", file)
        try:
            yield
        finally:
            configure_logging("error")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((_HOST, port))
        except OSError:
            return False
    return True


def _prepare(folder: Path, cluster: SandboxServer, screen: Screen) -> tuple[Environment, ...]:
    environments = make_environments(sample_manifests(), folder)
    for environment in environments:
        screen.say(f"Repository    {environment.repository} (work in {environment.clone})")
    cluster.write_kubeconfig(folder / "kubeconfig")
    screen.say(f"API server    {cluster.url} (KUBECONFIG={folder / 'kubeconfig'})")
    return environments


def _show_guide(screen: Screen, environments: Sequence[Environment], folder: Path) -> None:
    screen.say()
    screen.say("Three things to try, in another terminal. First:", "bold")
    for line in preparation(folder / "kubeconfig"):
        screen.say(f"    {line}", "cyan")
    for number, experiment in enumerate(experiments(environments), 1):
        screen.say(Text.assemble(f"\n{number}. ", (experiment.title, "bold")))
        for line in experiment.commands:
            screen.say(f"    {line}", "cyan")
        screen.say(f"   Then {experiment.expect}.")
    screen.say("\nCtrl-C ends the demo.\n")


def _until_stopped(
    screen: Screen, service: Service, events: Events, stop: threading.Event, show_guide: Callable[[], None]
) -> int:
    """Show what happens until a signal comes; the guide comes once everything has been tried for the first time."""
    waiting = {status.id for status in service.board.statuses()}
    with screen.table():
        while True:
            screen.update(service.board.statuses())
            event = events.next(_TICK_SECONDS)
            if stop.is_set():  # from here on there is only news of work that was given up
                break
            ended = _tell(screen, event)
            if waiting and ended:
                waiting.discard(ended.id)
                if not waiting:
                    show_guide()
    screen.say("Stopping.")
    return Exit.OK


def _until_converged(screen: Screen, service: Service, events: Events, stop: threading.Event) -> int:
    """Show what happens until every Sync has converged, or one will not."""
    tallies = {status.id: Tally(status.id) for status in service.board.statuses()}
    deadline = time.monotonic() + _CONVERGENCE_SECONDS
    with screen.table():
        while not all(tally.synced or tally.reconciles >= _ATTEMPTS for tally in tallies.values()):
            screen.update(service.board.statuses())
            event = events.next(_TICK_SECONDS)
            if stop.is_set():
                return Exit.INTERRUPTED
            if time.monotonic() >= deadline:
                screen.say(f"Not converged after {_CONVERGENCE_SECONDS:.0f} seconds.", "red")
                break
            ended = _tell(screen, event)
            if ended:
                tallies[ended.id] = tallies[ended.id].add(ended)
    screen.console.print(summary_table(tuple(tallies.values())))
    return Exit.OK if all(tally.synced for tally in tallies.values()) else Exit.FAILURE


def _tell(screen: Screen, event: Event | None) -> SyncStatus | None:
    """Tell of an event, if there is one; returns it if it is the end of a reconcile."""
    if isinstance(event, SyncStatus):
        screen.reconciled(event)
        return event
    if event:
        screen.drift(*event)
    return None
