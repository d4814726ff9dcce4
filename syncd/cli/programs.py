"""The programs that syncd calls, and their versions."""

from __future__ import annotations

import subprocess
from typing import Final

from syncd import render

_SECONDS: Final = 10


def versions() -> dict[str, str]:
    """What each of them says of itself, or what is wrong with it; takes a moment."""
    return {"git": _git_version(), **render.versions()}


def _git_version() -> str:
    try:
        done = subprocess.run(
            ["git", "--version"],
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except OSError:
        return "there is no git on PATH"
    except subprocess.TimeoutExpired:
        return "git does not say its version"
    return done.stdout.removeprefix("git version ").strip() or "git does not say its version"
