"""The command line: `python -m tests.controlplane build|up|down|versions`."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tests.controlplane import detached
from tests.controlplane.api import ApiError
from tests.controlplane.binaries import Binaries, MissingProgramsError, find_binaries
from tests.controlplane.build import BuildError, build
from tests.controlplane.processes import PartFailedError

if TYPE_CHECKING:
    from collections.abc import Sequence

_EXPECTED = (
    ApiError,
    BuildError,
    MissingProgramsError,
    PartFailedError,
    detached.DetachedError,
    OSError,  # a TimeoutError is one
    subprocess.SubprocessError,
)
"""What can go wrong without a defect in here: one line on the error output, and no traceback."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code."""
    given = _parser().parse_args(arguments)
    try:
        _run(given.command, getattr(given, "dir", None))
    except _EXPECTED as error:
        sys.stderr.write(f"controlplane: {error}\n")
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.controlplane", description="A real Kubernetes control plane on this machine, for tests."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="build|up|down|versions")
    commands.add_parser("build", help="build the programs into the cache, and say their versions")
    commands.add_parser("versions", help="say the versions of the programs that tests would use")
    for name, text in (("up", "start a control plane that stays"), ("down", "stop the control plane that up started")):
        commands.add_parser(name, help=text).add_argument(
            "--dir", type=Path, required=True, help="folder for its data, logs and kubeconfig"
        )
    # What `up` leaves behind: it holds the parts until `down` ends it.
    commands.add_parser("serve").add_argument("--dir", type=Path, required=True)
    return parser


def _run(command: str, folder: Path | None) -> None:
    if command == "build":
        _show_versions(build())
    elif command == "versions":
        _show_versions(find_binaries())
    elif folder is not None:
        {"up": detached.up, "down": detached.down, "serve": detached.serve}[command](folder.absolute())


def _show_versions(binaries: Binaries) -> None:
    print(f"{binaries.folder} ({binaries.origin})")  # noqa: T201 - what the command is asked for
    for part, version in binaries.versions().items():
        print(f"  {part}: {version}")  # noqa: T201 - what the command is asked for
    if binaries.missing:
        print(f"  not there: {', '.join(binaries.missing)}")  # noqa: T201 - what the command is asked for


if __name__ == "__main__":
    sys.exit(main())
