"""Which kinds the server serves at this moment."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from syncd.sandbox.kinds import BUILT_IN, ServedKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from syncd.sandbox.kinds import GroupResource

_KUBERNETES_VERSION = re.compile(r"v([1-9]\d*)(?:(alpha|beta)([1-9]\d*))?")
_STAGES = (None, "beta", "alpha")


class Registry:
    """The served kinds. Written under the store's lock; reads see one state or the next.

    Attributes:
        generation: Grows with every change, so that documents made from the registry can be cached.
    """

    def __init__(self) -> None:
        self.generation = 0
        self._custom: dict[str, tuple[ServedKind, ...]] = {}
        self._by_path: dict[tuple[str, str, str], ServedKind] = {}
        self._stored: dict[GroupResource, ServedKind] = {}
        self._rebuild()

    def set_custom(self, definition: str, kinds: tuple[ServedKind, ...]) -> None:
        """Serve what a CustomResourceDefinition brings; nothing when ``kinds`` is empty.

        Documents are made anew even when the kinds are the same: their schemas may have changed.
        """
        if not kinds and definition not in self._custom:
            return
        if kinds:
            self._custom[definition] = kinds
        else:
            self._custom.pop(definition, None)
        self._rebuild()

    def _rebuild(self) -> None:
        kinds = (*BUILT_IN, *(kind for found in self._custom.values() for kind in found))
        self._by_path = {(kind.group, kind.version, kind.plural): kind for kind in kinds}
        self._stored = {}
        for kind in kinds:
            if kind.api_version == kind.stored_api_version:
                self._stored[kind.stored_in] = kind
        for kind in kinds:  # a version that is stored may be one that is not served
            self._stored.setdefault(kind.stored_in, kind)
        self.generation += 1

    def find(self, group: str, version: str, plural: str) -> ServedKind | None:
        """The kind at a path."""
        return self._by_path.get((group, version, plural))

    def serves(self, group: str) -> bool:
        """Whether there is such a group."""
        return any(kind.group == group for kind in self)

    def stored(self, resource: GroupResource) -> ServedKind | None:
        """The kind whose objects are stored there, in the version that they are stored in."""
        return self._stored.get(resource)

    def stored_kinds(self) -> tuple[ServedKind, ...]:
        """One for each resource: in the version that its objects are stored in."""
        return tuple(self._stored.values())

    def of_kind(self, api_version: str, kind: str) -> ServedKind | None:
        """The kind that an object names."""
        group, _, version = api_version.rpartition("/")
        return next((k for k in self if (k.group, k.version, k.kind) == (group, version, kind)), None)

    def __iter__(self) -> Iterator[ServedKind]:
        return iter(self._by_path.values())

    def groups(self) -> dict[str, dict[str, list[ServedKind]]]:
        """Kinds by group and version: built-in groups as listed, then custom ones; preferred versions first."""
        groups: dict[str, dict[str, list[ServedKind]]] = {}
        for kind in self:
            groups.setdefault(kind.group, {}).setdefault(kind.version, []).append(kind)
        custom = {kind.group for kinds in self._custom.values() for kind in kinds}
        return {
            group: dict(sorted(versions.items(), key=_by_priority)) if group in custom else versions
            for group, versions in groups.items()
        }


def _by_priority(entry: tuple[str, object]) -> tuple[int, int, int, str]:
    """Versions of custom kinds: stable before beta before alpha, newer before older, then all other names."""
    found = _KUBERNETES_VERSION.fullmatch(entry[0])
    if found is None:
        return len(_STAGES), 0, 0, entry[0]
    major, stage, minor = found.groups()
    return _STAGES.index(stage), -int(major), -int(minor or 0), ""
