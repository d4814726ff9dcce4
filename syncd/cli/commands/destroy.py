"""``syncd destroy``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from syncd.cli.exits import Exit
from syncd.cli.main import complain
from syncd.cli.options import account_option, cluster_options, config_option, data_dir_option
from syncd.cli.session import choose_syncs, workplace
from syncd.cli.signals import stopped_by_signal
from syncd.engine.inventory import InventoryStore
from syncd.telemetry.logs import configure_logging

if TYPE_CHECKING:
    from pathlib import Path

    from syncd.cli.options import ClusterChoice


@click.command("destroy")
@click.argument("name")
@config_option()
@cluster_options
@account_option
@data_dir_option()
@click.option("--yes", is_flag=True, help="Do not ask.")
def command(*, name: str, config: Path, cluster: ClusterChoice, data_dir: Path, yes: bool) -> int:
    """Delete all objects of a Sync, in reverse order, and its inventory last.

    Waits until they are gone, for as long as the Sync's timeout says. With deletionPolicy: Orphan in the Sync the
    objects are released instead, and stay. What the guards protect stays too, is told, and keeps the inventory. First
    suspend the Sync, or take it out of the daemon's configuration: a daemon that follows it would make everything anew.
    """
    configure_logging("error")  # what matters is told as a result or an error
    (sync,) = choose_syncs(config, [name])
    verb = "release" if sync.spec.deletion_policy == "Orphan" else "delete"
    with stopped_by_signal(Exit.INTERRUPTED) as stop, workplace(cluster, data_dir, stop, config) as place:
        count = len(InventoryStore(place.cluster, sync).read(place.deadline(sync)).keys)
        if not yes:
            click.confirm(f"This will {verb} the {count} objects of {sync.id}. Go on?", abort=True)
        kept = place.reconciler.destroy(sync, place.deadline(sync))
    for outcome in kept:
        complain(f"{outcome.action.key.display()} stays: {outcome.message or outcome.action.message}")
    if kept:
        return Exit.FAILURE
    click.echo(f"{sync.id}: {count} objects {verb}d.")
    return Exit.OK
