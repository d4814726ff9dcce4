"""Exit statuses: what they mean, and how errors become one of them."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """The exit statuses of every command; documented in docs/reference/cli.md."""

    OK = 0
    """It went well."""
    FAILURE = 1
    """It failed, wholly or in part; what went wrong is on standard error."""
    CHANGES = 2
    """``syncd plan --exit-code``: something would change."""
    USAGE = 64
    """The command line is wrong (``EX_USAGE`` of sysexits.h: 2 is taken)."""
    INTERRUPTED = 130
    """Ctrl-C ended it before it was done (128 and the number of SIGINT)."""
