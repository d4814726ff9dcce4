"""How data reaches the user: JSON for programs, tables and colours for people."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import click
from rich import box
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from syncd.daemon.status import Counts
    from syncd.model import JSONValue

_WIDE: Final = 10_000


def print_json(value: JSONValue) -> None:
    """Print a JSON value on standard output."""
    click.echo(json.dumps(value, indent=2))


def console() -> Console:
    """Return a console on standard output as it is now; wide where nobody looks, so that no line is broken or cut."""
    result = Console(highlight=False, emoji=False, markup=False)
    if not result.is_terminal:
        result.width = _WIDE
    return result


def plain_table(*columns: str) -> Table:
    """Return a table without vertical lines, which is narrow enough for six columns on a small terminal."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), expand=False)
    for column in columns:
        table.add_column(column, no_wrap=True)
    return table


def printable(text: str) -> str:
    """Escape what is not printable: names and values come from Git and the cluster, and may hold terminal commands."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


def counts_text(counts: Counts) -> str:
    """Say what a reconcile did, in a few words."""
    named = {
        "created": counts.created,
        "updated": counts.updated,
        "pruned": counts.pruned,
        "unchanged": counts.unchanged,
        "kept": counts.kept,
        "skipped": counts.skipped,
        "failed": counts.failed,
    }
    return ", ".join(f"{count} {word}" for word, count in named.items() if count) or "nothing to do"
