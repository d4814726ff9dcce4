"""What ``syncd suspend`` and ``syncd resume`` share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from syncd.cli.exits import Exit
from syncd.cli.objects import open_objects
from syncd.cli.signals import stopped_by_signal
from syncd.telemetry.logs import configure_logging

if TYPE_CHECKING:
    from syncd.cli.options import ClusterChoice


def set_suspended(
    names: tuple[str, ...], namespace: str | None, choice: ClusterChoice, *, suspended: bool, word: str
) -> int:
    """Suspend or resume the Sync objects of these names."""
    configure_logging("error")
    with stopped_by_signal(Exit.INTERRUPTED) as stop, open_objects(choice, stop) as syncs:
        for found in syncs.find(names, namespace):
            if found.suspended is suspended:
                click.echo(f"{found.id}: already {word}")
                continue
            syncs.change(found, {"spec": {"suspend": suspended}})
            click.echo(f"{found.id}: {word}")
    return Exit.OK
