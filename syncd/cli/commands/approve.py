"""``syncd approve``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from syncd.cli import plan_view
from syncd.cli.exits import Exit
from syncd.cli.options import cluster_options, config_option, data_dir_option
from syncd.cli.output import console
from syncd.cli.session import choose_syncs, workplace
from syncd.cli.signals import stopped_by_signal
from syncd.engine.inventory import InventoryStore
from syncd.engine.memory import Memory
from syncd.telemetry.logs import configure_logging

if TYPE_CHECKING:
    from pathlib import Path

    from syncd.cli.options import ClusterChoice


@click.command("approve")
@click.argument("name")
@config_option()
@cluster_options
@data_dir_option()
@click.option("--yes", is_flag=True, help="Do not ask.")
def command(*, name: str, config: Path, cluster: ClusterChoice, data_dir: Path, yes: bool) -> int:
    """Allow the prunes of a Sync that are held because there are so many of them.

    Shows what would be deleted, asks, and writes the approval onto the Sync's apply-config object. It holds for the
    commit that Git is at now, and for just these objects should Git move on meanwhile; for nothing else. The daemon
    makes use of it at its next reconcile, after a restart too.
    """
    configure_logging("error")  # what matters is told as a result or an error
    (sync,) = choose_syncs(config, [name])
    with stopped_by_signal(Exit.INTERRUPTED) as stop, workplace(cluster, data_dir, stop, config) as place:
        deadline = place.deadline(sync)
        revision = place.reconciler.resolve(sync, deadline)
        plan = place.reconciler.plan(sync, revision, Memory(), deadline).plan
        plan_view.show(console(), sync, revision, plan)
        if not plan.prune_held:
            click.echo("No prune is held.")
            return Exit.OK
        if not yes:
            click.confirm(f"Let {sync.id} prune these {len(plan.candidates)} objects?", abort=True)
        InventoryStore(place.cluster, sync).approve(revision.commit, plan.candidates, place.deadline(sync))
    click.echo(f"Approved for {revision}.")
    return Exit.OK
