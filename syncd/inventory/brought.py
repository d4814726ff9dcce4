"""An apply-config object that the rendered output brings along: any kind of object that bears the label.

Its contents are applied like those of any other object. The list in it is not: that is what syncd writes, and what Git
says of it is only checked, and honoured as a promise of what is not to be pruned.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import orjson

from syncd.inventory import names
from syncd.inventory.keylist import decode, list_hash, text_hash
from syncd.model import InvalidInputError, ObjectKey

if TYPE_CHECKING:
    from syncd.model import JSONObject, Manifest

_ROOM = 64 << 10
"""Bytes that its own contents may take: they are in it twice, once as last applied, and the list needs the rest."""


class Brought(NamedTuple):
    """An apply-config object as Git has it."""

    contents: JSONObject
    """The object without the list and all that belongs to it."""
    declared: frozenset[ObjectKey]
    """What the list in Git names, if there is one."""


def is_apply_config(document: JSONObject) -> bool:
    """Whether an object says that it is an apply-config object."""
    return (document["metadata"].get("labels") or {}).get(names.APPLY_CFG_LABEL) == "true"


def read(manifest: Manifest) -> Brought:
    """Check an apply-config object out of Git.

    Raises:
        InvalidInputError: Its hash is not that of its list, its list cannot be read, or it is too large.
    """
    metadata = manifest.body["metadata"]
    text = (metadata.get("annotations") or {}).get(names.OBJECTS_ANNOTATION, "")
    stated = (metadata.get("labels") or {}).get(names.APPLY_HASH_LABEL)
    try:
        declared = decode(text)
    except ValueError as error:
        raise InvalidInputError(f"{manifest.key.display()}: its list of objects: {error}", manifest.origin) from None
    if stated is not None and stated not in (text_hash(text), list_hash(declared)):
        raise InvalidInputError(
            f"{manifest.key.display()}: its label {names.APPLY_HASH_LABEL} is not the hash of its list "
            f"({list_hash(declared)}): somebody changed one and not the other; generate both anew, or leave them out",
            manifest.origin,
        )
    contents = without_list(manifest.body)
    if len(orjson.dumps(contents)) > _ROOM:
        raise InvalidInputError(
            f"{manifest.key.display()} is an apply-config object and larger than {_ROOM >> 10} KiB, which leaves no "
            "room for its list; put its contents into an object of their own",
            manifest.origin,
        )
    return Brought(contents, declared)


def without_list(document: JSONObject) -> JSONObject:
    """An apply-config object without what is syncd's to write."""
    metadata = dict(document["metadata"])
    for field, unwanted in (("annotations", names.BOOKKEEPING), ("labels", {names.APPLY_HASH_LABEL})):
        if metadata.get(field):
            metadata[field] = {key: value for key, value in metadata[field].items() if key not in unwanted}
    return {**document, "metadata": metadata}


def clearing_patch(live: JSONObject) -> JSONObject | None:
    """The JSON merge patch that takes the list off what is no apply-config object any more; None if there is none."""
    metadata = live["metadata"]
    stale = names.BOOKKEEPING & (metadata.get("annotations") or {}).keys() - {names.PLACE_ANNOTATION}
    if not stale:
        return None
    return {
        "metadata": {
            "resourceVersion": metadata["resourceVersion"],
            "labels": {names.APPLY_HASH_LABEL: None},
            "annotations": dict.fromkeys(sorted(stale)),
        }
    }


def pointer(place: ObjectKey, version: str) -> JSONObject:
    """The JSON merge patch that lets syncd's own ConfigMap say where the list is, and nothing else."""
    gone = dict.fromkeys(sorted(names.BOOKKEEPING))
    return {
        "metadata": {
            "resourceVersion": version,
            "labels": {names.APPLY_CFG_LABEL: names.ELSEWHERE, names.APPLY_HASH_LABEL: None},
            "annotations": {**gone, names.PLACE_ANNOTATION: str(place)},
        }
    }


def pointed(own: JSONObject) -> ObjectKey | None:
    """Where syncd's own ConfigMap says that the list is; None if it holds the list itself."""
    metadata = own["metadata"]
    if (metadata.get("labels") or {}).get(names.APPLY_CFG_LABEL) != names.ELSEWHERE:
        return None
    try:
        return ObjectKey.parse((metadata.get("annotations") or {}).get(names.PLACE_ANNOTATION, ""))
    except ValueError:
        return None
