"""``syncd get``."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import click
from rich.text import Text

from syncd.cli.exits import Exit
from syncd.cli.objects import open_objects
from syncd.cli.options import cluster_options, namespace_option, output_option
from syncd.cli.output import console, plain_table, print_json, printable
from syncd.cli.signals import stopped_by_signal
from syncd.telemetry.logs import configure_logging
from syncd.web.text import span

if TYPE_CHECKING:
    from syncd.cli.objects import Found
    from syncd.cli.options import ClusterChoice

_STYLES: Final = {"True": "green", "False": "red", "Unknown": "yellow"}


@click.command("get")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@namespace_option("Only the Syncs of this namespace; default: all, and syncd for a bare name.")
@cluster_options
@output_option()
def command(*, names: tuple[str, ...], namespace: str | None, cluster: ClusterChoice, output: str) -> int:
    """Show the Sync objects of a cluster, and how they are.

    A name is NAMESPACE/NAME, or just NAME. For all about one of them: kubectl describe sync NAME.
    """
    configure_logging("error")
    with stopped_by_signal(Exit.INTERRUPTED) as stop, open_objects(cluster, stop) as syncs:
        found = syncs.find(names, namespace)
    if output == "json":
        print_json({"items": [item.document for item in found]})
        return Exit.OK
    if not found:
        click.echo("There are no Syncs.", err=True)
        return Exit.OK
    table = plain_table("Sync", "Ready", "State", "Health", "Revision", "Drift", "Age")
    for item in found:
        table.add_row(*_row(item))
    screen = console()
    screen.print(table)
    for item in found:
        ready, message = item.condition("Ready")
        if ready != "True" and message:
            screen.print(Text(printable(f"{item.id}: {message}"), style=_STYLES[ready]), soft_wrap=True)
    return Exit.OK


def _row(found: Found) -> tuple[Text, ...]:
    status = found.status
    born = datetime.fromisoformat(found.metadata["creationTimestamp"])
    cells = (
        found.id,
        found.condition("Ready")[0],
        "Suspended" if found.suspended else status.state,
        status.health,
        status.revision,
        str(status.drift.count),
        span((datetime.now(UTC) - born).total_seconds()),
    )
    return tuple(Text(printable(text), style=_STYLES.get(text, "")) for text in cells)
