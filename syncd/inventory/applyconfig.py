"""The apply-config object as a value: read, validated, widened and trimmed.

Two hashes guard it. ``apply-hash`` is the prune design's: while a reconcile is under way it already is the hash of the
list that the reconcile will end with, so the two agree only once pruning has finished. ``list-hash`` is always that of
the list as it stands; if it disagrees, somebody else has edited the list, and a list in doubt prunes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from syncd.inventory import names
from syncd.inventory.former import Former
from syncd.inventory.former import read as read_former
from syncd.inventory.keylist import decode, encode, list_hash, readable
from syncd.inventory.ownership import Owner
from syncd.inventory.pages import Page, names_pages, spread
from syncd.inventory.pages import read as read_pages
from syncd.model import JSONObject, ObjectKey, SyncdError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

ANNOTATIONS_LIMIT = 262144
"""Bytes that Kubernetes allows for all keys and values of annotations of one object."""
_RESERVE = 4096
"""Bytes left to the other annotations of the apply-config object."""
LIST_LIMIT = ANNOTATIONS_LIMIT - _RESERVE
"""Bytes that the list itself may take."""
BROUGHT_SHARE = 2
"""An object that came along from Git has contents of its own to remember: its list gets this part of the room."""


class ForeignApplyConfigError(SyncdError):
    """An object with the apply-config object's name is there, and is none."""

    reason = "ForeignApplyConfig"


_SHORTEST_APPROVAL = 7
"""Characters of a commit id, as Git abbreviates them."""
_IN_DOUBT = "in-doubt"
"""Stands where the list's hash should, and matches none, until a person has looked and taken it away."""


