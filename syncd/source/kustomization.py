"""Which files and folders a kustomization file names, without running Kustomize.

The fields are those of Kustomize's own reference (kustomization v1beta1, Component v1alpha1 and their deprecated
spellings). Kustomize reads files only below the folders of the kustomizations that it visits (its load restrictor), so
these references are all that leads out of a folder.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from syncd.model import JSONValue

FILE_NAMES: Final = ("kustomization.yaml", "kustomization.yml", "Kustomization")

# "*" stands for every item of a list.
_FOLDERS_OR_FILES: Final = tuple(
    (name, "*") for name in ("resources", "bases", "components", "generators", "transformers", "validators")
)
_FILES: Final = (
    *((name, "*") for name in ("crds", "configurations", "patchesStrategicMerge")),
    *((name, "*", "path") for name in ("patches", "patchesJson6902", "replacements")),
    *((name, "*", "env") for name in ("configMapGenerator", "secretGenerator")),
    *((name, "*", "envs", "*") for name in ("configMapGenerator", "secretGenerator")),
    ("openapi", "path"),
)
_NAMED_FILES: Final = tuple((name, "*", "files", "*") for name in ("configMapGenerator", "secretGenerator"))
"""A file, or ``key=file``."""

_REMOTE: Final = re.compile(
    r"^(?:[A-Za-z][A-Za-z0-9+.-]*://|git::|gh:|[A-Za-z0-9_.-]+@[^/]+[:/]|(?:www\.)?(?:github|gitlab|bitbucket)\.[a-z]+[/:])"
    r"|[?&](?:ref|version|timeout|submodules)="
)


class Reference(NamedTuple):
    """One thing that a kustomization names."""

    field: tuple[str | int, ...]
    """Where in the document."""
    text: str
    """As written: a path relative to the kustomization's folder, or a URL."""
    may_be_folder: bool

    @property
    def is_remote(self) -> bool:
        """Whether it names something outside of the repository."""
        return _REMOTE.search(self.text) is not None


def references(document: JSONValue) -> Iterator[Reference]:
    """Everything that a kustomization names; what does not have the format is left for Kustomize to complain about."""
    for pattern in (*_FOLDERS_OR_FILES, *_FILES, *_NAMED_FILES):
        for field, value in _at(document, pattern):
            if isinstance(value, str) and value and not _is_inline(value):
                text = value.partition("=")[2] if pattern in _NAMED_FILES and "=" in value else value
                yield Reference(field, text, pattern in _FOLDERS_OR_FILES)


def _at(
    value: JSONValue, pattern: tuple[str, ...], field: tuple[str | int, ...] = ()
) -> Iterator[tuple[tuple[str | int, ...], JSONValue]]:
    """The values in the places that a pattern means, each with its place."""
    if not pattern:
        yield field, value
    elif pattern[0] == "*" and isinstance(value, list):
        for index, item in enumerate(value):
            yield from _at(item, pattern[1:], (*field, index))
    elif isinstance(value, dict) and pattern[0] in value:
        yield from _at(value[pattern[0]], pattern[1:], (*field, pattern[0]))


def _is_inline(text: str) -> bool:
    """Whether a whole document was written where a path may stand."""
    return "\n" in text or text.lstrip().startswith("{")
