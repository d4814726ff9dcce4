"""``syncd validate``."""

from __future__ import annotations

from pathlib import Path

import click

from syncd.cli.exits import Exit
from syncd.daemon.config import check_syncs


@click.command("validate")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=click.Path(path_type=Path))
@click.option(
    "--objects",
    "as_objects",
    is_flag=True,
    help="Check them as objects of a cluster, in which local paths and secretFile are refused.",
)
def command(*, paths: tuple[Path, ...], as_objects: bool) -> int:
    """Check Sync documents in files, and in the YAML and JSON files of folders, without asking anybody.

    Every mistake is told with its file, document, line and field. Documents of other kinds are passed over.

    Exit statuses: 0 if all hold; 1 if something does not, or there is no Sync at all.
    """
    syncs = check_syncs(paths, as_objects=as_objects)
    for sync in syncs:
        click.echo(f"{sync.id}: holds")
    return Exit.OK
