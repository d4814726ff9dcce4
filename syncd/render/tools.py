"""The external programs that render: where they are, and which versions they have."""

from __future__ import annotations

import json
import re
import shutil
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Final, NamedTuple

from syncd.model import SyncdError
from syncd.render.errors import ToolMissingError
from syncd.render.runner import Runner, ToolFailedError

_VERSION: Final = re.compile(r"v?(\d+)\.(\d+)\.(\d+)")
_OLDEST_KUSTOMIZE: Final = (4, 5, 0)  # the first with all fields that people use today, and origin annotations
_VERSION_SECONDS: Final = 30.0


class Tool(NamedTuple):
    """A program that renders."""

    name: str
    """``kustomize``, whichever program holds it."""
    program: str
    """Its whole path."""
    arguments: tuple[str, ...]
    """What stands before the folder to build."""
    identity: str
    """Differs when the program is replaced."""

    @property
    def command(self) -> tuple[str, ...]:
        """The program and its first arguments."""
        return (self.program, *self.arguments)


class Tools:
    """Finds the programs: a configured one, one beside the running Python, one on PATH.

    A kustomize is preferred to the one inside of kubectl, in each of these places.

    Args:
        kustomize: The path of a kustomize or kubectl to use, whatever else there is.
    """

    def __init__(self, kustomize: Path | None = None) -> None:
        self._configured = kustomize
        self._versions: dict[str, str] = {}
        self._lock = threading.Lock()

    def kustomize(self) -> Tool:
        """The Kustomize to use; looked for each time, so that one may be installed or replaced while syncd runs.

        Raises:
            ToolMissingError: There is none.
        """
        if self._configured is not None:
            candidates = [self._configured]
        else:
            beside = Path(sys.executable).parent
            on_path = [Path(found) for name in ("kustomize", "kubectl") if (found := shutil.which(name))]
            candidates = [beside / "kustomize", beside / "kubectl", *on_path]
        for program in candidates:
            if program.is_file():
                return _tool(program)
        where = f"at {self._configured}" if self._configured else "on PATH"
        raise ToolMissingError(f"there is no kustomize or kubectl {where}, which kustomizations need")

    def version(self, tool: Tool) -> str:
        """The version of a tool, such as ``v5.8.1``; asked once.

        Raises:
            ToolMissingError: It does not say, or is too old.
        """
        with self._lock:
            if tool.identity not in self._versions:
                self._versions[tool.identity] = _ask_version(tool)
            return self._versions[tool.identity]


def versions(tools: Tools | None = None) -> dict[str, str]:
    """The programs that are there, as ``syncd version`` shows them: name to version and place, or what is wrong."""
    tools = tools or Tools()
    try:
        tool = tools.kustomize()
        return {tool.name: f"{tools.version(tool)} ({tool.program})"}
    except SyncdError as error:
        return {"kustomize": str(error)}


def _tool(program: Path) -> Tool:
    stat = program.stat()
    arguments = ("kustomize",) if program.name.startswith("kubectl") else ("build",)
    return Tool("kustomize", str(program.absolute()), arguments, f"{program} {stat.st_size} {stat.st_mtime_ns}")


def _ask_version(tool: Tool) -> str:
    in_kubectl = tool.arguments == ("kustomize",)
    question = ("version", "--client", "--output=json") if in_kubectl else ("version",)
    with tempfile.TemporaryDirectory(prefix="syncd-version-") as home:
        try:
            answer = (
                Runner()
                .run((tool.program, *question), home=Path(home), deadline=time.monotonic() + _VERSION_SECONDS)
                .decode(errors="replace")
            )
        except ToolFailedError as failure:
            raise ToolMissingError(f"{tool.program} does not say its version: {failure}") from None
    text = _kubectls_kustomize(answer) if in_kubectl else answer
    match = _VERSION.search(text)
    if match is None:
        raise ToolMissingError(f"{tool.program} does not say the version of its kustomize")
    if tuple(int(number) for number in match.groups()) < _OLDEST_KUSTOMIZE:
        oldest = ".".join(map(str, _OLDEST_KUSTOMIZE))
        raise ToolMissingError(f"{tool.program} has kustomize {match.group()}, and syncd needs {oldest} or newer")
    return match.group()


def _kubectls_kustomize(answer: str) -> str:
    try:
        return str(json.loads(answer).get("kustomizeVersion", ""))
    except (ValueError, AttributeError):
        return ""
