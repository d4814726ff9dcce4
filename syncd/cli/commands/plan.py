"""``syncd plan``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from syncd.cli import plan_view
from syncd.cli.exits import Exit
from syncd.cli.main import complain
from syncd.cli.options import (
    account_option,
    cluster_options,
    data_dir_option,
    output_option,
    selection_options,
)
from syncd.cli.output import console, print_json
from syncd.cli.signals import stopped_by_signal
from syncd.cli.workplace import Workplace, workplace
from syncd.engine.memory import Memory
from syncd.model import SyncdError
from syncd.telemetry.logs import configure_logging

if TYPE_CHECKING:
    from pathlib import Path

    from syncd.cli.options import ClusterChoice, Selection
    from syncd.engine.result import Reconciliation
    from syncd.spec import Sync


@click.command("plan")
@selection_options
@cluster_options
@account_option
@data_dir_option()
@click.option("--exit-code", is_flag=True, help="End with status 2 if something would change.")
@output_option()
def command(*, selection: Selection, cluster: ClusterChoice, data_dir: Path, exit_code: bool, output: str) -> int:
    """Show what a reconcile would do now, and why. Writes nothing.

    Prints for each Sync which objects would be added, modified, left as they are and deleted, with a reason and the
    fields that differ; and which are kept or skipped, and why. Values of Secrets are not shown.

    With --config it is about Syncs in files. Without, the names are those of Sync objects of the cluster,
    NAMESPACE/NAME; Git is read from here, and the cluster as the Sync's account, for which you need the right to
    impersonate it.

    Exit statuses: 0; 1 if a Sync could not be planned or an object cannot be applied; with --exit-code 2 if something
    would change.
    """
    configure_logging("error")  # what matters is told as a result or an error
    with (
        stopped_by_signal(Exit.INTERRUPTED) as stop,
        workplace(cluster, data_dir, stop, selection) as place,
    ):
        results = [(sync, _plan(place, sync)) for sync in place.syncs]
    planned = [(sync, result) for sync, result in results if result]
    if output == "json":
        print_json({"items": [plan_view.document(sync, result.revision, result.plan) for sync, result in planned]})
    else:
        screen = console()
        for number, (sync, result) in enumerate(planned):
            screen.print("\n" if number else "", end="")
            plan_view.show(screen, sync, result.revision, result.plan)
    if len(planned) < len(results) or any(action.blocking for _, result in planned for action in result.plan.actions):
        return Exit.FAILURE
    changes = any(result.plan.changes_cluster for _, result in planned)
    return Exit.CHANGES if exit_code and changes else Exit.OK


def _plan(place: Workplace, sync: Sync) -> Reconciliation | None:
    """Plan one Sync; its failure is told at once and stops no other."""
    deadline = place.deadline(sync)
    try:
        revision = place.reconciler.resolve(sync, deadline)
        return place.reconciler.plan(sync, revision, Memory(), deadline)
    except SyncdError as error:
        complain(f"{sync.id}: {error}")
        return None
