"""All of one cluster in one hand."""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING, Self

from syncd.cluster.cache import LiveCache
from syncd.cluster.client import Client
from syncd.cluster.config import connect
from syncd.cluster.discovery import Discovery
from syncd.cluster.openapi import Schemas

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from syncd.cluster.live import Event, LiveObject
    from syncd.cluster.transport import Observation, Transport
    from syncd.cluster.watch import Timing
    from syncd.model import ObjectKey

_JOIN_TIMEOUT = 5.0


class Cluster:
    """One API server, asked as one identity, and through :meth:`acting_for` as others.

    Attributes:
        transport: Its requests.
        client: Its verbs.
        discovery: What it serves.
        schemas: How its kinds merge.
        live: What it holds of everything that is managed.
    """

    def __init__(
        self, transport: Transport, *, timing: Timing | None = None, discovered_by: Cluster | None = None
    ) -> None:
        """Ask nothing yet; ``discovered_by`` knows already what the same server serves."""
        self.transport = transport
        self.client = Client(transport)
        self.discovery: Discovery = discovered_by.discovery if discovered_by else Discovery(transport)
        self.schemas: Schemas = discovered_by.schemas if discovered_by else Schemas(transport)
        self.live = LiveCache(self.client, timing=timing)
        self.client.journal = self.live
        self._timing = timing
        self._identities = _Identities(self._open_as)
        self._subscribers: tuple[Callable[[LiveCache, Event], None], ...] = ()

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

    def acting_for(self, client: str, user: str) -> Cluster:
        """The same server, asked in the name of a user by impersonation; this cluster itself if that is "".

        Args:
            client: Who needs it (a Sync), instead of any that it needed before.
            user: The user's name, as RBAC has it.
        """
        if user:
            self.live.want(client, ())
            return self._identities.of(client, user)
        self._identities.release(client)
        return self

    def forget(self, client: str) -> None:
        """Take that a client needs nothing any more; what only it needed is closed."""
        self.live.want(client, ())
        self._identities.release(client)

    def subscribe(self, callback: Callable[[LiveCache, Event], None]) -> None:
        """Have ``callback`` called for each change that somebody else makes, as :meth:`LiveCache.subscribe` says.

        The cache of each user tells what it sees, and who is somebody else: the same change may come from several.
        """
        self._subscribers = (*self._subscribers, callback)
        for live in self.lives():
            live.subscribe(partial(callback, live))

    def lives(self) -> tuple[LiveCache, ...]:
        """The live caches of all users."""
        return tuple(cluster.live for cluster in (self, *self._identities.all()))

    def known(self, key: ObjectKey) -> LiveObject | None:
        """An object as one of the live caches has it, or None."""
        return next((found for live in self.lives() if (found := live.get(key)) is not None), None)

    def _open_as(self, user: str) -> Cluster:
        cluster = Cluster(self.transport.acting_as(user), timing=self._timing, discovered_by=self)
        for callback in self._subscribers:
            cluster.live.subscribe(partial(callback, cluster.live))
        return cluster

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End everything at once: watches, requests in hand, connections; of all users."""
        self._identities.close()
        self.live.stop()
        self.transport.close()
        self.live.join(_JOIN_TIMEOUT)


class _Identities:
    """The clusters of all users that are impersonated: opened when somebody needs one, closed with the last client.

    Safe to use from many threads.

    Args:
        open_as: Makes the cluster of a user.
    """

    def __init__(self, open_as: Callable[[str], Cluster]) -> None:
        self._open_as = open_as
        self._lock = threading.Lock()
        self._clusters: dict[str, Cluster] = {}
        self._users: dict[str, str] = {}
        """By client."""
        self._closed = False

    def of(self, client: str, user: str) -> Cluster:
        """The cluster of a user, for a client that needs no other one from now on."""
        with self._lock:
            left = self._leave(client) if self._users.get(client, user) != user else None
            self._users[client] = user
            if user not in self._clusters:
                self._clusters[user] = self._open_as(user)
            found, closed = self._clusters[user], self._closed
        if left is not None:
            left.close()
        if closed:
            found.close()  # nothing can be asked in any name any more
        return found

    def release(self, client: str) -> None:
        """Take that a client needs none of them any more."""
        with self._lock:
            left = self._leave(client)
        if left is not None:
            left.close()

    def all(self) -> tuple[Cluster, ...]:
        """Those that are open."""
        with self._lock:
            return tuple(self._clusters.values())

    def close(self) -> None:
        """Close all of them, for good."""
        with self._lock:
            self._closed = True
            clusters = tuple(self._clusters.values())
        for cluster in clusters:
            cluster.close()

    def _leave(self, client: str) -> Cluster | None:
        """Gives the cluster that has lost its last client."""
        user = self._users.pop(client, None)
        if user is None:
            return None
        if user in self._users.values():
            self._clusters[user].live.want(client, ())
            return None
        return self._clusters.pop(user)
