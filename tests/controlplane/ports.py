"""Ports that nothing else takes while a part that is to have one is down."""

from __future__ import annotations

import itertools
import os
import socket

# Below the range from which Linux takes the ports of outgoing connections: one of those could hold the port of a part
# just when it is restarted. Each process has a stretch of its own and goes round in it, so that two that start control
# planes at the same time do not both find the same port free before either uses it.
_FIRST = 20_000
_STRETCH = 60
_STRETCHES = 200
_turn = itertools.count()


def bound_socket(port: int) -> socket.socket:
    """Return a socket that has a loopback port, a free one if 0 is asked for, and does not listen yet."""
    first = _FIRST + os.getpid() % _STRETCHES * _STRETCH
    for _ in range(1 if port else _STRETCH):
        candidate = port or first + next(_turn) % _STRETCH
        bound = socket.socket()
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind(("127.0.0.1", candidate))
        except OSError:
            bound.close()
        else:
            return bound
    wanted = str(port) if port else f"{first} to {first + _STRETCH - 1}"
    raise OSError(f"no free port on the loopback interface: looked for {wanted}")


def free_port() -> int:
    """Return a loopback port that is free now."""
    with bound_socket(0) as bound:
        port: int = bound.getsockname()[1]
        return port
