"""Apply-config objects that held a Sync's list before: it moves when Git brings another one along."""

from __future__ import annotations

from typing import NamedTuple

from syncd.model import ObjectKey


class Former(NamedTuple):
    """A former apply-config object."""

    uid: str
    """What objects that were applied then name as their owner."""
    key: ObjectKey

    def __str__(self) -> str:
        return f"{self.uid} {self.key}"


def read(text: str) -> tuple[Former, ...]:
    """Read what an apply-config object says of those before it; what makes no sense proves nothing, and is left out."""
    found = []
    for line in text.splitlines():
        uid, _, key = line.partition(" ")
        try:
            found.append(Former(uid, ObjectKey.parse(key)))
        except ValueError:
            continue
    return tuple(found)
