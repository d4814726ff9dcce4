"""``syncd run``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import structlog

from syncd.cli.exits import Exit
from syncd.cli.options import (
    cluster_options,
    config_option,
    data_dir_option,
    election_options,
    listen_option,
    log_options,
    webhook_option,
)
from syncd.cli.serving import serving
from syncd.cli.signals import stopped_by_signal
from syncd.daemon.config import load_syncs
from syncd.telemetry.logs import configure_logging
from syncd.web.hooks import SecretFile

if TYPE_CHECKING:
    from pathlib import Path

    from syncd.cli.options import ClusterChoice, ElectionChoice

log = structlog.get_logger("syncd")


@click.command("run")
@config_option()
@cluster_options
@listen_option()
@data_dir_option()
@webhook_option()
@election_options
@log_options
def command(  # noqa: PLR0913 - every option, by keyword
    *,
    config: Path,
    cluster: ClusterChoice,
    listen: tuple[str, int],
    data_dir: Path,
    webhook_secret_file: Path | None,
    election: ElectionChoice | None,
    log_level: str,
    log_format: str,
) -> int:
    """Follow the repositories of all Syncs and keep the cluster equal to them, until SIGTERM or Ctrl-C.

    Serves a status page, a JSON API below /api/v1, /metrics, /healthz and /readyz. A Sync that fails is retried for
    ever and disturbs no other. A signal lets the work in hand reach a safe point, for at most 30 seconds; a second one
    ends the process at once.

    With --leader-elect several replicas may run: the one that holds the Lease works, the others stand by.
    """
    if election is not None and cluster.sandbox:
        raise click.UsageError("--leader-elect is for replicas that share a cluster, and --sandbox makes one for each")
    configure_logging(log_level, log_format)
    syncs = load_syncs(config)
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
        stop.wait()
        log.info("stopping")
    return Exit.OK
