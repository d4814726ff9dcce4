"""``syncd resume``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from syncd.cli.options import cluster_options, namespace_option
from syncd.cli.suspending import set_suspended

if TYPE_CHECKING:
    from syncd.cli.options import ClusterChoice


@click.command("resume")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@namespace_option("The namespace of bare names; default: syncd.")
@cluster_options
def command(*, names: tuple[str, ...], namespace: str | None, cluster: ClusterChoice) -> int:
    """Go on with Sync objects that were suspended."""
    return set_suspended(names, namespace, cluster, suspended=False, word="resumed")
