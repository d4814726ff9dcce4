"""One object as the cluster has it, held small."""

from __future__ import annotations

import sys
import zlib
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

import orjson

from syncd.inventory.names import APPLY_ID_LABEL, OWNER_ANNOTATION
from syncd.model import ObjectKey

if TYPE_CHECKING:
    from syncd.model import JSONObject

_LEVEL = 1
_DICTIONARY_LIMIT = 32 << 10


class LiveObject:
    """One object as the cluster has it: what identifies it at hand, the rest as compressed bytes.

    Objects of one kind look much alike (field names, managers, labels), so each is compressed against another of its
    kind, the ``sample``: that takes a tenth of the bytes, and 10 microseconds to undo. Equality is identity.

    Attributes:
        key: Its key.
        api_version: The version that it was read in.
        uid: Its uid.
        resource_version: Its resourceVersion, as the server wrote it.
        apply_id: The value of the owner label, or "".
        owner: The value of the owner annotation, or "".
    """

    __slots__ = ("_packed", "_sample", "api_version", "apply_id", "key", "owner", "resource_version", "uid")

    def __init__(self, obj: JSONObject, sample: bytes = b"") -> None:
        metadata = obj["metadata"]
        api_version, kind = obj["apiVersion"], obj["kind"]
        self.api_version: str = sys.intern(api_version)
        self.key = ObjectKey(
            sys.intern(metadata.get("namespace") or ""),
            sys.intern(api_version.rpartition("/")[0]),
            sys.intern(kind),
            metadata["name"],
        )
        self.uid: str = metadata.get("uid") or ""
        self.resource_version: str = metadata.get("resourceVersion") or ""
        self.apply_id: str = sys.intern((metadata.get("labels") or {}).get(APPLY_ID_LABEL) or "")
        self.owner: str = sys.intern((metadata.get("annotations") or {}).get(OWNER_ANNOTATION) or "")
        self._sample = sample
        packer = zlib.compressobj(_LEVEL, zdict=sample) if sample else zlib.compressobj(_LEVEL)
        self._packed = packer.compress(orjson.dumps(obj)) + packer.flush()

    def __repr__(self) -> str:
        return f"<LiveObject {self.key.display()} at {self.resource_version}>"

    @property
    def version(self) -> int:
        """The resourceVersion as a number, which grows with each write (so promised since 1.35, so done ever since).

        0 for one that is no number: it then compares as older than everything and newer than nothing.
        """
        return as_number(self.resource_version)

    @property
    def packed_size(self) -> int:
        """Bytes that the object's contents take."""
        return len(self._packed)

    def data(self) -> bytes:
        """The whole object as JSON."""
        unpacker = zlib.decompressobj(zdict=self._sample) if self._sample else zlib.decompressobj()
        return unpacker.decompress(self._packed)

    def parse(self) -> JSONObject:
        """The whole object; a new one each time, which the caller owns."""
        parsed: JSONObject = orjson.loads(self.data())
        return parsed


def as_number(version: str) -> int:
    """A resourceVersion as a number; 0 for one that is none."""
    return int(version) if version.isascii() and version.isdigit() else 0


def sample_of(obj: JSONObject) -> bytes:
    """What other objects of the kind are compressed against."""
    return orjson.dumps(obj)[:_DICTIONARY_LIMIT]


class EventType(StrEnum):
    """What happened to an object."""

    ADDED = "added"
    MODIFIED = "modified"
    DELETED = "deleted"
    """It is gone, or has lost the owner label: a watch by label cannot tell."""


class Event(NamedTuple):
    """Somebody else than the caller of ``record_write`` changed an object."""

    type: EventType
    key: ObjectKey
    old: LiveObject | None
    """As it was known before; None for an addition."""
    new: LiveObject | None
    """As this change left it; None for a deletion. The cache knows a later one if a write of ours followed closely."""
