"""What matters at the end of a Sync beside the Sync: whether its namespace goes, or the definition of Syncs itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from syncd.cluster import Resource
from syncd.cluster.errors import NotFoundError
from syncd.spec.status import parse_status

if TYPE_CHECKING:
    from syncd.cluster import Client
    from syncd.model import JSONObject

_NAMESPACES: Final = Resource("", "v1", "Namespace", "namespaces", namespaced=False)
_DEFINITIONS: Final = Resource(
    "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", namespaced=False
)
_SYNCS: Final = "syncs.syncd.dev"
_TIMEOUT: Final = 10.0


class Removal(NamedTuple):
    """How a Sync comes to be deleted."""

    namespace: bool = False
    """Its namespace goes, with all that is in it: its inventory and syncd's rights there among the first."""
    definition: bool = False
    """The definition of Syncs goes: somebody removes syncd, which is no wish to delete what it has applied."""
    untouched: bool = False
    """Its status knows of nothing that was applied: it has never got that far."""


def look(client: Client, obj: JSONObject) -> Removal:
    """How a Sync object comes to be deleted.

    Raises:
        ApiError: It could not be found out.
    """
    status = parse_status(obj.get("status"))
    return Removal(
        namespace=_goes(client, _NAMESPACES, obj["metadata"]["namespace"]),
        definition=_goes(client, _DEFINITIONS, _SYNCS),
        untouched=not (status.applied or status.objects.inventory),
    )


def _goes(client: Client, resource: Resource, name: str) -> bool:
    try:
        return "deletionTimestamp" in client.get(resource, "", name, timeout=_TIMEOUT)["metadata"]
    except NotFoundError:
        return True
