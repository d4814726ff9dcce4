"""Every inventory that a cluster holds, whoever follows it; some may be of Syncs that nobody configures any more."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from syncd.engine.inventory import InventoryStore
from syncd.engine.kinds import require_kind
from syncd.inventory import names
from syncd.model import GroupKind
from syncd.spec import SyncMetadata

if TYPE_CHECKING:
    from collections.abc import Iterator

    from syncd.cluster import Cluster
    from syncd.engine.deadline import Deadline
    from syncd.inventory import ApplyConfig
    from syncd.model import JSONObject

_CONFIG_MAP = GroupKind("", "ConfigMap")


class SyncName(NamedTuple):
    """A Sync of which only the name is known."""

    metadata: SyncMetadata

    @property
    def id(self) -> str:
        """``namespace/name``."""
        return f"{self.metadata.namespace}/{self.metadata.name}"


def find_inventories(cluster: Cluster, deadline: Deadline) -> Iterator[tuple[SyncName, ApplyConfig]]:
    """Read every inventory that syncd keeps, by the Sync's name, sorted.

    Raises:
        ApiError: ConfigMaps could not be listed, or an inventory not be read.
    """
    resource = require_kind(cluster.discovery, _CONFIG_MAP)
    maps = cluster.client.list_metadata(resource, selector=names.APPLY_CFG_LABEL, timeout=deadline.request)
    found = {name.id: name for item in maps if (name := _kept_for(item)) is not None}
    for _, name in sorted(found.items()):
        yield name, InventoryStore(cluster, name).read(deadline)


def _kept_for(item: JSONObject) -> SyncName | None:
    """The Sync that a ConfigMap is syncd's own of; None for what another tool made, or what came along from Git."""
    metadata = item["metadata"]
    labels, annotations = metadata.get("labels") or {}, metadata.get("annotations") or {}
    name = SyncName(SyncMetadata(name=metadata["name"], namespace=metadata["namespace"]))
    kept = names.LIST_HASH_ANNOTATION in annotations or labels[names.APPLY_CFG_LABEL] == names.ELSEWHERE
    return name if kept and annotations.get(names.SYNC_ANNOTATION, name.id) == name.id else None
