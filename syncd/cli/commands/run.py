"""``syncd run``."""

from __future__ import annotations

import gc
import threading
from typing import TYPE_CHECKING, Final

import click
import structlog

from syncd.cli import programs
from syncd.cli.exits import Exit
from syncd.cli.options import (
    account_option,
    cluster_options,
    config_option,
    data_dir_option,
    election_options,
    listen_option,
    log_options,
    namespace_option,
    webhook_option,
)
from syncd.cli.serving import serving
from syncd.cli.signals import stopped_by_signal
from syncd.daemon.config import load_syncs
from syncd.daemon.objects import Following
from syncd.telemetry.logs import configure_logging
from syncd.web.hooks import SecretFile

if TYPE_CHECKING:
    from pathlib import Path

    from syncd.cli.options import ClusterChoice, ElectionChoice

log = structlog.get_logger("syncd")

NEW_OBJECTS: Final = 50_000
"""How many new maps and lists make Python look for cycles among them; its own default is 700.

Manifests and live objects are maps and lists by the hundred thousand, never in cycles: they go as soon as nobody needs
them, and looking for cycles among them finds nothing. With 8,000 objects the first reconcile after a start takes a
fifth less CPU this way, and the same memory: 132 to 136 MiB resident with either.
"""


@click.command("run")
@config_option(required=False)
@namespace_option("Without --config: follow only the Sync objects of this namespace.")
@cluster_options
@account_option
@listen_option()
@data_dir_option()
@webhook_option()
@election_options
@log_options
def command(  # noqa: PLR0913 - every option, by keyword
    *,
    config: Path | None,
    namespace: str | None,
    cluster: ClusterChoice,
    listen: tuple[str, int],
    data_dir: Path,
    webhook_secret_file: Path | None,
    election: ElectionChoice | None,
    log_level: str,
    log_format: str,
) -> int:
    """Follow the repositories of all Syncs and keep the cluster equal to them, until SIGTERM or Ctrl-C.

    The Syncs are those of the files that --config names. Without it they are the Sync objects of the cluster; what
    comes of them is in their status. Either way they may be made, changed, suspended and taken away while it runs.

    Serves a status page, a JSON API below /api/v1, /metrics, /healthz and /readyz. A Sync that fails is retried for
    ever and disturbs no other. A signal lets the work in hand reach a safe point, for at most 30 seconds; a second one
    ends the process at once.

    With --leader-elect several replicas may run: the one that holds the Lease works, the others stand by.
    """
    if election is not None and cluster.sandbox:
        raise click.UsageError("--leader-elect is for replicas that share a cluster, and --sandbox makes one for each")
    gc.set_threshold(NEW_OBJECTS)
    configure_logging(log_level, log_format)
    syncs = _what_to_follow(config, namespace, cluster)
    webhook_secret = SecretFile(webhook_secret_file) if webhook_secret_file else None
    if webhook_secret is not None:
        webhook_secret.read()  # now, rather than at the first call
    with (
        stopped_by_signal(Exit.INTERRUPTED) as stop,
        serving(
            syncs,
            cluster,
            listen=listen,
            data_dir=data_dir,
            stop=stop,
            webhook_secret=webhook_secret,
            election=election,
        ) as service,
    ):
        log.info("serving", address=service.url)
        threading.Thread(target=_tell_programs, name="syncd-programs").start()  # asking takes a moment
        stop.wait()
        log.info("stopping")
    return Exit.OK


def _tell_programs() -> None:
    """Log which programs fetch and render, and what is wrong with those that cannot."""
    log.info("programs", **programs.versions())


def _what_to_follow(config: Path | None, namespace: str | None, cluster: ClusterChoice) -> Path | Following:
    if config is not None:
        if namespace:
            raise click.UsageError("--namespace is about Sync objects of the cluster: give no --config with it")
        load_syncs(config)  # now, rather than when this replica leads
        return config
    if cluster.sandbox:
        raise click.UsageError("--sandbox needs --config: nobody can make Sync objects in it")
    return Following(namespace or "")
