"""Annotations by which people tell syncd how to treat one object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from syncd.model import JSONObject

DELETION: Final = "client.lifecycle.config.k8s.io/deletion"
"""``detach``: when the object leaves Git it is given up, not deleted."""
ON_REMOVE: Final = "cli-utils.sigs.k8s.io/on-remove"
"""``keep``: the older spelling of the same, still written by kpt."""
MUTATION: Final = "client.lifecycle.config.k8s.io/mutation"
"""``ignore``: the object is created when it is missing, and never changed."""
PRUNE: Final = "syncd.dev/prune"
"""``disabled``: the object is not deleted for as long as it says so."""
RELEASE: Final = "syncd.dev/release"
"""A JSON list of JSON pointers: fields that are given up, as ``syncd release`` writes it."""
REPLACE: Final = "syncd.dev/replace"
"""``enabled``: the object may be deleted and made anew when a field that cannot change has changed in Git;
``disabled``: it may not, whatever the Sync says."""


def annotation(document: JSONObject, name: str) -> str:
    """The value of an object's annotation, or ""."""
    value = (document["metadata"].get("annotations") or {}).get(name, "")
    return value if isinstance(value, str) else ""
