"""What else is being deleted while a Sync is: its whole namespace, or the definition of Syncs itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from syncd.cluster import Resource
from syncd.cluster.errors import NotFoundError

if TYPE_CHECKING:
    from syncd.cluster import Client

_NAMESPACES: Final = Resource("", "v1", "Namespace", "namespaces", namespaced=False)
_DEFINITIONS: Final = Resource(
    "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", namespaced=False
)
_SYNCS: Final = "syncs.syncd.dev"
_TIMEOUT: Final = 10.0


class Removal(NamedTuple):
    """What is being deleted beside a Sync."""

    namespace: bool = False
    """Its namespace, with all that is in it: its inventory and syncd's rights there among the first."""
    definition: bool = False
    """The definition of Syncs: somebody removes syncd, which is no wish to delete what it has applied."""


def look(client: Client, namespace: str) -> Removal:
    """What is being deleted beside a Sync of this namespace.

    Raises:
        ApiError: It could not be found out.
    """
    return Removal(_goes(client, _NAMESPACES, namespace), _goes(client, _DEFINITIONS, _SYNCS))


def _goes(client: Client, resource: Resource, name: str) -> bool:
    try:
        return "deletionTimestamp" in client.get(resource, "", name, timeout=_TIMEOUT)["metadata"]
    except NotFoundError:
        return True
