"""What charts ask about a cluster: its version, and what it serves."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from syncd.cluster.discovery import ApiResources, Discovery
    from syncd.cluster.transport import Transport


class ServerFacts:
    """The version of a server and the API versions that it serves; asked anew when its discovery was.

    Safe to use from many threads.
    """

    def __init__(self, transport: Transport, discovery: Discovery) -> None:
        self._transport = transport
        self._discovery = discovery
        self._lock = threading.Lock()
        self._known: tuple[ApiResources, str, tuple[str, ...]] | None = None

    def get(self) -> tuple[str, tuple[str, ...]]:
        """The version, and every ``group/version`` and ``group/version/Kind``, sorted.

        Raises:
            ApiError: The server does not answer.
        """
        resources = self._discovery.resources()
        with self._lock:
            if self._known is None or self._known[0] is not resources:
                version = str(self._transport.request("GET", "/version").object().get("gitVersion", ""))
                served = {resource.api_version for resource in resources}
                served |= {f"{resource.api_version}/{resource.kind}" for resource in resources}
                self._known = (resources, version, tuple(sorted(served)))
            return self._known[1:]
