"""A list that is too long for one annotation, spread over pages: ConfigMaps that are named by what they hold.

A page is never changed. A list that changed is written as the pages that are new, then the apply-config object, which
names all pages with count and hash, then the pages that it no longer names are deleted: killed anywhere in between, the
apply-config object names pages that are there. Which page a key is on depends on the key alone, so that one change
makes one page anew.
"""

from __future__ import annotations

import hashlib
import math
import re
from typing import TYPE_CHECKING, NamedTuple

from syncd.inventory.keylist import decode, encode, readable, text_hash
from syncd.inventory.names import PAGE_LABEL

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from syncd.model import JSONObject, ObjectKey

PAGE_TARGET = 256 << 10
"""Bytes that a page takes on average at most; a ConfigMap may take a mebibyte."""
_FIELD = "objects"
_LONGEST_PREFIX = 220
_ODD = re.compile(r"[^a-z0-9-]+")
"""What names of some kinds may hold, and those of ConfigMaps may not."""


class Page(NamedTuple):
    """A page as the apply-config object names it."""

    name: str
    size: int
    """Keys on it."""
    digest: str

    def __str__(self) -> str:
        return f"{self.name} {self.size} {self.digest}"

    @classmethod
    def parse(cls, text: str) -> Page:
        """Read the text form.

        Raises:
            ValueError: It is something else.
        """
        name, size, digest = text.split()
        return cls(name, int(size), digest)


def names_pages(text: str) -> tuple[Page, ...]:
    """Read what the apply-config object says of its pages.

    Raises:
        ValueError: It makes no sense.
    """
    return tuple(Page.parse(line) for line in text.splitlines() if line.strip())


def spread(keys: Iterable[ObjectKey], name: str, uid: str) -> dict[Page, str]:
    """The pages of a list, each with its text.

    Args:
        keys: The list.
        name: The name of the apply-config object; pages are named after it.
        uid: Its uid: two apply-config objects never share a page, not even while the list moves from one to the other.
    """
    keys = tuple(keys)
    size = sum(len(str(key)) + 1 for key in keys)
    number = 2 ** max(0, math.ceil(math.log2(max(1, size / PAGE_TARGET))))
    buckets: dict[int, list[ObjectKey]] = {}
    for key in keys:
        spot = int.from_bytes(hashlib.blake2b(str(key).encode(), digest_size=4).digest())
        buckets.setdefault(spot % number, []).append(key)
    prefix = _ODD.sub("-", name.lower())[:_LONGEST_PREFIX].strip("-") or "pages"
    found = {}
    for bucket in buckets.values():
        text = encode(bucket)
        digest = text_hash(text)
        found[Page(f"{prefix}.{text_hash(uid + text)[:16]}", len(bucket), digest)] = text
    return found


def document(page: Page, text: str, namespace: str, owner: JSONObject) -> JSONObject:
    """The ConfigMap of a page; ``owner`` is the reference to the apply-config object, with which the page goes."""
    metadata = {
        "name": page.name,
        "namespace": namespace,
        "labels": {PAGE_LABEL: owner["uid"]},
        "ownerReferences": [owner],
    }
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {_FIELD: text}}


def read(named: Iterable[Page], found: Mapping[str, JSONObject]) -> tuple[frozenset[ObjectKey], str]:
    """Put a list together from its pages.

    Returns:
        The keys that can be read, and why they may not be all; "" if they are.
    """
    keys: set[ObjectKey] = set()
    damage = ""
    for page in named:
        text = ((found.get(page.name) or {}).get("data") or {}).get(_FIELD)
        if text is None:
            damage = damage or f"its page {page.name} is missing"
        elif text_hash(text) != page.digest:
            damage = damage or f"its page {page.name} was changed by somebody else"
            keys |= readable(text)
        else:
            keys |= decode(text)
    return frozenset(keys), damage
