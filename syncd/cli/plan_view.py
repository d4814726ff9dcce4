"""A plan for people, in the categories of the prune design, and for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from rich.text import Text

from syncd.cli.fields import change_lines
from syncd.cli.output import printable
from syncd.model import ActionType
from syncd.web import serialize

if TYPE_CHECKING:
    from rich.console import Console

    from syncd.model import Action, JSONObject, Plan, Revision
    from syncd.spec import Sync


class _Category(NamedTuple):
    type: ActionType
    title: str
    word: str
    sign: str
    style: str


_CATEGORIES: Final = (
    _Category(ActionType.CREATE, "Resources to add", "to add", "+", "green"),
    _Category(ActionType.UPDATE, "Resources modified", "to modify", "~", "yellow"),
    _Category(ActionType.UNCHANGED, "Resources unmodified", "unmodified", " ", "dim"),
    _Category(ActionType.PRUNE, "Resources to delete", "to delete", "-", "red"),
    _Category(ActionType.KEEP, "Kept although they left Git", "kept", "!", "magenta"),
    _Category(ActionType.SKIP, "Skipped although they are in Git", "skipped", "!", "magenta"),
)
_ALWAYS_SHOWN: Final = (ActionType.CREATE, ActionType.UPDATE, ActionType.UNCHANGED, ActionType.PRUNE)


def show(console: Console, sync: Sync, revision: Revision, plan: Plan) -> None:
    """Print a plan for people."""
    console.print(Text.assemble((sync.id, "bold"), f"  {source_text(sync, revision)}"))
    for category in _CATEGORIES:
        actions = plan.of(category.type)
        if actions or category.type in _ALWAYS_SHOWN:
            console.print(Text(f"\n{category.title} ({len(actions)})", style="bold"))
        for action in actions:
            _show_action(console, category, action)
    if plan.prune_held:
        console.print(Text(f"\nNothing is deleted: {printable(plan.prune_held)}", style="magenta"))
    console.print(f"\n{summary(plan)}")


def _show_action(console: Console, category: _Category, action: Action) -> None:
    why = f": {printable(action.message)}" if action.message else ""
    console.print(
        Text(f"  {category.sign} {printable(action.key.display())}{why}", style=category.style), soft_wrap=True
    )
    for change in action.changes:
        for line in change_lines(change):
            console.print(Text("      ") + line, soft_wrap=True)
    for path in action.released:
        console.print(Text(f"      = {printable(path)}: left to others"), soft_wrap=True)


def summary(plan: Plan) -> str:
    """Return how many objects meet which fate, in one line."""
    counts = ((len(plan.of(category.type)), category) for category in _CATEGORIES)
    return ", ".join(
        f"{count} {category.word}" for count, category in counts if count or category.type in _ALWAYS_SHOWN
    )


def document(sync: Sync, revision: Revision, plan: Plan) -> JSONObject:
    """Return a plan as JSON."""
    return {
        "sync": sync.id,
        "revision": serialize.revision(revision),
        "changes": plan.changes_cluster,
        "counts": {category.type.value: len(plan.of(category.type)) for category in _CATEGORIES},
        "pruneHeld": plan.prune_held,
        "actions": [_action(action) for action in plan.actions],
    }


def _action(action: Action) -> JSONObject:
    return {
        **serialize.key(action.key),
        "action": action.type.value,
        "reason": action.reason,
        "message": action.message,
        "failure": action.blocking,
        "origin": str(action.manifest.origin) if action.manifest else "",
        "changes": [serialize.change(change) for change in action.changes],
        "released": list(action.released),
    }


def source_text(sync: Sync, revision: Revision) -> str:
    """Say where a Sync's manifests come from."""
    path = f", {sync.spec.path}" if sync.spec.path != "." else ""
    return printable(f"{sync.spec.source.git.url}{path}, {revision}")
