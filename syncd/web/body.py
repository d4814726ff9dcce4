"""Reading the body of a request, with an end to its size and to its time."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

if TYPE_CHECKING:
    from starlette.requests import Request

BODY_LIMIT: Final = 4 << 20
"""Bytes of one call. What is larger (a push of very many commits) is refused, and polling finds it."""
_BODY_SECONDS: Final = 10.0


async def read_body(request: Request) -> bytes:
    """The body, as far as it is neither too large nor too slow.

    Raises:
        HTTPException: It is, or it ended early.
    """
    body = bytearray()
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            async for chunk in request.stream():
                body += chunk
                if len(body) > BODY_LIMIT:
                    raise HTTPException(413, f"The body is larger than {BODY_LIMIT} bytes.")
    except TimeoutError:
        raise HTTPException(408, "The body took too long.") from None
    except ClientDisconnect:
        raise HTTPException(400, "The body ended early.") from None
    return bytes(body)
