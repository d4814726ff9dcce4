"""``syncd suspend``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from syncd.cli.options import cluster_options, namespace_option
from syncd.cli.suspending import set_suspended

if TYPE_CHECKING:
    from syncd.cli.options import ClusterChoice


@click.command("suspend")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@namespace_option("The namespace of bare names; default: syncd.")
@cluster_options
def command(*, names: tuple[str, ...], namespace: str | None, cluster: ClusterChoice) -> int:
    """Have nothing at all done for Sync objects, until they are resumed.

    What runs now is given up at its next safe point. Deleting a suspended Sync leaves its objects where they are. A
    Sync that is itself in Git is suspended there, or whoever applies it resumes it.
    """
    return set_suspended(names, namespace, cluster, suspended=True, word="suspended")
