"""``syncd sandbox``."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from syncd.cli.exits import Exit
from syncd.cli.signals import stopped_by_signal
from syncd.sandbox.server import SandboxServer


@click.command("sandbox")
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="The address to listen on; it asks for no password."
)
@click.option("--port", type=click.IntRange(0, 65535), default=8001, show_default=True, help="0 takes any free one.")
@click.option(
    "--kubeconfig",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write a kubeconfig that leads here into this file.",
)
def command(host: str, port: int, kubeconfig: Path | None) -> None:
    """Serve a Kubernetes API that kubectl accepts, until Ctrl-C.

    Everything is kept in memory and lost at the end. Controllers are played just enough that a Deployment becomes
    ready; nothing really runs.
    """
    with stopped_by_signal(Exit.INTERRUPTED) as stop, SandboxServer(host, port) as server:
        click.echo(f"The Kubernetes API is served at {server.url}")
        if kubeconfig:
            server.write_kubeconfig(kubeconfig)
            click.echo(f"Try: kubectl --kubeconfig {shlex.quote(str(kubeconfig))} api-resources")
        stop.wait()
