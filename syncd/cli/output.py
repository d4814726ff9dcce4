"""How data reaches the user: JSON for programs, tables and colours for people."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import click
from rich.console import Console

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
