"""One API server asked in several names: a cluster for each, opened when somebody needs it and closed with the last."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from syncd.cluster.cluster import Cluster


class Identities:
    """The clusters of all users that are impersonated. Safe to use from many threads.

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
