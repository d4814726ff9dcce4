"""A control plane that stays when the command that started it has ended, for a person.

One process in the background holds it, exactly as a test process does. The file lock that it has on `holder.lock` is
the truth about whether it lives; the number in that file says whom to end.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from tests.controlplane.binaries import find_binaries
from tests.controlplane.server import ControlPlane
from tests.controlplane.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TextIO

_UP_SECONDS = 180
_DOWN_SECONDS = 60
_REPOSITORY = Path(__file__).parents[2]


class DetachedError(Exception):
    """`up` or `down` cannot do what they were asked to; the message is for the person who asked."""


def up(folder: Path) -> None:
    """Start a control plane in the background and print how to use it."""
    binaries = find_binaries()
    folder.mkdir(parents=True, exist_ok=True)
    if _is_held(folder):
        _say(f"already running in {folder}")
    else:
        _start_holder(folder)
        _say(f"running in {folder}, programs {binaries.origin}")
    if binaries.missing:
        _say(f"without {', '.join(binaries.missing)}: {binaries.origin} has none")
    _say(f"stop it with: python -m tests.controlplane down --dir {folder}")
    sys.stdout.write(f"export KUBECONFIG={folder / 'kubeconfig'}\n")


def down(folder: Path) -> None:
    """Stop the control plane in a folder; its data stays."""
    if not _is_held(folder):
        _say(f"nothing is running in {folder}")
        return
    holder = int(_lock_file(folder).read_text())
    os.kill(holder, signal.SIGTERM)
    try:
        wait_for("the control plane to stop", lambda: not _is_held(folder), seconds=_DOWN_SECONDS, every=0.05)
    except TimeoutError:
        # Its parts go with it, however it goes.
        os.kill(holder, signal.SIGKILL)
        wait_for("the control plane to be killed", lambda: not _is_held(folder), seconds=_DOWN_SECONDS)
    _say(f"stopped; the data is still in {folder}")


def serve(folder: Path) -> None:
    """Hold a control plane until SIGTERM: what `up` starts in the background."""
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    with _held(folder), ControlPlane.start(folder):
        _ready_file(folder).touch()
        # With a time limit, as Python's signal handlers do not run inside an endless wait on every platform.
        while not ended.wait(1):
            pass


def _start_holder(folder: Path) -> None:
    _ready_file(folder).unlink(missing_ok=True)
    log = folder / "holder.log"
    with log.open("wb") as output:
        holder = subprocess.Popen(
            [sys.executable, "-m", "tests.controlplane", "serve", "--dir", folder],
            cwd=_REPOSITORY,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def is_ready() -> bool:
        if holder.poll() is not None:
            raise DetachedError(f"it did not start:\n{log.read_text(errors='replace').strip()}")
        return _ready_file(folder).exists()

    try:
        wait_for("the control plane to be ready", is_ready, seconds=_UP_SECONDS, every=0.05)
    except BaseException:
        holder.kill()
        holder.wait(_DOWN_SECONDS)
        raise


def _lock_file(folder: Path) -> Path:
    return folder / "holder.lock"


def _ready_file(folder: Path) -> Path:
    return folder / "holder.ready"


@contextlib.contextmanager
def _held(folder: Path) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    with _lock_file(folder).open("a+") as file:
        if not _lock(file):
            raise DetachedError(f"another one is running in {folder}")
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        try:
            yield
        finally:
            _ready_file(folder).unlink(missing_ok=True)


def _is_held(folder: Path) -> bool:
    if not _lock_file(folder).exists():
        return False
    with _lock_file(folder).open("a+") as file:
        return not _lock(file)


def _lock(file: TextIO) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _say(message: str) -> None:
    sys.stderr.write(f"controlplane: {message}\n")
