"""``syncd sync``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from rich.text import Text

from syncd.cli import plan_view
from syncd.cli.exits import Exit
from syncd.cli.fields import STYLES
from syncd.cli.main import complain
from syncd.cli.options import cluster_options, config_option, data_dir_option, output_option, sync_option
from syncd.cli.output import console, counts_text, print_json, printable
from syncd.cli.session import Workplace, choose_syncs, workplace
from syncd.cli.signals import stopped_by_signal
from syncd.daemon.report import count
from syncd.engine.memory import Memory
from syncd.model import ActionType, OutcomeStatus, SyncdError
from syncd.telemetry.logs import configure_logging
from syncd.web import serialize

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from syncd.cli.options import ClusterChoice
    from syncd.engine.result import Reconciliation
    from syncd.model import JSONObject, Outcome
    from syncd.spec import Sync

_SIGNS = {ActionType.CREATE: "+", ActionType.UPDATE: "~", ActionType.PRUNE: "-", ActionType.KEEP: "!"}


@click.command("sync")
@config_option()
@sync_option()
@cluster_options
@data_dir_option()
@output_option()
def command(*, config: Path, names: tuple[str, ...], cluster: ClusterChoice, data_dir: Path, output: str) -> int:
    """Make the cluster equal to Git once, now, and say what was done.

    Exit statuses: 0 if every Sync went well; 1 if one failed, wholly or for some of its objects.
    """
    configure_logging("error")  # what matters is told as a result or an error
    syncs = choose_syncs(config, names)
    with (
        stopped_by_signal(Exit.INTERRUPTED) as stop,
        workplace(cluster, data_dir, stop, config) as place,
    ):
        results = [(sync, _reconcile(place, sync)) for sync in syncs]
        interrupted = stop.is_set()
    done = [(sync, result) for sync, result in results if result]
    if output == "json":
        print_json({"items": [_document(sync, result) for sync, result in done]})
    else:
        screen = console()
        for sync, result in done:
            _show(screen, sync, result)
    if interrupted:
        return Exit.INTERRUPTED
    failed = len(done) < len(results) or any(result.failures or result.interrupted for _, result in done)
    return Exit.FAILURE if failed else Exit.OK


def _reconcile(place: Workplace, sync: Sync) -> Reconciliation | None:
    """Reconcile one Sync; its failure is told at once and stops no other."""
    deadline = place.deadline(sync)
    try:
        revision = place.reconciler.resolve(sync, deadline)
        result = place.reconciler.reconcile(sync, revision, Memory(), deadline)
    except SyncdError as error:
        complain(f"{sync.id}: {error}")
        return None
    for outcome in result.failures:
        complain(f"{sync.id}: {outcome.message}")
    return result


def _show(screen: Console, sync: Sync, result: Reconciliation) -> None:
    screen.print(Text.assemble((sync.id, "bold"), f"  {plan_view.source_text(sync, result.revision)}"), soft_wrap=True)
    for outcome in result.outcomes:
        action = outcome.action
        sign = _SIGNS.get(action.type)
        if sign and outcome.status is OutcomeStatus.DONE:
            text = f"  {sign} {action.key.display()}: {action.message}"
            screen.print(Text(printable(text), style=STYLES[sign]), soft_wrap=True)
    if result.plan.prune_held:
        screen.print(Text(f"  nothing is deleted: {printable(result.plan.prune_held)}", style=STYLES["!"]))
    screen.print(f"  {counts_text(count(result.outcomes))}")


def _document(sync: Sync, result: Reconciliation) -> JSONObject:
    return {
        "sync": sync.id,
        "revision": serialize.revision(result.revision),
        "counts": serialize.counts(count(result.outcomes)),
        "pruneHeld": result.plan.prune_held,
        "interrupted": result.interrupted,
        "durations": dict(result.durations),
        "objects": [_outcome(outcome) for outcome in result.outcomes],
    }


def _outcome(outcome: Outcome) -> JSONObject:
    action = outcome.action
    return {
        **serialize.key(action.key),
        "action": action.type.value,
        "reason": outcome.reason or action.reason,
        "message": action.message,
        "outcome": outcome.status.value,
        "error": outcome.message,
        "changes": [serialize.change(change) for change in action.changes],
    }
