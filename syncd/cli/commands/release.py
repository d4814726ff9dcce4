"""``syncd release``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from syncd.cli.exits import Exit
from syncd.cli.options import cluster_options
from syncd.cli.session import open_cluster
from syncd.cli.signals import stopped_by_signal
from syncd.engine.deadline import Deadline
from syncd.engine.release import find_key, give_up
from syncd.telemetry.logs import configure_logging

if TYPE_CHECKING:
    from syncd.cli.options import ClusterChoice

_TIMEOUT: Final = 30.0
"""Seconds for all requests together: there are few, of one object."""


@click.command("release")
@click.argument("target", metavar="OBJECT")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@click.option("-n", "--namespace", default="default", show_default=True, help="The object's namespace.")
@cluster_options
def command(*, target: str, paths: tuple[str, ...], namespace: str, cluster: ClusterChoice) -> int:
    """Give up fields of an object: they leave last applied, and keep the values that they have in the cluster.

    OBJECT is written like deployment/web, deployment.apps/web, or as the key that plans print. A PATH is a JSON pointer
    such as /spec/replicas; an item of a list is named by what identifies it, as in
    /spec/template/spec/containers/[name=web]/resources.

    From then on others may change the fields, an autoscaler for one. As long as Git has them, the annotation
    syncd.dev/release on the object keeps syncd from writing them; take them out of Git next. To take them back, remove
    the annotation. For many objects, or for good, use release in the Sync.
    """
    configure_logging("error")
    with stopped_by_signal(Exit.INTERRUPTED) as stop, open_cluster(cluster) as place:
        key = find_key(place, target, namespace)
        give_up(place, key, paths, Deadline.after(_TIMEOUT, stop))
    click.echo(f"{key.display()}: {', '.join(paths)} given up. Now take it out of Git.")
    return Exit.OK
