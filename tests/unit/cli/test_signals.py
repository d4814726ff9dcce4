"""How long-running commands end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from syncd.cli.signals import stopped_by_signal


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_sets_the_event_and_nothing_else(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with stopped_by_signal() as stop:
        assert not stop.is_set()
        os.kill(os.getpid(), number)
        assert stop.wait(10)
        os.kill(os.getpid(), number)
    assert signal.getsignal(number) is before


def test_a_second_signal_ends_an_impatient_process_at_once() -> None:
    code = (
        "import os, signal\n"
        "from syncd.cli.exits import Exit\n"
        "from syncd.cli.signals import stopped_by_signal\n"
        "with stopped_by_signal(impatient=Exit.INTERRUPTED) as stop:\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    assert stop.wait(10)\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    stop.clear()\n"
        "    stop.wait(10)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 130
