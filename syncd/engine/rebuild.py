"""Making a lost or damaged inventory anew."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from syncd.engine.inventory import InventoryStore
from syncd.engine.owned import claim
from syncd.inventory import Ownership

if TYPE_CHECKING:
    from collections.abc import Mapping

    from syncd.cluster import Cluster
    from syncd.engine.deadline import Deadline
    from syncd.inventory import ApplyConfig
    from syncd.model import JSONObject, ObjectKey
    from syncd.spec import Sync


def rebuild(
    cluster: Cluster, sync: Sync, current: ApplyConfig, owned: Mapping[ObjectKey, JSONObject], deadline: Deadline
) -> ApplyConfig:
    """Let the inventory list these objects and no others, and let them name it as their owner.

    The list is written first: an object that is listed and names a former owner is not pruned, and is found again.

    Raises:
        ApiError: Something could not be written; it may be begun anew.
    """
    store = InventoryStore(cluster, sync)
    if not current.uid:
        current = store.create(deadline)
    keys = frozenset(owned) - {current.key}
    written = store.rewrite(replace(current, damage=""), keys, keys, deadline)
    owner = written.owner(sync.id)
    for key, live in sorted(owned.items()):
        if owner.judge(live) is Ownership.FORMERLY_OURS:
            claim(cluster, key, owner, deadline)
    return written
