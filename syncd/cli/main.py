"""The entry point: which commands there are, and how errors reach the user."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from syncd.cli.exits import Exit
from syncd.model import SyncdError

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS: Final = {
    "run": "Follow Git and keep a cluster equal to it.",
    "plan": "Show what a reconcile would do, and why.",
    "sync": "Do one reconcile now, or have the daemon do it.",
    "get": "Show the Sync objects of a cluster.",
    "suspend": "Have nothing done for Sync objects.",
    "resume": "Go on with Sync objects that were suspended.",
    "approve": "Allow prunes that are held because there are so many.",
    "destroy": "Delete all objects of a Sync, or release them.",
    "release": "Give up fields of an object, and leave them as they are.",
    "inventory": "Look at the inventory of a Sync, or rebuild a lost one.",
    "validate": "Check Sync documents, offline.",
    "render": "Print the manifests that Git holds.",
    "status": "Show what a running daemon knows.",
    "demo": "Run three sample environments, a Kubernetes API server and syncd.",
    "sandbox": "Serve a Kubernetes API for trying things out.",
    "version": "Print versions.",
}
"""Every command with its help in the list; its module, with all that it imports, is loaded when it is called."""


class LazyGroup(click.Group):
    """Finds commands in modules of their own name, so that each command pays only for what it imports itself."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - the signature is click's
        """Give the names in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - the same
        """Load one command."""
        if cmd_name not in COMMANDS:
            return None
        command = importlib.import_module(f"syncd.cli.commands.{cmd_name}").command
        if not isinstance(command, click.Command):
            raise TypeError(f"syncd.cli.commands.{cmd_name} holds no command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - the same
        """List the commands without loading any."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
def cli() -> None:
    """Keep a Kubernetes cluster equal to what Git says.

    Exit statuses: 0 ok, 1 failure, 2 changes (plan --exit-code), 64 wrong usage, 130 interrupted.
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit."""
    sys.exit(run(arguments))


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status; every expected error becomes one message on standard error."""
    try:
        result = cli.main(args=arguments, prog_name=_program(), standalone_mode=False)
    except click.UsageError as error:
        error.show()
        return Exit.USAGE
    except click.ClickException as error:
        complain(error.format_message())
        return Exit.FAILURE
    except (click.Abort, KeyboardInterrupt):
        complain("interrupted")
        return Exit.INTERRUPTED
    except SyncdError as error:
        complain(str(error))
        return Exit.FAILURE
    return result if isinstance(result, int) else Exit.OK


def _program() -> str:
    """How it was called: by its name, or by kubectl as a plugin."""
    return "kubectl syncd" if Path(sys.argv[0]).name == "kubectl-syncd" else "syncd"


def complain(message: str) -> None:
    """Print an error for a person."""
    click.secho("error: ", nl=False, err=True, fg="red", bold=True)
    click.echo(message, err=True)
