"""``syncd version``."""

from __future__ import annotations

import platform

import click

import syncd
from syncd.cli import programs
from syncd.cli.options import output_option
from syncd.cli.output import print_json


@click.command("version")
@output_option()
def command(output: str) -> None:
    """Print the versions of syncd, of Python, and of the programs that syncd calls."""
    versions = {
        "syncd": syncd.__version__,
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}".strip(),
        **programs.versions(),
    }
    if output == "json":
        print_json(versions)
    else:
        for name, version in versions.items():
            click.echo(f"{name:<10} {version}")
