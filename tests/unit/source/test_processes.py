from __future__ import annotations

import subprocess
import threading
import time
from typing import TYPE_CHECKING

import pytest

from syncd.source.processes import (
    STDERR_LIMIT,
    Completed,
    ProcessOutputError,
    ProcessStoppedError,
    ProcessTimeoutError,
    supervise,
)
from tests.unit.source.children import end_soon

if TYPE_CHECKING:
    from pathlib import Path

FAR = 60.0


def start(script: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        ["/bin/sh", "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def run(script: str, *, seconds: float = FAR, stdin: bytes = b"", stdout_limit: int = 1 << 24) -> Completed:
    return supervise(start(script), deadline=time.monotonic() + seconds, stdin=stdin, stdout_limit=stdout_limit)


def test_output_errors_and_status_are_returned() -> None:
    assert run("cat; echo no >&2; exit 3", stdin=b"yes") == (3, b"yes", b"no\n")


def test_much_goes_in_and_out_at_the_same_time() -> None:
    data = bytes(range(256)) * 20_000
    assert run("tee /dev/stderr", stdin=data).stdout == data


def test_a_process_that_does_not_read_its_input_is_no_error() -> None:
    assert run("exec 0<&-; echo done", stdin=bytes(1 << 20)) == (0, b"done\n", b"")


def test_errors_are_cut() -> None:
    assert len(run("head -c 1000000 /dev/zero >&2").stderr) == STDERR_LIMIT


def test_a_signal_is_told() -> None:
    assert run("kill -9 $$").status == -9


def test_too_much_output_ends_the_process() -> None:
    with pytest.raises(ProcessOutputError):
        run("yes", stdout_limit=1000)


@pytest.mark.parametrize("script", ["sleep 1000", "trap '' TERM; sleep 1000 & sleep 1000", "exec >&- 2>&-; sleep 1000"])
def test_a_deadline_ends_the_process_and_its_children(tmp_path: Path, script: str) -> None:
    pids = tmp_path / "pids"
    with pytest.raises(ProcessTimeoutError):
        run(f"sleep 1000 & echo $! $$ > {pids}; {script}", seconds=0.5)
    assert end_soon(pids.read_text())


def test_children_that_are_left_behind_are_ended(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    assert run(f"sleep 1000 >/dev/null 2>&1 & echo $! > {pids}").status == 0
    assert end_soon(pids.read_text())


def test_a_stop_ends_the_process() -> None:
    stop = threading.Event()
    process = start("echo started; sleep 1000")
    threading.Timer(0.2, stop.set).start()
    with pytest.raises(ProcessStoppedError):
        supervise(process, deadline=time.monotonic() + FAR, stop=stop, stdout_limit=100)
    assert process.returncode is not None


def test_limits_hold() -> None:
    import resource  # noqa: PLC0415 - only here, and not on every system

    process = start("sleep 0.3; ulimit -f")  # the limit is set from outside, just after the start
    completed = supervise(
        process, deadline=time.monotonic() + FAR, stdout_limit=100, limits={resource.RLIMIT_FSIZE: 512 * 7}
    )
    assert completed.stdout.strip() == b"7"
