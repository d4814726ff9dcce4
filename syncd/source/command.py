"""Git as a child process: GitPython starts it, in an environment where nothing but its arguments decides what it does.

The hardening: no configuration of the system or the user, no prompts, no protocol but the URL's own, no lazy fetches,
no background maintenance, and a deadline for the whole process group.
"""

from __future__ import annotations

import os
import subprocess
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Protocol

# GitPython looks for git when it is imported, and raises ImportError without it; "quiet" leaves that to the first use,
# where it becomes an error that a person can act on.
os.environ.setdefault("GIT_PYTHON_REFRESH", "quiet")
from git.cmd import Git
from git.exc import GitCommandNotFound

from syncd.source.errors import GitNotInstalledError
from syncd.source.processes import supervise

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from syncd.source.processes import Completed

OUTPUT_LIMIT: Final = 512 << 20
"""How many bytes of output a Git command may write unless its caller says otherwise."""

_OPERATORS_OWN: Final = frozenset({"GIT_EXEC_PATH", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH"})
"""Variables of syncd's own environment that Git may see: where it is installed and which certificates it trusts."""

# No master connection in the background: it would outlive the command.
SSH: Final = (
    "ssh -o BatchMode=yes -o StrictHostKeyChecking=yes -o ConnectTimeout=15 -o ServerAliveInterval=15"
    " -o ForwardAgent=no -o ClearAllForwardings=yes -o PermitLocalCommand=no -o ControlMaster=no -o ControlPath=none"
)

# safe.directory: a local repository may belong to another user; what such a repository could do (hooks, its own
# configuration) is not used by the commands that run here. fetch.unpackLimit: a pack arrives whole or not at all.
_CONFIG: Final = """\
[safe]
\tdirectory = *
[core]
\thooksPath = /dev/null
[fetch]
\tunpackLimit = 1
[gc]
\tauto = 0
[maintenance]
\tauto = false
[protocol]
\tversion = 2
"""


class GitCommandFailedError(Exception):
    """Git ended with an error; callers turn it into one that says what that means."""

    def __init__(self, arguments: tuple[str, ...], status: int, stderr: str) -> None:
        self.arguments = arguments
        self.status = status
        self.stderr = stderr
        super().__init__(f"git {arguments[0]} ended with status {status}: {stderr}")

    @property
    def summary(self) -> str:
        """The line of the output that says what is wrong."""
        lines = [line.strip() for line in self.stderr.splitlines() if line.strip()]
        telling = [line for line in lines if line.startswith(("fatal:", "error:", "ERROR:"))]
        return (telling or lines or [f"git {self.arguments[0]} ended with status {self.status}"])[0][:400]


class Observer(Protocol):
    """Who is told of each conversation with a Git server; must return quickly and must not raise."""

    def __call__(self, operation: str, seconds: float, *, failed: bool) -> None:
        """Take note of one: the Git command, how long it took, and whether it came to nothing."""


class GitRunner:
    """Runs Git commands.

    Attributes:
        home: See below.
        stop: See below.

    Args:
        home: A folder that belongs to syncd; it stands in for the user's home and holds the configuration.
        stop: Ends every command early once it is set.
        observer: Is told of what talks to servers.
    """

    def __init__(self, home: Path, stop: threading.Event | None = None, observer: Observer | None = None) -> None:
        self.home = home
        self._observer = observer
        self.stop = stop
        self._config = home / "gitconfig"
        home.mkdir(parents=True, exist_ok=True)
        if not self._config.exists() or self._config.read_text(encoding="utf-8") != _CONFIG:
            self._config.write_text(_CONFIG, encoding="utf-8")

    def run(
        self,
        *arguments: str,
        directory: Path,
        deadline: float,
        stdin: bytes = b"",
        environment: Mapping[str, str] | None = None,
        output_limit: int = OUTPUT_LIMIT,
        limits: Mapping[int, int] | None = None,
    ) -> Completed:
        """Run ``git`` with these arguments in a bare repository and return what it wrote.

        Args:
            arguments: The command, its options and operands.
            directory: The repository; for ``init`` its parent.
            deadline: On ``time.monotonic()``'s clock.
            stdin: What the command reads.
            environment: More variables, such as the protocols that it may use.
            output_limit: In bytes.
            limits: Resource limits, as :func:`syncd.source.processes.supervise` takes them.

        Raises:
            GitCommandFailedError: It ended with an error.
            GitNotInstalledError: There is no git.
            ProcessTimeoutError: The deadline passed.
            ProcessStoppedError: syncd is shutting down.
            ProcessOutputError: There was more output than allowed.
        """
        variables = {**self._environment(directory), **(environment or {})}
        started = _start(arguments, directory, variables, takes_input=bool(stdin))
        if started.proc is None:  # GitPython's type allows that for finished processes only
            raise GitNotInstalledError("git could not be started")
        # GitPython ends the process when "started" goes, which is when this method is through with it.
        completed = supervise(
            started.proc, deadline=deadline, stop=self.stop, stdin=stdin, stdout_limit=output_limit, limits=limits
        )
        if completed.status != 0:
            raise GitCommandFailedError(arguments, completed.status, completed.stderr.decode(errors="replace"))
        return completed

    @contextmanager
    def conversation(self, operation: str) -> Iterator[None]:
        """Tell the observer of what happens inside: one conversation with a server."""
        begin, failed = time.monotonic(), True
        try:
            yield
            failed = False
        finally:
            if self._observer is not None:
                self._observer(operation, time.monotonic() - begin, failed=failed)

    def _environment(self, directory: Path) -> dict[str, str]:
        return {
            "HOME": str(self.home),
            "XDG_CONFIG_HOME": str(self.home),
            "GIT_DIR": str(directory),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": str(self._config),
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ASKPASS": "",
            "SSH_ASKPASS": "",
            "GIT_ALLOW_PROTOCOL": "none",  # a command that needs the network says which one
            "GIT_SSH_COMMAND": SSH,
            "GIT_SSH_VARIANT": "ssh",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_LITERAL_PATHSPECS": "1",
            "LC_ALL": "C",
        }


def _start(
    arguments: tuple[str, ...], directory: Path, variables: Mapping[str, str], *, takes_input: bool
) -> Git.AutoInterrupt:
    try:
        return Git(directory).execute(
            [*_without_inherited(variables), Git.GIT_PYTHON_GIT_EXECUTABLE or "git", *arguments],
            istream=subprocess.PIPE if takes_input else subprocess.DEVNULL,
            as_process=True,
            env=variables,
            shell=False,
            start_new_session=True,
        )
    except GitCommandNotFound:
        raise GitNotInstalledError("git is not installed, or not on PATH") from None


def _without_inherited(variables: Mapping[str, str]) -> list[str]:
    """A prefix that takes Git's variables of syncd's own environment out of the child's.

    GitPython always passes its own environment on. Such variables are there when syncd runs inside a Git hook, and
    could redirect every command; their names are no secret.
    """
    foreign = sorted(
        name for name in os.environ if name.startswith("GIT_") and name not in variables and name not in _OPERATORS_OWN
    )
    return ["env", *(word for name in foreign for word in ("-u", name))] if foreign else []
