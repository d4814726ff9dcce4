"""How a kind is served, as of now: discovery is asked again, at a bounded pace, before a kind is called unknown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.model import GroupKind, SyncdError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from syncd.cluster import ApiResources, Discovery, Resource
    from syncd.model import ObjectKey

REFRESH_AFTER = 5.0
"""Seconds for which a discovery that does not list a kind is believed."""


class UnknownKindError(SyncdError):
    """The API server does not serve a kind."""

    reason = "UnknownKind"


def look_up(discovery: Discovery, api_version: str, kind: str) -> Resource | None:
    """The kind in just this version, or None when the server does not serve it."""
    group, _, version = api_version.rpartition("/")
    found = discovery.resources().find_version(group, version, kind)
    return found or discovery.refresh(min_age=REFRESH_AFTER).find_version(group, version, kind)


def modern(keys: Iterable[ObjectKey], resources: ApiResources) -> frozenset[ObjectKey]:
    """The keys, those of a group that is no longer served under the group that the same objects went to."""
    moved: dict[GroupKind, str] = {}
    for kind in {key.group_kind for key in keys}:
        if resources.find(kind) is None and (found := resources.find_moved(kind)) is not None:
            moved[kind] = found.group
    return frozenset(key._replace(group=moved.get(key.group_kind, key.group)) for key in keys)


def require(discovery: Discovery, api_version: str, kind: str) -> Resource:
    """The kind in just this version.

    Raises:
        UnknownKindError: The server does not serve it.
    """
    found = look_up(discovery, api_version, kind)
    if found is None:
        raise UnknownKindError(f"the API server does not serve {kind} in {api_version}")
    return found


def require_kind(discovery: Discovery, kind: GroupKind) -> Resource:
    """The kind in the version that the server prefers.

    Raises:
        UnknownKindError: The server does not serve it.
    """
    found = discovery.resources().find(kind) or discovery.refresh(min_age=REFRESH_AFTER).find(kind)
    if found is None:
        raise UnknownKindError(f"the API server does not serve {kind}")
    return found
