"""The pages of an inventory on the server."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from syncd.cluster.errors import AlreadyExistsError, NotFoundError
from syncd.engine.kinds import require_kind
from syncd.inventory.names import PAGE_LABEL
from syncd.inventory.pages import document
from syncd.model import GroupKind, Write, WriteMethod

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from syncd.cluster import Client, Cluster, Resource
    from syncd.engine.deadline import Deadline
    from syncd.inventory import ApplyConfig
    from syncd.inventory.pages import Page
    from syncd.model import JSONObject, ObjectKey

_CONFIG_MAP = GroupKind("", "ConfigMap")


class PageStore:
    """The pages of one Sync's inventory.

    Args:
        cluster_of: Who may read and write the pages of an apply-config object.
        namespace: Where the pages of an apply-config object are that lives in no namespace.
    """

    def __init__(self, cluster_of: Callable[[ObjectKey], Cluster], namespace: str) -> None:
        self._cluster_of = cluster_of
        self._namespace = namespace
        self._versions: dict[str, str] = {}
        self._strays: dict[str, ObjectKey] = {}
        """Pages that nothing names, by name, with whose they are: left of a write that was killed."""

    def read(
        self, config: ApplyConfig, named: Collection[str], deadline: Deadline
    ) -> tuple[dict[str, JSONObject], dict[str, str]]:
        """Read the pages of an apply-config object.

        Returns:
            Those that it names, as far as they are there, and their resourceVersions.
        """
        if not named:
            return {}, self.versions(config, named, deadline)  # which still finds what a killed write left
        resource, client = self._access(config.key)
        place = self._place(config.key)
        listed = client.list(resource, place, _selector(config.uid), timeout=deadline.request)
        found = {page["metadata"]["name"]: page for page in listed}
        self._note(config, found, named)
        return {name: page for name, page in found.items() if name in named}, dict(self._versions)

    def versions(self, config: ApplyConfig, named: Collection[str], deadline: Deadline) -> dict[str, str]:
        """The resourceVersions of the pages that an apply-config object names, as far as they are there."""
        resource, client = self._access(config.key)
        place = self._place(config.key)
        listed = client.list_metadata(resource, place, _selector(config.uid), timeout=deadline.request)
        self._note(config, {page["metadata"]["name"]: page for page in listed}, named)
        return dict(self._versions)

    def write(self, config: ApplyConfig, pages: Mapping[Page, str], deadline: Deadline) -> None:
        """Make the pages that are not there yet.

        One of that name is there already if an earlier attempt was killed, and is written over.
        """
        (resource, client), place = self._access(config.key), self._place(config.key)
        for page in pages.keys() - set(config.pages):
            body = document(page, pages[page], place, config.reference)
            try:
                made = client.create(resource, body, timeout=deadline.request)
            except AlreadyExistsError:
                write = Write(WriteMethod.JSON_MERGE_PATCH, body)
                made = client.patch(resource, place, page.name, write, timeout=deadline.request)
            self._versions[page.name] = made["metadata"]["resourceVersion"]

    def keep_only(self, config: ApplyConfig, pages: Collection[Page], deadline: Deadline) -> dict[str, str]:
        """Delete the pages that the apply-config object does not name any more, and give the versions of the others.

        What it names and was not found among its pages is none, whoever wrote the name there.
        """
        names = {page.name for page in pages}
        for page in config.pages:
            if page.name not in names and page.name in self._versions:
                self._delete(page.name, config.key, deadline)
        self._versions = {name: version for name, version in self._versions.items() if name in names}
        return dict(self._versions)

    def delete_strays(self, deadline: Deadline) -> None:
        """Delete what nothing names."""
        for name, owner in sorted(self._strays.items()):
            self._delete(name, owner, deadline)
        self._strays = {}

    def delete_all(self, uid: str, owner: ObjectKey, deadline: Deadline) -> None:
        """Delete every page of an apply-config object that is none any more."""
        resource, client = self._access(owner)
        pages = client.list_metadata(resource, self._place(owner), _selector(uid), timeout=deadline.request)
        for page in list(pages):
            self._delete(page["metadata"]["name"], owner, deadline)

    def _note(self, config: ApplyConfig, found: Mapping[str, JSONObject], named: Collection[str]) -> None:
        self._versions = {name: found[name]["metadata"]["resourceVersion"] for name in found.keys() & set(named)}
        self._strays = dict.fromkeys(found.keys() - set(named), config.key)

    def _delete(self, name: str, owner: ObjectKey, deadline: Deadline) -> None:
        resource, client = self._access(owner)
        with suppress(NotFoundError):
            write = Write(WriteMethod.DELETE)
            client.delete(resource, self._place(owner), name, write, timeout=deadline.request)

    def _place(self, owner: ObjectKey) -> str:
        return owner.namespace or self._namespace

    def _access(self, owner: ObjectKey) -> tuple[Resource, Client]:
        cluster = self._cluster_of(owner)
        return require_kind(cluster.discovery, _CONFIG_MAP), cluster.client


def _selector(uid: str) -> str:
    return f"{PAGE_LABEL}={uid}"
