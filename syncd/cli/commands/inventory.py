"""``syncd inventory``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from syncd.cli.exits import Exit
from syncd.cli.options import cluster_options, config_option, output_option
from syncd.cli.output import print_json, printable
from syncd.cli.session import choose_syncs, open_cluster
from syncd.cli.signals import stopped_by_signal
from syncd.engine.deadline import Deadline
from syncd.engine.inventories import SyncName, find_inventories
from syncd.engine.inventory import InventoryStore
from syncd.engine.owned import find_owned
from syncd.engine.rebuild import rebuild
from syncd.spec import SyncMetadata
from syncd.telemetry.logs import configure_logging
from syncd.web import serialize

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from syncd.cli.options import ClusterChoice
    from syncd.inventory import ApplyConfig

_PATIENCE: Final = 300.0
"""Seconds for looking through a whole cluster."""


@click.group("inventory", no_args_is_help=True)
def command() -> None:
    """Look at the inventory of a Sync, or rebuild a lost one."""


@command.command("show")
@click.argument("name", required=False)
@config_option(required=False)
@cluster_options
@output_option()
def show(*, name: str | None, config: Path | None, cluster: ClusterChoice, output: str) -> int:
    """Print what a Sync's inventory lists, and how that compares with what carries the Sync's owner mark.

    An object is live; or missing: listed, but it is not there or does not carry the mark; or not listed although it
    does. Without --config the name is NAMESPACE/NAME. Without a name it prints all inventories of the cluster, and
    with --config as well which of them belong to no Sync of the configuration.
    """
    configure_logging("error")
    with stopped_by_signal(Exit.INTERRUPTED) as stop, open_cluster(cluster) as place:
        deadline = Deadline.after(_PATIENCE, stop)
        if name is None:
            known = {sync.id for sync in choose_syncs(config, [])} if config else None
            _show_all(dict(find_inventories(place, deadline)), known, output)
            return Exit.OK
        sync = choose_syncs(config, [name])[0] if config else _named(name)
        inventory = InventoryStore(place, sync).read(deadline)
        owned = find_owned(place, inventory.owner(sync.id), deadline).keys() - {inventory.key}
    states = {
        key: "not listed" if key not in inventory.keys else "live" if key in owned else "missing"
        for key in sorted(inventory.keys | owned)
    }
    if output == "json":
        items = [{**serialize.key(key), "state": state} for key, state in states.items()]
        print_json({**_whole(sync.id, inventory), "uid": inventory.uid, "objects": items})
        return Exit.OK
    for key, state in states.items():
        click.echo(f"{state:<10}  {printable(key.display())}")
    click.echo(f"{sync.id}: {_in_words(inventory)}")
    return Exit.OK


def _named(name: str) -> SyncName:
    namespace, slash, short = name.rpartition("/")
    if not slash:
        raise click.UsageError(f"without --config, name the Sync as NAMESPACE/NAME, not {name!r}")
    return SyncName(SyncMetadata(name=short, namespace=namespace))


def _show_all(found: Mapping[SyncName, ApplyConfig], known: Collection[str] | None, output: str) -> None:
    if output == "json":
        print_json([{**_whole(name.id, config), "count": len(config.keys)} for name, config in found.items()])
        return
    for name, config in found.items():
        orphan = "" if known is None or name.id in known else "; no Sync of the configuration follows it"
        click.echo(f"{name.id}: {_in_words(config)}{orphan}")


def _whole(sync_id: str, inventory: ApplyConfig) -> dict[str, Any]:
    place = serialize.key(inventory.key)
    whole = {"sync": sync_id, "place": place, "finished": inventory.finished, "damage": inventory.damage}
    return {**whole, "pages": len(inventory.pages)}


def _in_words(inventory: ApplyConfig) -> str:
    if not inventory.uid:
        return "no inventory"
    words = f"{len(inventory.keys)} objects"
    if inventory.brought:
        words += f", listed in {inventory.key.display()}"
    if inventory.pages:
        words += f" on {len(inventory.pages)} pages"
    return words + (f"; in doubt: {inventory.damage}" if inventory.damage else "")


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
        found = find_owned(place, inventory.owner(sync.id), deadline)
        owned = {key: live for key, live in found.items() if key != inventory.key}
        for key in sorted(inventory.keys | owned.keys()):
            sign = "-" if key not in owned else " " if key in inventory.keys else "+"
            click.echo(f"{sign} {printable(key.display())}")
        if not yes:
            click.confirm(f"Let the inventory of {sync.id} list these {len(owned)} objects?", abort=True)
        rebuild(place, sync, inventory, owned, Deadline.after(sync.spec.timeout, stop))
    click.echo(f"{sync.id}: {len(owned)} objects listed.")
    return Exit.OK
