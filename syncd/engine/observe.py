"""Looking at the cluster, just as much as one plan needs."""

from __future__ import annotations

from concurrent.futures import as_completed
from dataclasses import replace
from typing import TYPE_CHECKING

from syncd.cluster.errors import ApiError, NotFoundError, NotServedError
from syncd.engine.claims import Found
from syncd.engine.kinds import REFRESH_AFTER
from syncd.engine.users import Users
from syncd.plan.guards import protected
from syncd.plan.guards.contents import CONTAINERS, CRD, defined_kind
from syncd.plan.guards.in_use import USABLE
from syncd.plan.settings import Observation

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from syncd.cluster import ApiResources, Cluster, LiveObject, Resource
    from syncd.engine.claims import Claims
    from syncd.engine.deadline import Deadline
    from syncd.engine.work import Work
    from syncd.inventory import ApplyConfig, Owner
    from syncd.model import GroupKind, JSONObject, ObjectKey
    from syncd.plan.desired import DesiredSet
    from syncd.plan.usage import User

_MADE_BY_THE_CLUSTER = frozenset({("ConfigMap", "kube-root-ca.crt"), ("ServiceAccount", "default")})
_COME_AND_GO = frozenset({"Event", "Endpoints", "EndpointSlice", "Lease"})
"""Kinds whose objects are traces of others, and go with them."""


def observe(work: Work, owner: Owner, desired: DesiredSet, inventory: ApplyConfig, claims: Claims) -> Observation:
    """What the live cache knows of everything that the plan is about."""
    cluster = work.cluster
    versions = {key: item.manifest.api_version for key, item in desired.by_key.items()}
    keys = versions.keys() | inventory.keys
    wanted, unclear, gone = _kinds(cluster.discovery.resources(), versions, keys)
    cluster.live.want(owner.sync, wanted, _places(keys))
    problems = cluster.live.wait_synced(wanted, work.deadline.at, work.deadline.stop)
    if problems:
        cluster.discovery.refresh(min_age=REFRESH_AFTER)  # a kind may have gone, and the next reconcile should know
    unreadable = {key: unclear[key.group_kind] for key in keys if key.group_kind in unclear}
    for key in (key for key in keys if key.group_kind in problems):
        if doubt := cluster.live.doubt(key, versions.get(key, "")):
            unreadable[key] = doubt
    live = _known(cluster, {key: versions.get(key, "") for key in keys})
    held = {
        key: what
        for key in inventory.keys - versions.keys()
        if key.group_kind in CONTAINERS and key in live
        if (what := contents(cluster, key, live[key].parse(), owner, work.deadline)) is not None
    }
    left = inventory.keys - versions.keys()
    others = claims.of_others(work.sync, work.deadline) if left else Found({})
    users = Users(cluster, work.deadline, {})
    return Observation(
        inventory,
        live,
        unreadable,
        frozenset(gone),
        work.memory.settled,
        held,
        look_for_users(users, left & live.keys()),
        users.controllers,
        others.claimed,
        others.doubt,
    )


def observe_part(work: Work, part: DesiredSet, inventory: ApplyConfig) -> Observation:
    """What the live cache knows of some objects, in a reconcile that need not look at any other.

    All kinds are watched already and known for sure, and nothing has left Git.

    Args:
        work: The reconcile.
        part: The objects.
        inventory: The apply-config object.
    """
    listed = replace(inventory, keys=inventory.keys & part.by_key.keys())
    live = _known(work.cluster, {key: item.manifest.api_version for key, item in part.by_key.items()})
    return Observation(listed, live, settled=work.memory.settled)


def _known(cluster: Cluster, versions: Mapping[ObjectKey, str]) -> dict[ObjectKey, LiveObject]:
    """What the live cache has of objects, each in the version that Git writes it in."""
    found = ((key, cluster.live.get(key, version)) for key, version in versions.items())
    return {key: live for key, live in found if live is not None}


def look_for_users(users: Users, keys: Iterable[ObjectKey]) -> dict[str, Mapping[ObjectKey, tuple[User, ...]]]:
    """Who uses the ConfigMaps and Secrets among these objects, by namespace."""
    namespaces = {key.namespace for key in keys if key.group_kind in USABLE}
    return {name: found for name in sorted(namespaces) if (found := users.of(name)) is not None}


