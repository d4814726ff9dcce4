"""``syncd sync``."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import click
from rich.text import Text

from syncd.cli import plan_view
from syncd.cli.exits import Exit
from syncd.cli.fields import STYLES
from syncd.cli.main import complain
from syncd.cli.objects import open_objects
from syncd.cli.options import (
    Duration,
    account_option,
    cluster_options,
    data_dir_option,
    output_option,
    selection_options,
)
from syncd.cli.output import console, counts_text, print_json, printable
from syncd.cli.signals import stopped_by_signal
from syncd.cli.workplace import Workplace, workplace
from syncd.daemon.report import count
from syncd.engine.deadline import Deadline
from syncd.engine.memory import Memory
from syncd.model import ActionType, OutcomeStatus, SyncdError
from syncd.telemetry.logs import configure_logging
from syncd.web import serialize

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from syncd.cli.objects import Found
    from syncd.cli.options import ClusterChoice, Selection
    from syncd.engine.result import Reconciliation
    from syncd.model import JSONObject, Outcome
    from syncd.spec import Sync

_PATIENCE = 300.0
"""Seconds to wait for the daemon."""
_PAUSE = 0.5
"""Seconds between two looks at what is waited for."""
_SIGNS = {ActionType.CREATE: "+", ActionType.UPDATE: "~", ActionType.PRUNE: "-", ActionType.KEEP: "!"}


@click.command("sync")
@selection_options
@cluster_options
@account_option
@data_dir_option()
@click.option("--timeout", type=Duration(), help="Without --config: how long to wait for the daemon; default: 5m.")
@output_option()
def command(
    *,
    selection: Selection,
    cluster: ClusterChoice,
    data_dir: Path,
    timeout: float | None,
    output: str,
) -> int:
    """Make the cluster equal to Git once, now, and say what was done.

    With --config this process does it itself. Without, the names are those of Sync objects of the cluster: the daemon
    is asked to reconcile them, and what comes of it is waited for.

    Exit statuses: 0 if every Sync went well; 1 if one failed, wholly or for some of its objects.
    """
    configure_logging("error")  # what matters is told as a result or an error
    if selection.config is None:
        cluster.refuse_account()
        return _ask(selection, cluster, _PATIENCE if timeout is None else timeout, output)
    if timeout is not None:
        raise click.UsageError("--timeout is about the daemon; a Sync in a file has a timeout of its own")
    with (
        stopped_by_signal(Exit.INTERRUPTED) as stop,
        workplace(cluster, data_dir, stop, selection) as place,
    ):
        results = [(sync, _reconcile(place, sync)) for sync in place.syncs]
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
    failed = len(done) < len(results) or any(
        result.failures or result.waiting or result.interrupted for _, result in done
    )
    return Exit.FAILURE if failed else Exit.OK


def _ask(selection: Selection, choice: ClusterChoice, timeout: float, output: str) -> int:
    """Have the daemon of a cluster reconcile Sync objects, and wait for that."""
    with stopped_by_signal(Exit.INTERRUPTED) as stop, open_objects(choice, stop) as syncs:
        found = syncs.find(selection.names, selection.namespace)
        if suspended := [item.id for item in found if item.suspended]:
            raise click.ClickException(f"{', '.join(suspended)}: suspended; first run: syncd resume")
        asked = [(item, syncs.request(item)) for item in found]
        deadline = Deadline.after(timeout, stop)
        done = [
            syncs.wait(item, "it was not reconciled", partial(_answered, value), lambda: deadline.over)
            for item, value in asked
        ]
    if output == "json":
        print_json({"items": [item.document for item in done]})
    for item in done:
        ready, message = item.condition("Ready")
        if ready == "False":
            complain(f"{item.id}: {message}")
        elif output != "json":
            click.echo(f"{item.id}: {printable(message)}")
    return Exit.FAILURE if any(item.condition("Ready")[0] == "False" for item in done) else Exit.OK


def _answered(value: str, found: Found) -> bool:
    """Whether a request was acted on, or never will be."""
    return found.status.last_handled_request == value or found.condition("Stalled")[0] == "True"


def _reconcile(place: Workplace, sync: Sync) -> Reconciliation | None:
    """Reconcile one Sync; its failure is told at once and stops no other."""
    deadline = place.deadline(sync)
    try:
        revision = place.reconciler.resolve(sync, deadline)
        result = place.reconciler.reconcile(sync, revision, memory := Memory(), deadline)
        while result.waiting and not deadline.over:
            deadline.wait(_PAUSE)
            result = _joined(result, place.reconciler.reconcile(sync, revision, memory, deadline))
    except SyncdError as error:
        complain(f"{sync.id}: {error}")
        return None
    for outcome in result.failures:
        complain(f"{sync.id}: {outcome.message}")
    for action in result.waiting:
        complain(f"{sync.id}: {action.key.display()} {action.message}")
    return result


def _joined(before: Reconciliation, result: Reconciliation) -> Reconciliation:
    """Two reconciles as one: what the first did is not forgotten because the second found it done."""
    done = {outcome.action.key: outcome for outcome in before.outcomes if outcome.action.type.changes_cluster}
    outcomes = (
        done.get(outcome.action.key, outcome) if outcome.action.type is ActionType.UNCHANGED else outcome
        for outcome in result.outcomes
    )
    return replace(result, outcomes=tuple(outcomes))


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
