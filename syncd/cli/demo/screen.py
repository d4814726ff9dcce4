"""Shows what happens as it happens: a live table under a growing log on a terminal, plain lines elsewhere."""

from __future__ import annotations

import queue
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Final, TypeAlias

from rich.console import Group
from rich.live import Live
from rich.text import Text

from syncd.cli.fields import STYLES, change_lines
from syncd.cli.output import counts_text, plain_table, printable
from syncd.daemon.status import SyncState
from syncd.model import ActionType, OutcomeStatus

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console
    from rich.table import Table

    from syncd.cli.demo.tally import Tally
    from syncd.daemon.status import DriftRecord, ObjectStatus, SyncStatus
    from syncd.model import Revision
    from syncd.spec import Sync

_MOST_LINES: Final = 12
"""Of one reconcile's objects; a first apply is told in one line."""
_STATE_STYLES: Final = {SyncState.SYNCED: "green", SyncState.OUT_OF_SYNC: "yellow", SyncState.UNKNOWN: "dim"}
_SIGNS: Final = {ActionType.CREATE: "+", ActionType.UPDATE: "~", ActionType.PRUNE: "-"}


Event: TypeAlias = "SyncStatus | tuple[Sync, DriftRecord]"
"""The end of a reconcile, or a drift."""


class Events:
    """A listener that hands what the daemon tells to the thread that owns the screen."""

    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[Event] = queue.SimpleQueue()

    def status_changed(self, status: SyncStatus) -> None:
        """Not told: the table reads the board."""

    def reconciled(self, status: SyncStatus) -> None:
        """Tell of the end of a reconcile."""
        self._queue.put(status)

    def drift_found(self, sync: Sync, record: DriftRecord) -> None:
        """Tell of a drift."""
        self._queue.put((sync, record))

    def sync_removed(self, sync_id: str) -> None:
        """Not told: the demo's Syncs stay."""

    def next(self, seconds: float) -> Event | None:
        """Return the next event, or None if none comes in time."""
        try:
            return self._queue.get(timeout=seconds)
        except queue.Empty:
            return None


class Screen:
    """Prints events, and keeps the table of Syncs below them where there is a terminal."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self._live: Live | None = None
        self._errors: dict[str, str] = {}

    @contextmanager
    def table(self) -> Iterator[None]:
        """Show the table for as long as this lasts."""
        if not self.console.is_terminal:
            yield
            return
        with Live(console=self.console, auto_refresh=False, transient=True) as self._live:
            yield
        self._live = None

    def update(self, statuses: Sequence[SyncStatus]) -> None:
        """Redraw the table."""
        if self._live:
            # The empty line is where the terminal echoes ^C: at the end of the table it would break its last line.
            self._live.update(Group(status_table(statuses), ""), refresh=True)

    def say(self, text: str | Text = "", style: str = "") -> None:
        """Print a line above the table."""
        self.console.print(Text(text, style=style) if isinstance(text, str) else text, soft_wrap=True)

    def reconciled(self, status: SyncStatus) -> None:
        """Tell what a reconcile did, if it did anything worth telling."""
        changed = [item for item in status.objects if item.action in _SIGNS and item.outcome is OutcomeStatus.DONE]
        news = status.error != self._errors.get(status.id, "")
        self._errors[status.id] = status.error
        if not changed and not news:
            return
        revision = f" to {status.attempted}" if status.attempted else ""
        self._event(status.id, f"{counts_text(status.counts)}{revision}", "red" if status.error else "")
        if len(changed) <= _MOST_LINES:
            for item in changed:
                self._object(item)
        for problem in status.problems[:_MOST_LINES]:
            self.say(f"           ! {printable(problem)}", "red")

    def drift(self, sync: Sync, record: DriftRecord) -> None:
        """Tell of a drift."""
        by = f" by {record.manager}" if record.manager else ""
        self._event(sync.id, f"drift: {record.key.display()} {record.reason.value}{by}", "magenta")

    def _event(self, sync_id: str, text: str, style: str = "") -> None:
        now = datetime.now().astimezone().strftime("%H:%M:%S")
        self.say(Text.assemble((f"{now} ", "dim"), (f"{sync_id}  ", "bold"), (printable(text), style)))

    def _object(self, item: ObjectStatus) -> None:
        sign = _SIGNS[item.action]
        self.say(f"           {sign} {printable(item.key.display())}: {printable(item.message)}", STYLES[sign])
        for change in item.changes[:_MOST_LINES]:
            for line in change_lines(change):
                self.say(Text(" " * 15) + line)


def status_table(statuses: Sequence[SyncStatus]) -> Table:
    """Return a table of Syncs as they are."""
    table = plain_table("Sync", "State", "Health", "Revision", "Drift", "Last reconcile")
    table.columns[-1].no_wrap = False
    for status in statuses:
        state = Text(status.state.value, style=_STATE_STYLES[status.state])
        if status.reconciling:
            state.append(" …", style="dim")
        table.add_row(
            status.id,
            state,
            status.health.value if status.health else "",
            _short(status.applied or status.attempted),
            str(sum(record.corrected_at is None for record in status.drift)),
            Text(printable(status.error), style="red") if status.error else counts_text(status.counts),
        )
    return table


def _short(revision: Revision | None) -> str:
    return f"{revision.ref}@{revision.commit[:7]}" if revision else ""


def summary_table(tallies: Sequence[Tally]) -> Table:
    """Return what came of the first convergence."""
    words = ("created", "updated", "unchanged", "pruned", "kept", "failed")
    table = plain_table("Sync", "State", *map(str.capitalize, words))
    for column in table.columns[2:]:
        column.justify = "right"
    for tally in tallies:
        counts = tally.document()
        state = Text("Synced", style="green") if tally.synced else Text("not synced", style="red")
        numbers = [str(counts[word]) for word in words]
        table.add_row(tally.sync_id, state, *numbers)
    return table
