"""``syncd destroy``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from syncd.cli.exits import Exit
from syncd.cli.main import complain
from syncd.cli.objects import open_objects
from syncd.cli.options import (
    Selection,
    account_option,
    cluster_options,
    config_option,
    data_dir_option,
)
from syncd.cli.signals import stopped_by_signal
from syncd.cli.workplace import workplace
from syncd.engine.deadline import Deadline
from syncd.engine.inventory import InventoryStore
from syncd.spec.objects import parse_ending
from syncd.telemetry.logs import configure_logging

if TYPE_CHECKING:
    from pathlib import Path

    from syncd.cli.options import ClusterChoice
    from syncd.spec import Sync


@click.command("destroy")
@click.argument("name")
@config_option(required=False)
@cluster_options
@account_option
@data_dir_option()
@click.option("--yes", is_flag=True, help="Do not ask.")
def command(*, name: str, config: Path | None, cluster: ClusterChoice, data_dir: Path, yes: bool) -> int:
    """Delete all objects of a Sync, in reverse order, and its inventory last.

    Waits until they are gone, for as long as the Sync's timeout says. With deletionPolicy: Orphan in the Sync the
    objects are released instead, and stay. What the guards protect stays too, is told, and keeps the inventory.

    With --config this process does it itself. First suspend the Sync, or take it out of the daemon's configuration: a
    daemon that follows it would make everything anew. Without, it is about a Sync object of the cluster,
    NAMESPACE/NAME: it is deleted, and the daemon does the rest.
    """
    configure_logging("error")  # what matters is told as a result or an error
    if config is None:
        cluster.refuse_account()
        return _destroy_object(name, cluster, yes=yes)
    selection = Selection(config, (name,))
    with stopped_by_signal(Exit.INTERRUPTED) as stop, workplace(cluster, data_dir, stop, selection) as place:
        (sync,) = place.syncs
        count = len(InventoryStore(place.cluster, sync).read(place.deadline(sync)).keys)
        _confirm(sync, count, yes=yes)
        kept = place.reconciler.destroy(sync, place.deadline(sync))
    for outcome in kept:
        complain(f"{outcome.action.key.display()} stays: {outcome.message or outcome.action.message}")
    if kept:
        return Exit.FAILURE
    click.echo(f"{sync.id}: {count} objects {_verb(sync)}d.")
    return Exit.OK


def _destroy_object(name: str, choice: ClusterChoice, *, yes: bool) -> int:
    """Delete a Sync object, and wait until the daemon has brought it to its end."""
    with stopped_by_signal(Exit.INTERRUPTED) as stop, open_objects(choice, stop) as syncs:
        found = syncs.get(name)
        sync = parse_ending(found.document)
        count = found.status.objects.inventory
        _confirm(sync, count, yes=yes)
        syncs.delete(found)
        left = syncs.await_end(found, Deadline.after(sync.spec.timeout, stop))
    if left is not None:
        complain(f"{sync.id}: it is not at its end yet, and goes on: {left.condition('Ready')[1]}")
        return Exit.FAILURE
    click.echo(f"{sync.id}: {count} objects {_verb(sync)}d.")
    return Exit.OK


def _confirm(sync: Sync, count: int, *, yes: bool) -> None:
    if not yes:
        click.confirm(f"This will {_verb(sync)} the {count} objects of {sync.id}. Go on?", abort=True)


def _verb(sync: Sync) -> str:
    return "release" if sync.spec.deletion_policy == "Orphan" else "delete"
