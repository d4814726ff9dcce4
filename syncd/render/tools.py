"""The external programs that render: where they are, and which versions they have."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from syncd.model import SyncdError
from syncd.render.errors import ToolMissingError
from syncd.render.runner import Runner, ToolFailedError

if TYPE_CHECKING:
    from collections.abc import Mapping

_VERSION: Final = re.compile(r"v?(\d+)\.(\d+)\.(\d+)")
_VERSION_SECONDS: Final = 30.0


class Tool(NamedTuple):
    """A program that renders."""

    name: str
    """What it does: ``kustomize``, whichever program holds it, ``helm`` or ``sops``."""
    program: str
    """Its whole path."""
    arguments: tuple[str, ...]
    """What stands before the folder to render."""
    question: tuple[str, ...]
    """The arguments that make it say its version."""
    identity: str
    """Differs when the program is replaced."""

    @property
    def command(self) -> tuple[str, ...]:
        """The program and its first arguments."""
        return (self.program, *self.arguments)


# Each renderer's programs in the order of preference, each with what stands before the folder and asks for its version.
_PROGRAMS: Final[dict[str, dict[str, tuple[tuple[str, ...], tuple[str, ...]]]]] = {
    "kustomize": {
        "kustomize": (("build",), ("version",)),
        "kubectl": (("kustomize",), ("version", "--client", "--output=json")),
    },
    "helm": {"helm": (("template",), ("version", "--short"))},
    "sops": {"sops": (("--decrypt",), ("--version", "--disable-version-check"))},
}
_OLDEST: Final = {
    "kustomize": (4, 5, 0),  # the first with all fields that people use today, and origin annotations
    "helm": (3, 8, 0),
    "sops": (3, 8, 0),  # the first that needs no gpg program for OpenPGP
}


class Tools:
    """Finds the programs: a configured one, one beside the running Python, one on PATH.

    Args:
        configured: Paths of programs to use, whatever else there is, by what they do: ``kustomize`` (which may be a
            kubectl), ``helm`` and ``sops``. Without it, what the environment says (``SYNCD_KUSTOMIZE`` and so on).
    """

    def __init__(self, configured: Mapping[str, Path] | None = None) -> None:
        self._configured = _from_environment() if configured is None else dict(configured)
        self._versions: dict[str, str] = {}
        self._lock = threading.Lock()

    def find(self, name: str) -> Tool:
        """The program for a renderer; looked for each time, so that one may come or be replaced while syncd runs.

        Raises:
            ToolMissingError: There is none.
        """
        programs = _PROGRAMS[name]
        configured = self._configured.get(name)
        if configured is not None:
            candidates = [configured]
        else:
            beside = [Path(sys.executable).parent / program for program in programs]
            candidates = beside + [Path(found) for program in programs if (found := shutil.which(program))]
        for program in candidates:
            if program.is_file():
                return _tool(name, program)
        where = f"at {configured}" if configured else "on PATH"
        raise ToolMissingError(f"there is no {' or '.join(programs)} {where}")

    def version(self, tool: Tool) -> str:
        """The version of a tool, such as ``v5.8.1``; asked once.

        Raises:
            ToolMissingError: It does not say, or is too old.
        """
        with self._lock:
            if tool.identity not in self._versions:
                self._versions[tool.identity] = _ask_version(tool)
            return self._versions[tool.identity]


def _from_environment() -> dict[str, Path]:
    named = {name: os.environ.get(f"SYNCD_{name.upper()}", "") for name in _PROGRAMS}
    return {name: Path(path) for name, path in named.items() if path}


def versions(tools: Tools | None = None) -> dict[str, str]:
    """The programs that are there, as ``syncd version`` shows them: name to version and place, or what is wrong."""
    tools = tools or Tools()
    found = {}
    for name in _PROGRAMS:
        try:
            tool = tools.find(name)
            found[name] = f"{tools.version(tool)} ({tool.program})"
        except SyncdError as error:
            found[name] = str(error)
    return found


def _tool(name: str, program: Path) -> Tool:
    stat = program.stat()
    kind = next((known for known in _PROGRAMS[name] if program.name.startswith(known)), name)
    arguments, question = _PROGRAMS[name][kind]
    identity = f"{program} {stat.st_size} {stat.st_mtime_ns}"
    return Tool(name, str(program.absolute()), arguments, question, identity)


def _ask_version(tool: Tool) -> str:
    command = (tool.program, *tool.question)
    with tempfile.TemporaryDirectory(prefix="syncd-version-") as home:
        try:
            output = Runner().run(command, home=Path(home), deadline=time.monotonic() + _VERSION_SECONDS)
        except ToolFailedError as failure:
            raise ToolMissingError(f"{tool.program} does not say its version: {failure}") from None
    answer = output.stdout.decode(errors="replace")
    match = _VERSION.search(_kubectls_kustomize(answer) if "--client" in tool.question else answer)
    if match is None:
        raise ToolMissingError(f"{tool.program} does not say the version of its {tool.name}")
    if tuple(int(number) for number in match.groups()) < _OLDEST[tool.name]:
        oldest = ".".join(map(str, _OLDEST[tool.name]))
        raise ToolMissingError(f"{tool.program} has {tool.name} {match.group()}, and syncd needs {oldest} or newer")
    return match.group()


def _kubectls_kustomize(answer: str) -> str:
    try:
        return str(json.loads(answer).get("kustomizeVersion", ""))
    except (ValueError, AttributeError):
        return ""
