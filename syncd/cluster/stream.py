"""An answer that goes on, line by line, and can be ended from another thread."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Final, Self

from urllib3.exceptions import HTTPError, ReadTimeoutError

from syncd.cluster.errors import MalformedResponseError, TimedOutError, UnreachableError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

    import urllib3

LINE_LIMIT: Final = 32 << 20
"""Bytes of the longest line that is believed; etcd takes no object of more than 1.5 MiB."""


class Stream:
    """The lines of a running answer. Iterate in one thread; ``close`` may be called from any.

    Args:
        raw: The answer, its headers read and nothing else.
        idle: Seconds without a byte after which it counts as dead.
    """

    def __init__(self, raw: urllib3.BaseHTTPResponse, idle: float) -> None:
        self._raw = raw
        self._idle = idle
        self._closed = threading.Event()
        sock = getattr(raw.connection, "sock", None)
        if sock is not None:
            sock.settimeout(idle)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closed.set()
        self._raw.close()

    def __iter__(self) -> Iterator[bytes]:
        """Yield each line without its end, until the server or ``close`` ends the stream.

        Raises:
            TimedOutError: Nothing came for too long.
            UnreachableError: The connection broke.
            MalformedResponseError: A line has no end.
        """
        pending = bytearray()
        while chunk := self._next_chunk():
            searched = len(pending)
            pending += chunk
            start = 0
            while (end := pending.find(b"\n", max(start, searched))) >= 0:
                line = bytes(pending[start:end])
                start = end + 1
                if line.strip():
                    yield line
            del pending[:start]
            if len(pending) > LINE_LIMIT:
                raise MalformedResponseError("the server sends a line that does not end")

    def close(self) -> None:
        """End the stream; whoever iterates sees its end at once."""
        self._closed.set()
        # It may have ended by itself meanwhile, which is what was wanted.
        with contextlib.suppress(ValueError, RuntimeError, OSError):
            self._raw.shutdown()

    def _next_chunk(self) -> bytes:
        if self._closed.is_set():
            return b""
        try:
            return self._raw.read1(1 << 16)
        except ReadTimeoutError:
            if self._closed.is_set():
                return b""
            raise TimedOutError(f"the stream was silent for {self._idle:g} s") from None
        # ValueError: an SSL socket that is shut down by another thread in the midst of a read
        except (HTTPError, OSError, ValueError) as error:
            if self._closed.is_set():
                return b""
            raise UnreachableError(f"the stream broke: {error.args[0] if error.args else error!r}") from error
