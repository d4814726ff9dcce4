"""``syncd version``."""

from __future__ import annotations

import platform
import subprocess
from typing import Final

import click

import syncd
from syncd import render
from syncd.cli.options import output_option
from syncd.cli.output import print_json

_SECONDS: Final = 10


@click.command("version")
@output_option()
def command(output: str) -> None:
    """Print the versions of syncd, of Python, and of the programs that syncd calls."""
    versions = {
        "syncd": syncd.__version__,
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}".strip(),
        "git": _git_version(),
        **render.versions(),
    }
    if output == "json":
        print_json(versions)
    else:
        for name, version in versions.items():
            click.echo(f"{name:<10} {version or 'not found'}")


def _git_version() -> str:
    """Return what git says of itself, or nothing when it is missing or says nothing sensible in time."""
    try:
        done = subprocess.run(
            ["git", "--version"],
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.removeprefix("git version ").strip()
