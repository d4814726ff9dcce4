"""What an API server serves: kinds, their resources and versions.

One or two requests where the server knows aggregated discovery (Kubernetes 1.26 and newer), one for each group and
version where it does not. What cannot be discovered is said, not left out silently: for a kind that is missing from an
incomplete answer nothing may be concluded.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import quote

from syncd.cluster.errors import ApiError, MalformedResponseError
from syncd.model import GroupKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from syncd.cluster.transport import Transport
    from syncd.model import JSONObject

_AGGREGATED: Final = "application/json;g=apidiscovery.k8s.io;v={};as=APIGroupDiscoveryList"
ACCEPT: Final = f"{_AGGREGATED.format('v2')},{_AGGREGATED.format('v2beta1')},application/json"

MOVED: Final[Mapping[GroupKind, GroupKind]] = {
    GroupKind("extensions", "DaemonSet"): GroupKind("apps", "DaemonSet"),
    GroupKind("extensions", "Deployment"): GroupKind("apps", "Deployment"),
    GroupKind("extensions", "Ingress"): GroupKind("networking.k8s.io", "Ingress"),
    GroupKind("extensions", "NetworkPolicy"): GroupKind("networking.k8s.io", "NetworkPolicy"),
    GroupKind("extensions", "PodSecurityPolicy"): GroupKind("policy", "PodSecurityPolicy"),
    GroupKind("extensions", "ReplicaSet"): GroupKind("apps", "ReplicaSet"),
    GroupKind("", "Event"): GroupKind("events.k8s.io", "Event"),
}
"""Kinds that went to another group: both names mean the same stored objects, with the same uids."""


class Resource(NamedTuple):
    """How a kind is served in one version."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool
    verbs: frozenset[str] = frozenset()

    @property
    def group_kind(self) -> GroupKind:
        """The kind in its group."""
        return GroupKind(self.group, self.kind)

    @property
    def api_version(self) -> str:
        """``group/version``, or the version alone for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str = "", name: str = "") -> str:
        """The path of one object, or of the collection (in all namespaces when ``namespace`` is empty)."""
        path = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        if namespace and self.namespaced:
            path += f"/namespaces/{quote(namespace, safe='')}"
        path += f"/{self.plural}"
        return f"{path}/{quote(name, safe=':')}" if name else path  # RBAC names hold colons


class Version(NamedTuple):
    """One version of one group."""

    group: str
    version: str
    resources: tuple[Resource, ...]
    problem: str = ""
    """Why its resources are not known, or not for sure; "" when they are."""

    @property
    def api_version(self) -> str:
        """``group/version``."""
        return f"{self.group}/{self.version}" if self.group else self.version


@dataclass(frozen=True)
class ApiResources:
    """Everything that a server serves, at one time.

    Attributes:
        versions: By group, each group's preferred version first.
        failed: The ``group/version`` of each that could not be discovered for sure.
    """

    versions: tuple[Version, ...]
    failed: tuple[str, ...] = field(init=False)
    _preferred: dict[GroupKind, Resource] = field(init=False, repr=False, compare=False)
    _by_version: dict[tuple[str, str, str], Resource] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        preferred: dict[GroupKind, Resource] = {}
        by_version: dict[tuple[str, str, str], Resource] = {}
        for resource in self:
            preferred.setdefault(resource.group_kind, resource)
            by_version.setdefault((resource.group, resource.version, resource.kind), resource)
        object.__setattr__(self, "_preferred", preferred)
        object.__setattr__(self, "_by_version", by_version)
        object.__setattr__(self, "failed", tuple(part.api_version for part in self.versions if part.problem))

    def __iter__(self) -> Iterator[Resource]:
        """Every resource in every version, without subresources."""
        for version in self.versions:
            yield from version.resources

    @property
    def complete(self) -> bool:
        """Whether a kind that is not found is surely not served."""
        return not self.failed

    def find(self, kind: GroupKind) -> Resource | None:
        """How the kind is served in the preferred of the versions that have it."""
        return self._preferred.get(kind)

    def find_version(self, group: str, version: str, kind: str) -> Resource | None:
        """How the kind is served in this version."""
        return self._by_version.get((group, version, kind))

    def find_moved(self, kind: GroupKind) -> Resource | None:
        """Under what other group the same stored objects are served; None for kinds that never moved."""
        for old, new in MOVED.items():
            if kind in (old, new):
                return self.find(new if kind == old else old)
        return None

    def failure(self, group: str) -> str:
        """Why not everything in this group is known; "" when it is.

        A group that is not there at all may only be missing because discovery is incomplete: compare ``complete``.
        """
        return "; ".join(
            f"{part.api_version}: {part.problem}" for part in self.versions if part.group == group and part.problem
        )


class _Cached(NamedTuple):
    """An aggregated answer and the mark by which the server can say that it has not changed."""

    etag: str
    versions: tuple[Version, ...]


class Discovery:
    """Asks an API server what it serves, and remembers it until told to ask again. Safe to use from many threads."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._lock = threading.Lock()
        self._known: ApiResources | None = None
        self._asked_at = float("-inf")
        self._cached: dict[str, _Cached] = {}

    def resources(self) -> ApiResources:
        """What the server serves, as of the last time it was asked.

        Raises:
            ApiError: It was never asked, and cannot be now.
        """
        return self._known or self.refresh(min_age=1.0)

    def refresh(self, *, min_age: float = 0.0) -> ApiResources:
        """Ask again, unless what is known is younger than ``min_age`` seconds.

        Raises:
            ApiError: The server cannot be asked at all. What was known before stays known.
        """
        called_at = time.monotonic()
        with self._lock:
            # Whoever waited while another thread asked has a fresh answer too.
            if self._known is not None and (self._asked_at >= called_at or called_at - self._asked_at < min_age):
                return self._known
            asked_at = time.monotonic()
            versions = (*self._root("/api"), *self._root("/apis"))
            self._known = ApiResources(_carry_over(self._known, versions))
            self._asked_at = asked_at
            return self._known

    def _root(self, path: str) -> tuple[Version, ...]:
        cached = self._cached.get(path)
        headers = {"If-None-Match": cached.etag} if cached else None
        response = self._transport.request("GET", path, accept=ACCEPT, headers=headers)
        if response.status == 304 and cached:
            return cached.versions
        document = response.object()
        try:
            if document.get("kind") != "APIGroupDiscoveryList":
                return tuple(self._classic(document))
            versions = tuple(_aggregated(document))
        except (KeyError, TypeError, AttributeError) as error:
            raise MalformedResponseError(f"the server's discovery at {path} makes no sense: {error!r}") from None
        if etag := response.headers.get("ETag"):
            self._cached[path] = _Cached(etag, versions)
        return versions

    def _classic(self, document: JSONObject) -> Iterator[Version]:
        """Read each group and version by itself, as servers before aggregated discovery want it."""
        if document.get("kind") == "APIVersions":
            for version in document["versions"]:
                yield self._classic_version("", version, f"/api/{version}")
            return
        for group in document.get("groups") or ():
            preferred = (group.get("preferredVersion") or {}).get("version")
            names = [entry["version"] for entry in group["versions"]]
            for version in sorted(names, key=lambda name: name != preferred):
                yield self._classic_version(group["name"], version, f"/apis/{group['name']}/{version}")

    def _classic_version(self, group: str, version: str, path: str) -> Version:
        try:
            document = self._transport.request("GET", path).object()
            return Version(group, version, tuple(_classic_resources(group, version, document)))
        except ApiError as error:
            return Version(group, version, (), str(error))


