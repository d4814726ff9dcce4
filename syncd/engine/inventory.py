"""Reading and writing the apply-config object of one Sync."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from syncd.cluster.errors import AlreadyExistsError, ConflictError, NotFoundError
from syncd.engine.kinds import modern, require_kind
from syncd.inventory import ApplyConfig, names
from syncd.inventory.applyconfig import pages_named
from syncd.inventory.keylist import list_hash
from syncd.inventory.pages import document as page_document
from syncd.model import ActionType, GroupKind, JSONObject, OutcomeStatus, Write, WriteMethod

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from syncd.cluster import Cluster
    from syncd.engine.deadline import Deadline
    from syncd.model import Action, ObjectKey, Outcome
    from syncd.spec import Sync

_CONFIG_MAP = GroupKind("", "ConfigMap")
_NAMESPACE = GroupKind("", "Namespace")
_NONE: frozenset[ObjectKey] = frozenset()


class InventoryStore:
    """The apply-config object of one Sync on the server."""

    def __init__(self, cluster: Cluster, sync: Sync) -> None:
        self._cluster = cluster
        self._namespace = sync.metadata.namespace
        self._name = sync.metadata.name
        self._strays: Collection[str] = frozenset()

    def read(self, deadline: Deadline) -> ApplyConfig:
        """What the server has; without a uid when there is none yet."""
        resource = require_kind(self._cluster.discovery, _CONFIG_MAP)
        try:
            found = self._cluster.client.get(resource, self._namespace, self._name, timeout=deadline.request)
        except NotFoundError:
            return ApplyConfig(self._namespace, self._name)
        config = ApplyConfig.read(found, self._read_pages(found, deadline))
        return replace(config, keys=modern(config.keys, self._cluster.discovery.resources()))

    def create(self, deadline: Deadline) -> ApplyConfig:
        """Make an empty one, so that there is an owner to write onto objects.

        Raises:
            ConflictError: Somebody else made it at the same moment.
        """
        empty = ApplyConfig(self._namespace, self._name)
        resource = require_kind(self._cluster.discovery, _CONFIG_MAP)
        document = empty.document(_NONE, _NONE, ())
        try:
            try:
                made = self._cluster.client.create(resource, document, timeout=deadline.request)
            except NotFoundError:
                ensure_namespace(self._cluster, self._namespace, deadline)
                made = self._cluster.client.create(resource, document, timeout=deadline.request)
        except AlreadyExistsError as error:
            raise ConflictError(
                f"apply-config object {self._namespace}/{self._name} was made by somebody else"
            ) from error
        return ApplyConfig.read(made)

    def write(
        self, current: ApplyConfig, keys: frozenset[ObjectKey], final: frozenset[ObjectKey], deadline: Deadline
    ) -> ApplyConfig:
        """Make the server's list say ``keys`` in a reconcile that will end with ``final``; no request if it does.

        Raises:
            ConflictError: Somebody else has written it since ``current`` was read.
        """
        for name in sorted(self._strays):
            self._delete_page(name, deadline)
        self._strays = frozenset()
        if not current.needs_write(keys, final):
            return current
        return self.rewrite(current, keys, final, deadline)

    def rewrite(
        self, current: ApplyConfig, keys: frozenset[ObjectKey], final: frozenset[ObjectKey], deadline: Deadline
    ) -> ApplyConfig:
        """The same, whatever the server says already.

        Raises:
            ConflictError: Somebody else has written it since ``current`` was read.
        """
        resource = require_kind(self._cluster.discovery, _CONFIG_MAP)
        pages = current.pages_of(keys)
        for page in pages.keys() - set(current.pages):
            self._write_page(page_document(page, pages[page], self._namespace, current.reference), deadline)
        patch = Write(WriteMethod.JSON_MERGE_PATCH, current.document(keys, final, pages))
        written = self._cluster.client.patch(resource, self._namespace, self._name, patch, timeout=deadline.request)
        for page in set(current.pages) - pages.keys():
            self._delete_page(page.name, deadline)
        found = {page.name: {"data": {"objects": text}} for page, text in pages.items()}
        return ApplyConfig.read(written, found)

    def _read_pages(self, document: JSONObject, deadline: Deadline) -> dict[str, JSONObject]:
        """Every page of the apply-config object in one list; those that it does not name are left of a killed write."""
        named = {page.name for page in pages_named(document)}
        if not named:
            return {}
        resource = require_kind(self._cluster.discovery, _CONFIG_MAP)
        selector = f"{names.PAGE_LABEL}={document['metadata']['uid']}"
        pages = self._cluster.client.list(resource, self._namespace, selector, timeout=deadline.request)
        found = {page["metadata"]["name"]: page for page in pages}
        self._strays = found.keys() - named
        return found

    def _write_page(self, document: JSONObject, deadline: Deadline) -> None:
        """Make a page; one of that name is there already if an earlier attempt was killed, and is written over."""
        resource = require_kind(self._cluster.discovery, _CONFIG_MAP)
        try:
            self._cluster.client.create(resource, document, timeout=deadline.request)
        except AlreadyExistsError:
            write = Write(WriteMethod.JSON_MERGE_PATCH, document)
            name = document["metadata"]["name"]
            self._cluster.client.patch(resource, self._namespace, name, write, timeout=deadline.request)

    def _delete_page(self, name: str, deadline: Deadline) -> None:
        resource = require_kind(self._cluster.discovery, _CONFIG_MAP)
        with suppress(NotFoundError):
            write = Write(WriteMethod.DELETE)
            self._cluster.client.delete(resource, self._namespace, name, write, timeout=deadline.request)

    def remove(self, current: ApplyConfig, deadline: Deadline) -> None:
        """Delete the apply-config object, on the condition that nobody has written it since; its pages go with it."""
        resource = require_kind(self._cluster.discovery, _CONFIG_MAP)
        write = Write(WriteMethod.DELETE, uid=current.uid, resource_version=current.resource_version)
        with suppress(NotFoundError):
            self._cluster.client.delete(resource, self._namespace, self._name, write, timeout=deadline.request)

    def approve(self, commit: str, candidates: Iterable[ObjectKey], deadline: Deadline) -> None:
        """Write that a person allows what one commit asks to prune, or just these objects if Git has moved on."""
        resource = require_kind(self._cluster.discovery, _CONFIG_MAP)
        approval = f"{commit}/{list_hash(candidates)}"
        patch = {"metadata": {"annotations": {names.APPROVAL_ANNOTATION: approval}}}
        write = Write(WriteMethod.JSON_MERGE_PATCH, patch)
        self._cluster.client.patch(resource, self._namespace, self._name, write, timeout=deadline.request)


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


def union(inventory: ApplyConfig, actions: Iterable[Action]) -> frozenset[ObjectKey]:
    """What has to be listed before anything is applied: all that was, and all that will be."""
    return inventory.keys | {action.key for action in actions if _is_applied(action)}


def foreseen(keys: frozenset[ObjectKey], actions: Iterable[Action]) -> frozenset[ObjectKey]:
    """What the list comes to if everything goes as planned."""
    return keys - {action.key for action in actions if _leaves(action) or action.type is ActionType.PRUNE}


def remaining(keys: frozenset[ObjectKey], outcomes: Iterable[Outcome]) -> frozenset[ObjectKey]:
    """What stays listed: all but what is confirmed to be gone, or was given up."""
    return keys - {
        outcome.action.key
        for outcome in outcomes
        if outcome.status is OutcomeStatus.DONE and (outcome.action.release or outcome.action.reason == "OwnedByOther")
    }


def unfinished(outcomes: Iterable[Outcome]) -> frozenset[ObjectKey]:
    """What is still to leave the list: deletions that were asked for and are not confirmed."""
    return frozenset(outcome.action.key for outcome in outcomes if _leaves(outcome.action) or _wants_prune(outcome))


def _wants_prune(outcome: Outcome) -> bool:
    return outcome.action.type is ActionType.PRUNE and outcome.status is not OutcomeStatus.DONE


def _leaves(action: Action) -> bool:
    return action.type is ActionType.KEEP and (action.release or action.reason == "Terminating")


def _is_applied(action: Action) -> bool:
    if action.type is ActionType.SKIP:
        return not action.blocking
    return action.type in (ActionType.CREATE, ActionType.UPDATE, ActionType.UNCHANGED)
