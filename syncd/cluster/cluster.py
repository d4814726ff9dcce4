"""All of one cluster in one hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from syncd.cluster.cache import LiveCache
from syncd.cluster.client import Client
from syncd.cluster.config import connect
from syncd.cluster.discovery import Discovery
from syncd.cluster.openapi import Schemas

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from syncd.cluster.transport import Observation, Transport
    from syncd.cluster.watch import Timing

_JOIN_TIMEOUT = 5.0


class Cluster:
    """One API server, asked as one identity.

    Attributes:
        transport: Its requests.
        client: Its verbs.
        discovery: What it serves.
        schemas: How its kinds merge.
        live: What it holds of everything that is managed.
    """

    def __init__(self, transport: Transport, *, timing: Timing | None = None) -> None:
        self.transport = transport
        self.client = Client(transport)
        self.discovery = Discovery(transport)
        self.schemas = Schemas(transport)
        self.live = LiveCache(self.client, timing=timing)
        self.client.journal = self.live

    @classmethod
    def connect(
        cls,
        kubeconfig: Path | None = None,
        context: str | None = None,
        user_agent: str = "syncd",
        *,
        before_write: Callable[[], None] | None = None,
        observer: Callable[[Observation], None] | None = None,
    ) -> Self:
        """Find the cluster as :func:`syncd.cluster.config.connect` does; nothing is asked yet.

        Raises:
            ClusterConfigError: There is no usable configuration.
        """
        return cls(connect(kubeconfig, context, user_agent, before_write=before_write, observer=observer))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End everything at once: watches, requests in hand, connections."""
        self.live.stop()
        self.transport.close()
        self.live.join(_JOIN_TIMEOUT)