def _aggregated(document: JSONObject) -> Iterator[Version]:
    for item in document["items"]:
        group = (item.get("metadata") or {}).get("name") or ""
        for part in item["versions"]:
            version = part["version"]
            resources = tuple(
                Resource(
                    group=group,
                    version=version,
                    kind=resource["responseKind"]["kind"],
                    plural=resource["resource"],
                    namespaced=resource["scope"] == "Namespaced",
                    verbs=frozenset(resource.get("verbs") or ()),
                )
                for resource in part.get("resources") or ()
                if resource.get("responseKind")
            )
            stale = part.get("freshness") == "Stale"
            yield Version(group, version, resources, "its API server does not answer" if stale else "")


def _classic_resources(group: str, version: str, document: JSONObject) -> Iterator[Resource]:
    for resource in document.get("resources") or ():
        if "/" not in resource["name"]:
            yield Resource(
                group=group,
                version=version,
                kind=resource["kind"],
                plural=resource["name"],
                namespaced=bool(resource["namespaced"]),
                verbs=frozenset(resource.get("verbs") or ()),
            )


def _carry_over(before: ApiResources | None, versions: Iterable[Version]) -> tuple[Version, ...]:
    """Give a version that could not be discovered now what was known of it before; it stays marked as doubtful."""
    known = {part.api_version: part.resources for part in before.versions} if before else {}
    return tuple(
        part._replace(resources=known.get(part.api_version, ())) if part.problem and not part.resources else part
        for part in versions
    )
