"""``syncd inventory``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from syncd.cli.exits import Exit
from syncd.cli.options import cluster_options, config_option, output_option
from syncd.cli.output import print_json, printable
from syncd.cli.session import choose_syncs, open_cluster
from syncd.cli.signals import stopped_by_signal
from syncd.engine.deadline import Deadline
from syncd.engine.inventory import InventoryStore
from syncd.engine.owned import find_owned
from syncd.engine.rebuild import rebuild
from syncd.inventory import Owner
from syncd.telemetry.logs import configure_logging
from syncd.web import serialize

if TYPE_CHECKING:
    from pathlib import Path

    from syncd.cli.options import ClusterChoice


@click.group("inventory", no_args_is_help=True)
def command() -> None:
    """Look at the inventory of a Sync, or rebuild a lost one."""


@command.command("show")
@click.argument("name")
@config_option()
@cluster_options
@output_option()
def show(*, name: str, config: Path, cluster: ClusterChoice, output: str) -> int:
    """Print what a Sync's inventory lists, and how that compares with what carries the Sync's owner mark.

    An object is live; or missing: listed, but it is not there or does not carry the mark; or not listed although it
    does.
    """
    configure_logging("error")
    (sync,) = choose_syncs(config, [name])
    with stopped_by_signal(Exit.INTERRUPTED) as stop, open_cluster(cluster) as place:
        deadline = Deadline.after(sync.spec.timeout, stop)
        inventory = InventoryStore(place, sync).read(deadline)
        owned = find_owned(place, Owner(inventory.uid, sync.id), deadline)
    states = {
        key: "not listed" if key not in inventory.keys else "live" if key in owned else "missing"
        for key in sorted(inventory.keys | owned.keys())
    }
    if output == "json":
        items = [{**serialize.key(key), "state": state} for key, state in states.items()]
        whole = {"sync": sync.id, "uid": inventory.uid, "finished": inventory.finished, "damage": inventory.damage}
        print_json({**whole, "pages": len(inventory.pages), "objects": items})
        return Exit.OK
    for key, state in states.items():
        click.echo(f"{state:<10}  {printable(key.display())}")
    size = f"{len(inventory.keys)} objects" + (f" on {len(inventory.pages)} pages" if inventory.pages else "")
    there = size if inventory.uid else "no inventory"
    click.echo(f"{sync.id}: {there}" + (f"; in doubt: {inventory.damage}" if inventory.damage else ""))
    return Exit.OK


@command.command("rebuild")
@click.argument("name")
@config_option()
@cluster_options
@click.option("--yes", is_flag=True, help="Do not ask.")
def rebuild_command(*, name: str, config: Path, cluster: ClusterChoice, yes: bool) -> int:
    """Make the inventory anew out of the objects that say that they belong to the Sync.

    For an inventory that was deleted, or that is in doubt. Shows first what was found, and deletes nothing; what has
    left Git is pruned by the next reconcile, within the Sync's budget.
    """
    configure_logging("error")
    (sync,) = choose_syncs(config, [name])
    with stopped_by_signal(Exit.INTERRUPTED) as stop, open_cluster(cluster) as place:
        deadline = Deadline.after(sync.spec.timeout, stop)
        inventory = InventoryStore(place, sync).read(deadline)
        owned = find_owned(place, Owner(inventory.uid, sync.id), deadline)
        for key in sorted(inventory.keys | owned.keys()):
            sign = "-" if key not in owned else " " if key in inventory.keys else "+"
            click.echo(f"{sign} {printable(key.display())}")
        if not yes:
            click.confirm(f"Let the inventory of {sync.id} list these {len(owned)} objects?", abort=True)
        rebuild(place, sync, inventory, owned, Deadline.after(sync.spec.timeout, stop))
    click.echo(f"{sync.id}: {len(owned)} objects listed.")
    return Exit.OK
