"""``syncd approve``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from syncd.cli import plan_view
from syncd.cli.exits import Exit
from syncd.cli.objects import SyncObjects
from syncd.cli.options import Selection, account_option, cluster_options, config_option, data_dir_option
from syncd.cli.output import console
from syncd.cli.session import open_cluster
from syncd.cli.signals import stopped_by_signal
from syncd.cli.workplace import workplace
from syncd.engine.deadline import Deadline
from syncd.engine.inventories import SyncName
from syncd.engine.inventory import InventoryStore
from syncd.engine.memory import Memory
from syncd.inventory.keylist import approval_of
from syncd.model import ObjectKey
from syncd.spec import SyncMetadata
from syncd.telemetry.logs import configure_logging

if TYPE_CHECKING:
    from pathlib import Path

    from syncd.cli.options import ClusterChoice

_PATIENCE = 60.0
"""Seconds that writing the approval may take."""


@click.command("approve")
@click.argument("name")
@config_option(required=False)
@cluster_options
@account_option
@data_dir_option()
@click.option("--yes", is_flag=True, help="Do not ask.")
def command(*, name: str, config: Path | None, cluster: ClusterChoice, data_dir: Path, yes: bool) -> int:
    """Allow the prunes of a Sync that are held because there are so many of them.

    Shows what would be deleted, asks, and writes the approval onto the Sync's apply-config object. It holds for the
    commit that Git is at now, and for just these objects should Git move on meanwhile; for nothing else. The daemon
    makes use of it at its next reconcile, after a restart too.

    Without --config it is about a Sync object of the cluster, NAMESPACE/NAME: what is held is read from its status, and
    the daemon is asked to reconcile at once.
    """
    configure_logging("error")  # what matters is told as a result or an error
    if config is None:
        cluster.refuse_account()
        return _approve_object(name, cluster, yes=yes)
    selection = Selection(config, (name,))
    with stopped_by_signal(Exit.INTERRUPTED) as stop, workplace(cluster, data_dir, stop, selection) as place:
        (sync,) = place.syncs
        deadline = place.deadline(sync)
        revision = place.reconciler.resolve(sync, deadline)
        plan = place.reconciler.plan(sync, revision, Memory(), deadline).plan
        plan_view.show(console(), sync, revision, plan)
        if not plan.prune_held:
            click.echo("No prune is held.")
            return Exit.OK
        if not yes:
            click.confirm(f"Let {sync.id} prune these {len(plan.candidates)} objects?", abort=True)
        InventoryStore(place.cluster, sync).approve(approval_of(revision.commit, plan.candidates), place.deadline(sync))
    click.echo(f"Approved for {revision}.")
    return Exit.OK


def _approve_object(name: str, choice: ClusterChoice, *, yes: bool) -> int:
    """Approve what the status of a Sync object says is held."""
    with stopped_by_signal(Exit.INTERRUPTED) as stop, open_cluster(choice) as cluster:
        syncs = SyncObjects(cluster.client, stop)
        found = syncs.get(name)
        held = found.status.held_prunes
        if held is None:
            click.echo("No prune is held.")
            return Exit.OK
        for key in held.objects:
            click.echo(f"  - {ObjectKey.parse(key).display()}")
        if held.count > len(held.objects):
            click.echo(f"  and {held.count - len(held.objects)} more")
        click.echo(f"{held.message}.")
        if not yes:
            click.confirm(f"Let {found.id} prune these {held.count} objects?", abort=True)
        sync = SyncName(SyncMetadata(name=found.metadata["name"], namespace=found.metadata["namespace"]))
        InventoryStore(cluster, sync).approve(held.approval, Deadline.after(_PATIENCE, stop))
        syncs.request(found)
    click.echo(f"{found.id}: approved.")
    return Exit.OK
