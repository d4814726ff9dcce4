"""Waiting with a deadline: the only way in which this package waits for anything."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


def wait_for(what: str, condition: Callable[[], T | None], *, seconds: float, every: float = 0.02) -> T:
    """Call the condition until its value is true, and return that value.

    Args:
        what: What is waited for, as the error names it: "the Deployment web to be rolled out".
        condition: Called again and again; an exception it raises ends the wait.
        seconds: The deadline. Generous ones cost nothing when all is well.
        every: Pause between two calls.

    Raises:
        TimeoutError: The deadline passed.
    """
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() >= deadline:
            raise TimeoutError(f"waited {seconds:g} seconds for {what}; the last value was {value!r}")
        time.sleep(every)
