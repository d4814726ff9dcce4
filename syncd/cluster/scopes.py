"""What a live cache watches: each kind in all namespaces, or, where the identity may not, only where it is needed."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from syncd.cluster.discovery import Resource
    from syncd.model import GroupKind, ObjectKey


class Scope(NamedTuple):
    """One list and one watch."""

    resource: Resource
    namespace: str = ""
    """"" for all namespaces."""

    def __str__(self) -> str:
        return f"{self.resource.plural} in {self.namespace}" if self.namespace else self.resource.plural

    def covers(self, key: ObjectKey) -> bool:
        """Whether an object of the right kind is in it."""
        return self.namespace in ("", key.namespace)


class Wishes:
    """Which kinds are wanted, by whom and where; not safe to use from many threads."""

    def __init__(self) -> None:
        self._wanted: dict[str, frozenset[Resource]] = {}
        self._places: dict[str, Mapping[GroupKind, frozenset[str]]] = {}
        self._narrow: set[Resource] = set()

    def put(self, client: str, resources: Iterable[Resource], places: Mapping[GroupKind, frozenset[str]]) -> bool:
        """Say what a client wants from now on.

        Args:
            client: Who.
            resources: Which kinds.
            places: In which namespaces their objects are.

        Returns:
            Whether that is something else than before.
        """
        wanted = frozenset(resources)
        before = self._wanted.get(client, frozenset()), self._places.get(client, {})
        if before == (wanted, places):
            return False
        self._wanted[client], self._places[client] = wanted, places
        if not wanted:
            del self._wanted[client], self._places[client]
        self._narrow &= set(itertools.chain.from_iterable(self._wanted.values()))
        return True

    def of(self, client: str) -> frozenset[Scope]:
        """What a client needs."""
        places = self._places.get(client, {})
        return frozenset(
            Scope(resource, namespace)
            for resource in self._wanted.get(client, ())
            for namespace in (places.get(resource.group_kind, ("",)) if resource in self._narrow else ("",))
        )

    def needed(self) -> frozenset[Scope]:
        """What all of them need."""
        return frozenset(itertools.chain.from_iterable(map(self.of, self._wanted)))

    def narrow(self, resource: Resource) -> bool:
        """Take that a kind may not be read in all namespaces at once.

        Returns:
            Whether it is asked for otherwise now: it is in namespaces, and everybody has said in which.
        """
        clients = [client for client, wanted in self._wanted.items() if resource in wanted]
        known = all(resource.group_kind in self._places[client] for client in clients)
        if not (resource.namespaced and clients and known) or resource in self._narrow:
            return False
        self._narrow.add(resource)
        return True
