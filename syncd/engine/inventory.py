"""Reading and writing the apply-config object of one Sync.

It is syncd's own ConfigMap, named after the Sync, unless Git brings another one along. Then the own one only says where
the list is, so that it is found after a restart, and at the end of the Sync, without looking through every kind.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from syncd.cluster.errors import AlreadyExistsError, ConflictError, ForbiddenError, NotFoundError
from syncd.engine.kinds import REFRESH_AFTER, UnknownKindError, modern, require_kind
from syncd.engine.memory import KnownInventory, Memory
from syncd.engine.pagestore import PageStore
from syncd.inventory import ApplyConfig, names
from syncd.inventory.applyconfig import ForeignApplyConfigError, pages_named
from syncd.inventory.brought import clearing_patch, is_apply_config, pointed, pointer
from syncd.inventory.ownership import named_owner
from syncd.model import GroupKind, JSONObject, ObjectKey, Write, WriteMethod

if TYPE_CHECKING:
    from collections.abc import Mapping

    from syncd.cluster import Cluster
    from syncd.engine.deadline import Deadline
    from syncd.spec import SyncMetadata

_NAMESPACE = GroupKind("", "Namespace")
_NONE: frozenset[ObjectKey] = frozenset()


class InventoryForbiddenError(ForbiddenError):
    """The namespace of a Sync has not invited syncd."""


class Named(Protocol):
    """A Sync, or as much of it as its inventory needs."""

    @property
    def metadata(self) -> SyncMetadata:
        """Its name and namespace."""

    @property
    def id(self) -> str:
        """Both in one."""


def own_key(sync: Named) -> ObjectKey:
    """The key of the ConfigMap that syncd keeps for a Sync."""
    return ObjectKey(sync.metadata.namespace, "", "ConfigMap", sync.metadata.name)


class InventoryStore:
    """The apply-config object of one Sync on the server."""

    def __init__(
        self, cluster: Cluster, sync: Named, memory: Memory | None = None, *, elsewhere: Cluster | None = None
    ) -> None:
        """Begin.

        Args:
            cluster: Reads and writes the own ConfigMap, and its pages.
            sync: Whose inventory it is.
            memory: Saves reading a list again that has not changed since.
            elsewhere: Reads and writes what Git brings along, or the own ConfigMap points to: in the Sync's own name,
                for whoever can write either could otherwise have syncd write to any object of the cluster.
        """
        self._cluster = cluster
        self._elsewhere = elsewhere or cluster
        self._sync = sync.id
        self._memory = memory or Memory()
        self._pages = PageStore(self._at, sync.metadata.namespace)
        self.own = own_key(sync)
        self._own: JSONObject | None = None

    def read(self, deadline: Deadline) -> ApplyConfig:
        """What the server has; without a uid when there is none yet.

        Raises:
            ForeignApplyConfigError: What should be the apply-config object is somebody else's.
            InventoryForbiddenError: It may not be read.
        """
        try:
            self._own = self._get(self.own, deadline)
        except ForbiddenError as error:
            raise InventoryForbiddenError(
                f"{error}; the inventory of a Sync is in its namespace: invite syncd into {self.own.namespace} with a "
                "RoleBinding to the ClusterRole syncd-namespace",
                status=error.status,
            ) from None
        if self._own is None:
            return ApplyConfig(self.own.namespace, self.own.name)
        if not _is_elsewhere(self._own):
            return self._read(self._own, deadline)
        place = pointed(self._own)
        if place is None:
            damage = f"its annotation {names.PLACE_ANNOTATION} does not say where the list is"
            return replace(self.home(), damage=damage)
        found = self._get(place, deadline)
        if found is None:
            return self.home()  # the list is lost, as it is when the own ConfigMap is deleted
        self.refuse_foreign(found)
        try:
            return self._read(found, deadline, brought=True)
        except ForeignApplyConfigError:
            return replace(ApplyConfig.bare(found, brought=True), damage="somebody took the list out of it")

    def read_again(self, current: ApplyConfig, deadline: Deadline) -> ApplyConfig:
        """The list that was written a moment ago, after something else of the same object was written.

        Raises:
            ConflictError: Somebody else has changed the list.
        """
        found = self.read(deadline)
        if (found.uid, found.keys, found.damage) != (current.uid, current.keys, current.damage):
            raise ConflictError(f"somebody else has written the apply-config object {current.key.display()}")
        return found

    def home(self) -> ApplyConfig:
        """The own ConfigMap as a place for a list that is elsewhere, or lost."""
        assert self._own is not None  # noqa: S101 - it was read before
        return replace(ApplyConfig.bare(self._own), points=True)

    def candidate(self, key: ObjectKey, deadline: Deadline) -> ApplyConfig | None:
        """An object out of Git as a place for the list, with what it lists already; None if it is not there.

        Raises:
            ForeignApplyConfigError: It holds the list of another Sync.
        """
        found = self._get(key, deadline)
        if found is None:
            return None
        self.refuse_foreign(found)
        if is_apply_config(found) and names.OBJECTS_ANNOTATION in (found["metadata"].get("annotations") or {}):
            return self._read(found, deadline, brought=True)
        return ApplyConfig.bare(found, brought=True)

    def refuse_foreign(self, found: JSONObject) -> None:
        """Leave alone what holds the list of another Sync, whatever this one may take over from that.

        Raises:
            ForeignApplyConfigError: It does.
        """
        annotations = found["metadata"].get("annotations") or {}
        holder = annotations.get(names.SYNC_ANNOTATION, self._sync)
        if holder != self._sync and names.OBJECTS_ANNOTATION in annotations:
            raise ForeignApplyConfigError(
                f"{found.get('kind', '')} {found['metadata']['name']} is the apply-config object of "
                f"{named_owner(found)}; take it out of that Sync first, or bring another one along"
            )

    def create(self, deadline: Deadline) -> ApplyConfig:
        """Make an empty one, so that there is an owner to write onto objects.

        Raises:
            ConflictError: Somebody else made it at the same moment.
        """
        resource = require_kind(self._cluster.discovery, self.own.group_kind)
        document = ApplyConfig(self.own.namespace, self.own.name).document(_NONE, _NONE)
        try:
            try:
                made = self._cluster.client.create(resource, document, timeout=deadline.request)
            except NotFoundError:
                ensure_namespace(self._cluster, self.own.namespace, deadline)
                made = self._cluster.client.create(resource, document, timeout=deadline.request)
        except AlreadyExistsError as error:
            raise ConflictError(f"apply-config object {self.own.display()} was made by somebody else") from error
        self._own = made
        return ApplyConfig.read(made)

    def write(
        self,
        current: ApplyConfig,
        keys: frozenset[ObjectKey],
        final: frozenset[ObjectKey],
        deadline: Deadline,
        *,
        forget: bool = False,
    ) -> ApplyConfig:
        """Make the server's list say ``keys`` in a reconcile that will end with ``final``; no request if it does.

        Args:
            current: What the server says now.
            keys: What it is to list.
            final: What it will list at the end.
            deadline: When to give up.
            forget: Where the list was before does not matter any more.

        Raises:
            ConflictError: Somebody else has written it since ``current`` was read.
        """
        self._pages.delete_strays(deadline)
        if not current.needs_write(keys, final, forget=forget):
            return current
        return self.rewrite(current, keys, final, deadline, forget=forget)

    def rewrite(
        self,
        current: ApplyConfig,
        keys: frozenset[ObjectKey],
        final: frozenset[ObjectKey],
        deadline: Deadline,
        *,
        forget: bool = False,
    ) -> ApplyConfig:
        """The same, whatever the server says already.

        Raises:
            ConflictError: Somebody else has written it since ``current`` was read.
        """
        self._memory.inventory = None  # until it is known how this ends
        resource = require_kind(self._cluster.discovery, current.key.group_kind)
        pages = current.pages_of(keys)
        self._pages.write(current, pages, deadline)
        document = current.document(keys, final, pages, forget=forget)
        patch = Write(WriteMethod.JSON_MERGE_PATCH, document)
        client = self._at(current.key).client
        written = client.patch(resource, current.namespace, current.name, patch, timeout=deadline.request)
        if not current.brought:
            self._own = written
        versions = self._pages.keep_only(current, pages, deadline)
        texts = {page.name: {"data": {"objects": text}} for page, text in pages.items()}
        return self._remember(written, texts, versions, brought=current.brought)

    def move(self, current: ApplyConfig, target: ApplyConfig, deadline: Deadline) -> ApplyConfig:
        """Let another object hold the list from now on.

        The list is written there first, and only then is it told that it is there: killed anywhere in between, it is
        where it was, and the next attempt writes it again.

        Raises:
            ConflictError: Somebody else has written one of the two.
        """
        target = target.taking_over(current)
        written = self.rewrite(target, target.keys, target.keys if current.finished else _NONE, deadline)
        if target.brought:
            assert self._own is not None  # noqa: S101 - it was read before
            body = pointer(target.key, self._own["metadata"]["resourceVersion"])
            self._own = self._patch(self.own, body, deadline)
        return written

    def clear(self, current: ApplyConfig, deadline: Deadline) -> None:
        """Take what is left of the list out of where it was before.

        Raises:
            ConflictError: Somebody else has written there at the same moment.
        """
        for former in current.moved_from:
            self._pages.delete_all(former.uid, former.key, deadline)
            live = self._get(former.key, deadline)
            body = clearing_patch(live) if live and live["metadata"]["uid"] == former.uid else None
            if body is not None:
                self._patch(former.key, body, deadline)

    def remove(self, current: ApplyConfig, deadline: Deadline) -> None:
        """Delete the apply-config object, on the condition that nobody has written it since; its pages go with it."""
        resource = require_kind(self._cluster.discovery, current.key.group_kind)
        write = Write(WriteMethod.DELETE, uid=current.uid, resource_version=current.resource_version)
        with suppress(NotFoundError):
            client = self._at(current.key).client
            client.delete(resource, current.namespace, current.name, write, timeout=deadline.request)

    def approve(self, approval: str, deadline: Deadline) -> None:
        """Write that a person allows prunes: what :func:`syncd.inventory.keylist.approval_of` says of them."""
        body = {"metadata": {"annotations": {names.APPROVAL_ANNOTATION: approval}}}
        self._patch(self.read(deadline).key, body, deadline)

    def _at(self, key: ObjectKey) -> Cluster:
        """Who may read and write an apply-config object."""
        return self._cluster if key == self.own else self._elsewhere

    def _get(self, key: ObjectKey, deadline: Deadline) -> JSONObject | None:
        """The object as the server has it; None if it, or its kind, is certainly not there."""
        discovery = self._cluster.discovery
        if discovery.resources().find(key.group_kind) is None:
            resources = discovery.refresh(min_age=REFRESH_AFTER)
            if resources.find(key.group_kind) is None:
                if resources.complete:
                    return None
                failed = ", ".join(resources.failed)
                raise UnknownKindError(f"whether {key.group_kind} is served is unclear: discovery failed for {failed}")
        resource = require_kind(discovery, key.group_kind)
        try:
            return self._at(key).client.get(resource, key.namespace, key.name, timeout=deadline.request)
        except NotFoundError:
            return None

    def _patch(self, key: ObjectKey, body: JSONObject, deadline: Deadline) -> JSONObject:
        resource = require_kind(self._cluster.discovery, key.group_kind)
        write = Write(WriteMethod.JSON_MERGE_PATCH, body)
        return self._at(key).client.patch(resource, key.namespace, key.name, write, timeout=deadline.request)

    def _read(self, document: JSONObject, deadline: Deadline, *, brought: bool = False) -> ApplyConfig:
        """Read the list, from memory if neither the object nor one of its pages has changed since."""
        resources = self._cluster.discovery.resources()
        metadata, known = document["metadata"], self._memory.inventory
        version = (metadata["uid"], metadata["resourceVersion"])
        named = {page.name for page in pages_named(document)}
        where = ApplyConfig.bare(document, brought=brought)
        same = known is not None and known.version == version and known.resources is resources
        if known and same and (not named or self._pages.versions(where, named, deadline) == known.pages):
            return known.config
        texts, versions = self._pages.read(where, named, deadline)
        return self._remember(document, texts, versions, brought=brought)

    def _remember(
        self, document: JSONObject, pages: Mapping[str, JSONObject], versions: Mapping[str, str], *, brought: bool
    ) -> ApplyConfig:
        """Make sense of a list, and keep it for as long as nothing of it changes."""
        resources = self._cluster.discovery.resources()
        config = ApplyConfig.read(document, pages, brought=brought)
        config = replace(config, keys=modern(config.keys, resources))
        version = (document["metadata"]["uid"], document["metadata"]["resourceVersion"])
        self._memory.inventory = KnownInventory(config, version, versions, resources)
        return config


def _is_elsewhere(own: JSONObject) -> bool:
    return (own["metadata"].get("labels") or {}).get(names.APPLY_CFG_LABEL) == names.ELSEWHERE


def ensure_namespace(cluster: Cluster, name: str, deadline: Deadline) -> None:
    """Make a namespace unless it is there; it belongs to nobody and is never pruned."""
    resource = require_kind(cluster.discovery, _NAMESPACE)
    document: JSONObject = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    try:
        cluster.client.get(resource, "", name, timeout=deadline.request)
    except NotFoundError:
        try:
            cluster.client.create(resource, document, timeout=deadline.request)
        except AlreadyExistsError:
            return
