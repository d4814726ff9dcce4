"""A list of object keys as text, and its hash."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from syncd.model import ObjectKey

if TYPE_CHECKING:
    from collections.abc import Iterable

_HASH_LENGTH = 63
"""A label's value has at most 63 characters; a SHA-256 in hex has 64."""


def encode(keys: Iterable[ObjectKey]) -> str:
    """The list as text: one key a line, sorted, each line ended."""
    return "".join(f"{key}\n" for key in sorted(keys))


def decode(text: str) -> frozenset[ObjectKey]:
    """Read the list; blank lines do not matter.

    Raises:
        ValueError: A line is no object key.
    """
    return frozenset(ObjectKey.parse(line) for line in text.split("\n") if line.strip())


def readable(text: str) -> frozenset[ObjectKey]:
    """The lines that can still be read: they protect objects from being taken for foreign, and prune nothing."""
    keys = set()
    for line in text.split("\n"):
        try:
            keys.add(ObjectKey.parse(line))
        except ValueError:
            continue
    return frozenset(keys)


def approval_of(commit: str, candidates: Iterable[ObjectKey]) -> str:
    """What an approval says that allows what a commit asks to prune, or just these objects if Git has moved on."""
    return f"{commit}/{list_hash(candidates)}"


def list_hash(keys: Iterable[ObjectKey]) -> str:
    """The hash of a list: of its content, not of how its text happened to be laid out."""
    return text_hash(encode(keys))


def text_hash(text: str) -> str:
    """The hash of a list that is text already."""
    return hashlib.sha256(text.encode()).hexdigest()[:_HASH_LENGTH]
