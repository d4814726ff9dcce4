"""uvicorn's HTTP/1.1 protocol with each answer sent in one write.

uvicorn writes head and body one after the other, which makes two packets of a small answer. Here what is written
within one turn of the event loop goes out together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio


class _Gathering:
    """A transport that gathers writes until the event loop's next turn; everything else is the inner transport's."""

    def __init__(self, inner: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._inner = inner
        self._loop = loop
        self._parts: list[bytes] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def write(self, data: bytes) -> None:
        if not self._parts:
            self._loop.call_soon(self._flush)
        self._parts.append(data)

    def close(self) -> None:
        self._flush()
        self._inner.close()

    def _flush(self) -> None:
        if self._parts:
            data = b"".join(self._parts)
            self._parts.clear()
            if not self._inner.is_closing():
                self._inner.write(data)


class OneWriteProtocol(H11Protocol):
    """One connection."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in the base class
        """Take a new connection."""
        super().connection_made(_Gathering(transport, self.loop))  # type: ignore[arg-type]  # it forwards the rest
