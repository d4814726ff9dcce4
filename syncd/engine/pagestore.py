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
    from collections.abc import Collection, Mapping

    from syncd.cluster import Cluster, Resource
    from syncd.engine.deadline import Deadline
    from syncd.inventory import ApplyConfig
    from syncd.inventory.pages import Page
    from syncd.model import JSONObject

_CONFIG_MAP = GroupKind("", "ConfigMap")


class PageStore:
    """The pages of one Sync's inventory.

    Args:
        cluster: Where they are.
        namespace: Where the pages of an apply-config object are that lives in no namespace.
    """

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self._cluster = cluster
        self._namespace = namespace
        self._versions: dict[str, str] = {}
        self._strays: dict[str, str] = {}
        """Pages that nothing names, by name, with their namespaces: left of a write that was killed."""

    def read(
        self, config: ApplyConfig, named: Collection[str], deadline: Deadline
    ) -> tuple[dict[str, JSONObject], dict[str, str]]:
        """Read the pages of an apply-config object.

        Returns:
            Those that it names, as far as they are there, and their resourceVersions.
        """
        if not named:
            return {}, self.versions(config, named, deadline)  # which still finds what a killed write left
        listed = self._cluster.client.list(
            self._resource(), self._place(config), _selector(config.uid), timeout=deadline.request
        )
        found = {page["metadata"]["name"]: page for page in listed}
        self._note(config, found, named)
        return {name: page for name, page in found.items() if name in named}, dict(self._versions)

    def versions(self, config: ApplyConfig, named: Collection[str], deadline: Deadline) -> dict[str, str]:
        """The resourceVersions of the pages that an apply-config object names, as far as they are there."""
        listed = self._cluster.client.list_metadata(
            self._resource(), self._place(config), _selector(config.uid), timeout=deadline.request
        )
        self._note(config, {page["metadata"]["name"]: page for page in listed}, named)
        return dict(self._versions)

    def write(self, config: ApplyConfig, pages: Mapping[Page, str], deadline: Deadline) -> None:
        """Make the pages that are not there yet.

        One of that name is there already if an earlier attempt was killed, and is written over.
        """
        resource, place = self._resource(), self._place(config)
        for page in pages.keys() - set(config.pages):
            body = document(page, pages[page], place, config.reference)
            try:
                made = self._cluster.client.create(resource, body, timeout=deadline.request)
            except AlreadyExistsError:
                write = Write(WriteMethod.JSON_MERGE_PATCH, body)
                made = self._cluster.client.patch(resource, place, page.name, write, timeout=deadline.request)
            self._versions[page.name] = made["metadata"]["resourceVersion"]

    def keep_only(self, config: ApplyConfig, pages: Collection[Page], deadline: Deadline) -> dict[str, str]:
        """Delete the pages that the apply-config object does not name any more, and give the versions of the others."""
        names = {page.name for page in pages}
        for page in config.pages:
            if page.name not in names:
                self._delete(page.name, self._place(config), deadline)
        self._versions = {name: version for name, version in self._versions.items() if name in names}
        return dict(self._versions)

    def delete_strays(self, deadline: Deadline) -> None:
        """Delete what nothing names."""
        for name, namespace in sorted(self._strays.items()):
            self._delete(name, namespace, deadline)
        self._strays = {}

    def delete_all(self, uid: str, namespace: str, deadline: Deadline) -> None:
        """Delete every page of an apply-config object that is none any more."""
        place = namespace or self._namespace
        pages = self._cluster.client.list_metadata(self._resource(), place, _selector(uid), timeout=deadline.request)
        for page in list(pages):
            self._delete(page["metadata"]["name"], place, deadline)

    def _note(self, config: ApplyConfig, found: Mapping[str, JSONObject], named: Collection[str]) -> None:
        place = self._place(config)
        self._versions = {name: found[name]["metadata"]["resourceVersion"] for name in found.keys() & set(named)}
        self._strays = dict.fromkeys(found.keys() - set(named), place)

    def _delete(self, name: str, namespace: str, deadline: Deadline) -> None:
        with suppress(NotFoundError):
            write = Write(WriteMethod.DELETE)
            self._cluster.client.delete(self._resource(), namespace, name, write, timeout=deadline.request)

    def _place(self, config: ApplyConfig) -> str:
        return config.namespace or self._namespace

    def _resource(self) -> Resource:
        return require_kind(self._cluster.discovery, _CONFIG_MAP)


def _selector(uid: str) -> str:
    return f"{PAGE_LABEL}={uid}"