def _places(keys: Iterable[ObjectKey]) -> dict[GroupKind, frozenset[str]]:
    """In which namespaces the objects of each kind are."""
    places: dict[GroupKind, set[str]] = {}
    for key in keys:
        places.setdefault(key.group_kind, set()).add(key.namespace)
    return {kind: frozenset(namespaces) for kind, namespaces in places.items()}


def _kinds(
    resources: ApiResources, versions: Mapping[ObjectKey, str], keys: Iterable[ObjectKey]
) -> tuple[list[Resource], dict[GroupKind, str], set[GroupKind]]:
    """Sort kinds into those that are served (in the version that Git writes them in), unclear, and gone."""
    asked = {(versions.get(key, ""), key.group_kind) for key in keys}
    served: list[Resource] = []
    unclear: dict[GroupKind, str] = {}
    gone: set[GroupKind] = set()
    for api_version, kind in sorted(asked):
        version = api_version.rpartition("/")[2]
        resource = resources.find_version(kind.group, version, kind.kind) if version else resources.find(kind)
        if resource is not None:
            served.append(resource)
        elif not resources.complete:
            # A desired kind that is not served is one that a definition beside it promises: nothing is unclear about it
            # for as long as it is some other group that does not answer.
            if not version or resources.failure(kind.group):
                failed = ", ".join(resources.failed)
                unclear[kind] = f"whether {kind} is served is not known: discovery failed for {failed}"
        elif not resources.find(kind):
            gone.add(kind)
    return served, unclear, gone


def probe(work: Work, keys: Iterable[ObjectKey]) -> dict[ObjectKey, LiveObject]:
    """Read single objects that the live cache does not know: they may be there without an owner.

    Raises:
        ApiError: One of them could not be read.
    """
    cluster = work.cluster
    resources = cluster.discovery.resources()
    found: dict[ObjectKey, LiveObject] = {}
    futures = {}
    for key in keys:
        resource = resources.find(key.group_kind)
        if resource is not None:
            call = work.pool.submit(
                cluster.client.get, resource, key.namespace, key.name, timeout=work.deadline.request
            )
            futures[call] = key
    for call in as_completed(futures):
        try:
            found[futures[call]] = cluster.live.view(call.result())
        except NotFoundError:
            continue
    return found


def contents(cluster: Cluster, key: ObjectKey, live: JSONObject, owner: Owner, deadline: Deadline) -> str | None:
    """What a Namespace or CustomResourceDefinition holds that is not this owner's, in words.

    Returns:
        "" if it holds nothing of that sort; None for an object that holds nothing, or when it could not be found out.
    """
    if key.group_kind not in CONTAINERS:
        return None
    resources = cluster.discovery.resources()
    if not resources.complete:
        return None
    if key.group_kind == CRD:
        resource = resources.find(defined_kind(live))
        kinds, namespace = [resource] if resource else [], ""
    else:
        kinds, namespace = [item for item in resources if item.namespaced and "list" in item.verbs], key.name
    foreign: list[str] = []
    try:
        for resource in kinds:
            items = _list(cluster, resource, namespace, deadline)
            names = (item["metadata"]["name"] for item in items if _is_foreign(resource, item, owner))
            foreign.extend(f"{resource.kind} {name}" for name in names)
    except ApiError:
        return None
    if not foreign:
        return ""
    return f"{len(foreign)} objects that are not this Sync's or are protected, such as {foreign[0]}"


def _list(cluster: Cluster, resource: Resource, namespace: str, deadline: Deadline) -> list[JSONObject]:
    """The metadata of all objects of a kind; none of one that is not served any more, since its definition has gone."""
    try:
        return list(cluster.client.list_metadata(resource, namespace, timeout=deadline.request))
    except NotServedError:
        resources = cluster.discovery.refresh(min_age=REFRESH_AFTER)
        if resources.complete and resources.find(resource.group_kind) is None:
            return []
        raise


def _is_foreign(resource: Resource, item: JSONObject, owner: Owner) -> bool:
    metadata = item["metadata"]
    if resource.kind in _COME_AND_GO or (resource.kind, metadata["name"]) in _MADE_BY_THE_CLUSTER:
        return False
    if metadata.get("ownerReferences") or metadata.get("deletionTimestamp"):
        return False
    return not owner.owns(item) or protected.guard_annotations(item) is not None
