"""Ports that nothing else takes while a part that is to have one is down."""

from __future__ import annotations

import secrets
import socket

# Below the range from which Linux takes the ports of outgoing connections: one of those could hold the port of a part
# just when it is restarted.
_FIRST = 20_000
_LAST = 32_000
_TRIES = 200


def bound_socket(port: int) -> socket.socket:
    """Return a socket that has a loopback port, a free one if 0 is asked for, and does not listen yet."""
    candidates = [port] if port else [_FIRST + secrets.randbelow(_LAST - _FIRST) for _ in range(_TRIES)]
    for candidate in candidates:
        bound = socket.socket()
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind(("127.0.0.1", candidate))
        except OSError:
            bound.close()
        else:
            return bound
    raise OSError(f"no free port on the loopback interface among {candidates[0]} and {len(candidates) - 1} others")


def free_port() -> int:
    """Return a loopback port that is free now."""
    with bound_socket(0) as bound:
        port: int = bound.getsockname()[1]
        return port
