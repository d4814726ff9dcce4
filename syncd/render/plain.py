"""Files that are manifests as they stand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.kubeyaml import YAMLError, load_all
from syncd.render.objects import manifests_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from syncd.model import InvalidInputError, Manifest
    from syncd.source.tree import Tree


def read(tree: Tree, paths: Sequence[str], errors: list[InvalidInputError]) -> list[Manifest]:
    """Read files as manifests, in the order given; what is wrong with them goes to ``errors``."""
    manifests: list[Manifest] = []
    contents = tree.read(paths)
    for path in paths:
        data, origin = contents[path], tree.origin(path)
        try:
            documents = load_all(data, origin)
        except YAMLError as error:
            errors.append(error)
        else:
            manifests += manifests_of(documents, data, origin, errors)
    return manifests