@dataclass(frozen=True, slots=True)
class ApplyConfig:
    """What the apply-config object on the server says.

    Attributes:
        namespace: Its namespace.
        name: Its name.
        uid: The owner that every applied object names; "" while it is not on the server.
        resource_version: The state that the next write builds on; "" while it is not on the server.
        keys: The objects that were, or may have been, applied.
        finished: Whether the reconcile that wrote it came to its end; else a listed object may never have existed.
        damage: Why the list cannot be trusted; "" if it can. A damaged list prunes nothing.
        pages: Where the list is, if it is too long for one annotation.
        approval: Which prune a person has approved, as written; "" if none.
        api_version: The version of its kind that it is written in.
        kind: Its kind: a ConfigMap, unless it came along from Git.
        brought: Whether it came along from Git, and has contents besides the list.
        moved_from: Where the list was before, as long as an object may still name that as its owner.
        points: Whether it is syncd's own ConfigMap and says that the list is elsewhere; the next write ends that.
    """

    namespace: str
    name: str
    uid: str = ""
    resource_version: str = ""
    keys: frozenset[ObjectKey] = frozenset()
    finished: bool = False
    damage: str = ""
    pages: tuple[Page, ...] = ()
    approval: str = ""
    api_version: str = "v1"
    kind: str = "ConfigMap"
    brought: bool = False
    moved_from: tuple[Former, ...] = ()
    points: bool = False

    @property
    def key(self) -> ObjectKey:
        """Its own key, which its list does not hold."""
        return ObjectKey(self.namespace, self.api_version.rpartition("/")[0], self.kind, self.name)

    @classmethod
    def bare(cls, document: JSONObject, *, brought: bool = False) -> ApplyConfig:
        """The object as the server has it, apart from its list."""
        metadata = document["metadata"]
        return cls(
            metadata.get("namespace") or "",
            metadata["name"],
            metadata["uid"],
            metadata["resourceVersion"],
            api_version=document.get("apiVersion", "v1"),
            kind=document.get("kind", "ConfigMap"),
            brought=brought,
        )

    @classmethod
    def read(
        cls, document: JSONObject, pages: Mapping[str, JSONObject] | None = None, *, brought: bool = False
    ) -> ApplyConfig:
        """Read and validate the object as the server has it; a list that cannot be trusted becomes ``damage``.

        Args:
            document: The apply-config object.
            pages: Its pages by name, as far as they are there: those that :func:`pages_named` gives.
            brought: Whether it came along from Git.

        Raises:
            ForeignApplyConfigError: It bears neither the label nor the list, so it is somebody else's.
        """
        metadata = document["metadata"]
        labels = metadata.get("labels") or {}
        annotations = metadata.get("annotations") or {}
        bare = replace(
            cls.bare(document, brought=brought),
            approval=annotations.get(names.APPROVAL_ANNOTATION, ""),
            moved_from=read_former(annotations.get(names.MOVED_ANNOTATION, "")),
        )
        text = annotations.get(names.OBJECTS_ANNOTATION)
        if labels.get(names.APPLY_CFG_LABEL) != "true":
            if text is None:
                raise ForeignApplyConfigError(
                    f"{document.get('kind', 'object')} {bare.namespace}/{bare.name} is not an apply-config object; "
                    "rename it or the Sync"
                )
            return replace(bare, keys=readable(text), damage=f"it lacks the label {names.APPLY_CFG_LABEL}=true")
        if text is None:
            return replace(bare, damage=f"it lacks the annotation {names.OBJECTS_ANNOTATION}")
        try:
            bare = replace(bare, pages=names_pages(annotations.get(names.PAGES_ANNOTATION, "")))
            keys = decode(text)
        except ValueError as error:
            return replace(bare, keys=readable(text), damage=f"its list is damaged: {error}")
        paged, damage = read_pages(bare.pages, pages or {})
        keys |= paged
        actual = list_hash(keys)
        promised = labels.get(names.APPLY_HASH_LABEL, actual)
        recorded = annotations.get(names.LIST_HASH_ANNOTATION, promised)
        if not damage and actual != recorded:
            damage = "its list was changed by somebody else: the hash does not match"
        return replace(bare, keys=keys, finished=not damage and actual == promised, damage=damage)

    def document(
        self,
        keys: frozenset[ObjectKey],
        final: frozenset[ObjectKey],
        pages: Iterable[Page] = (),
        *,
        forget: bool = False,
    ) -> JSONObject:
        """What to write: the list ``keys``, in a reconcile that will end with the list ``final``.

        It is a whole object to create, or a JSON merge patch on the condition of ``resource_version``. A damaged list
        may grow, since nothing may be created that is not listed, but what was in doubt stays in doubt until a person
        has looked.

        Args:
            keys: The list.
            final: What it will come to.
            pages: The pages that hold it: those of :meth:`pages_of`.
            forget: Where the list was before does not matter any more.
        """
        pages = tuple(pages)
        annotations: dict[str, str | None] = {
            names.OBJECTS_ANNOTATION: "" if pages else encode(keys),
            names.LIST_HASH_ANNOTATION: _IN_DOUBT if self.damage else list_hash(keys),
        }
        if pages or self.pages:
            annotations[names.PAGES_ANNOTATION] = "".join(f"{page}\n" for page in sorted(pages)) or None
        if self.moved_from:
            annotations[names.MOVED_ANNOTATION] = (
                None if forget else "".join(f"{former}\n" for former in self.moved_from)
            )
        if self.points:
            annotations[names.PLACE_ANNOTATION] = None
        if self.approval:  # one that has been made use of goes
            annotations[names.APPROVAL_ANNOTATION] = self.approval if self.keys <= keys else None
        metadata: JSONObject = {
            "name": self.name,
            **({"namespace": self.namespace} if self.namespace else {}),
            "labels": {names.APPLY_CFG_LABEL: "true", names.APPLY_HASH_LABEL: list_hash(final)},
            "annotations": annotations,
        }
        if self.resource_version:
            metadata["resourceVersion"] = self.resource_version
        return {"apiVersion": self.api_version, "kind": self.kind, "metadata": metadata}

    def pages_of(self, keys: frozenset[ObjectKey]) -> dict[Page, str]:
        """The pages that a list needs, each with its text; none if it fits into the apply-config object itself."""
        limit = LIST_LIMIT // BROUGHT_SHARE if self.brought else LIST_LIMIT
        fits = sum(len(str(key).encode()) + 1 for key in keys) <= limit
        return {} if fits else spread(keys, self.name, self.uid)

    @property
    def reference(self) -> JSONObject:
        """The reference by which pages go with the apply-config object."""
        return {"apiVersion": self.api_version, "kind": self.kind, "name": self.name, "uid": self.uid}

    def approves(self, commit: str, candidates: Collection[ObjectKey]) -> bool:
        """Whether a person has approved that these objects are pruned, or all that this commit asks to prune."""
        approved = [part for part in self.approval.strip().split("/") if len(part) >= _SHORTEST_APPROVAL]
        return any(commit.startswith(part) for part in approved) or list_hash(candidates) in approved

    def needs_write(self, keys: frozenset[ObjectKey], final: frozenset[ObjectKey], *, forget: bool = False) -> bool:
        """Whether the server does not already say just this."""
        if not self.uid or (forget and self.moved_from):
            return True
        return keys != self.keys or self.finished != (keys == final)

    def taking_over(self, current: ApplyConfig) -> ApplyConfig:
        """This apply-config object as it will be with the list of ``current``, which it is about to succeed.

        What it lists already stays listed, and so does ``current`` itself if it came along from Git: it is an object
        like any other from now on. The list is to be written before anybody is told that it is here.
        """
        keys = current.keys | self.keys | ({current.key} if current.brought else frozenset())
        before = (*current.moved_from, Former(current.uid, current.key))
        return replace(
            self,
            keys=keys - {self.key},
            finished=current.finished,
            damage=current.damage or self.damage,
            approval=current.approval or self.approval,
            moved_from=tuple(former for former in before if former.uid != self.uid),
        )

    def owner(self, sync: str) -> Owner:
        """The owner that it is to the objects of a Sync, given by ``namespace/name``."""
        return Owner(self.uid, sync, frozenset(former.uid for former in self.moved_from))


def pages_named(document: JSONObject) -> tuple[Page, ...]:
    """The pages that an apply-config object names; none if it makes no sense, which :meth:`ApplyConfig.read` tells."""
    annotations = document["metadata"].get("annotations") or {}
    try:
        return names_pages(annotations.get(names.PAGES_ANNOTATION, ""))
    except ValueError:
        return ()
