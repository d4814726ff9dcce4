"""How long-running commands end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest

from syncd.cli.signals import stopped_by_signal

if TYPE_CHECKING:
    from types import CodeType


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_sets_the_event_and_nothing_else(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with stopped_by_signal() as stop:
        assert not stop.is_set()
        os.kill(os.getpid(), number)
        assert stop.wait(10)
        os.kill(os.getpid(), number)
    assert signal.getsignal(number) is before


def test_a_signal_that_the_kernel_gives_to_another_thread_is_not_missed() -> None:
    main = threading.get_ident()

    def where_main_is() -> tuple[CodeType, int]:
        frame = sys._current_frames()[main]
        return frame.f_code, frame.f_lasti

    def take_it() -> None:
        seen = [where_main_is()]
        while seen[-3:] != [seen[-1]] * 3 or seen[-1][0] is not threading.Condition.wait.__code__:
            time.sleep(0.01)  # lets it go on, unless it waits
            seen.append(where_main_is())
        signal.pthread_kill(threading.get_ident(), signal.SIGTERM)

    with stopped_by_signal() as stop:
        other = threading.Thread(target=take_it)
        other.start()
        assert stop.wait(30)
        other.join()


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
