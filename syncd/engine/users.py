"""Asking the cluster who uses ConfigMaps and Secrets, once for each namespace."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from syncd.cluster.errors import ApiError
from syncd.model import GroupKind, ObjectKey
from syncd.plan.usage import KINDS, User, users

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from syncd.cluster import Cluster
    from syncd.engine.deadline import Deadline
    from syncd.model import JSONObject


class Users:
    """What was found out; may be asked by many threads. It is as old as the first question about a namespace."""

    def __init__(self, cluster: Cluster, deadline: Deadline, controllers: Mapping[str, str]) -> None:
        """Begin with what is known of who controls whom."""
        self.controllers = dict(controllers)
        self._cluster = cluster
        self._deadline = deadline
        self._lock = threading.Lock()
        self._known: dict[str, dict[ObjectKey, tuple[User, ...]] | None] = {}

    def of(self, namespace: str) -> dict[ObjectKey, tuple[User, ...]] | None:
        """The objects that something in a namespace uses, and what does; None when that could not be found out."""
        with self._lock:
            if namespace not in self._known:
                try:
                    self._known[namespace] = users(self._read(namespace), namespace, self.controllers)
                except ApiError:
                    self._known[namespace] = None
            return self._known[namespace]

    def _read(self, namespace: str) -> Iterator[JSONObject]:
        resources = self._cluster.discovery.resources()
        for kind in KINDS:
            resource = resources.find(GroupKind(*kind))
            if resource is not None:
                yield from self._cluster.client.list(resource, namespace, timeout=self._deadline.request)
            elif not resources.complete:
                raise ApiError(f"whether {kind[1]} is served is not known")
