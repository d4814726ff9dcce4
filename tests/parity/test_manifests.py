"""What real projects ship, and this project's own samples, come out as kubectl apply makes them."""

from __future__ import annotations

import json
import random
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from syncd import kubeyaml
from syncd.merge.jsonvalue import copy
from syncd.render.objects import key_of
from tests.support.kubectl import Kubectl

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from syncd.model import JSONObject
    from tests.parity.sides import Pair

pytestmark = [pytest.mark.controlplane, pytest.mark.corpus, pytest.mark.slow]

SAMPLES = Path(__file__).parents[2] / "manifests"
_ROOM = 200_000
"""Bytes of an object that kubectl can apply: a copy of it has to fit into an annotation."""
_TOUCHED = 3
"""Fields of each object that change in Git, and that others change."""


@pytest.mark.parametrize("tree", ["kube-prometheus/manifests", "microservices-demo/release", "samples"])
def test_manifests_come_out_the_same(pair: Pair, shared: Path, tree: str) -> None:
    if tree == "samples":
        kubectl = Kubectl(pair.kubectl.control_plane.kubeconfig)
        environments = sorted(path.parent for path in SAMPLES.glob("overlays/*/kustomization.yaml"))
        texts = [kubectl("kustomize", str(folder)) for folder in environments]
    else:
        texts = [path.read_text() for path in sorted((shared / "corpus" / tree).rglob("*.yaml"))]
    shipped = list(_objects(texts))
    assert len(shipped) > 10
    rng = random.Random(tree)  # noqa: S311 - the same changes in each run
    large = [item for item in shipped if len(json.dumps(item)) > _ROOM]
    usual = [item for item in shipped if item not in large]
    for item in large:
        pair.kubectl.apply_large(item)
    others = [(item, _edit(item, rng)) for item in usual]
    for step, objects, edits in (
        ("as shipped", usual, ()),
        ("changed in Git", [_changed(item, rng) for item in usual], ()),
        ("as shipped again, after others changed it", usual, others),
    ):
        for item, patch in edits:
            pair.edit(item, patch)
        refused = pair.apply_and_compare(step, objects, also=large)
        large = []  # large ones are slow, and once is enough
    assert pair.syncd.pending().keys() <= refused


def _objects(texts: Iterable[str]) -> Iterator[JSONObject]:
    """Every object once, with a namespace where it needs one."""
    seen = set()
    for text in texts:
        for document in kubeyaml.load_all(text.encode()):
            for item in document.value.get("items", [document.value]):
                if key_of(item) not in seen and not _is_foreign(item):
                    seen.add(key_of(item))
                    yield item


def _is_foreign(item: JSONObject) -> bool:
    """Whether the object's definition is not part of the tree that uses it."""
    return "istio.io" in item["apiVersion"] or "gateway.networking" in item["apiVersion"]


def _leaves(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The paths of all scalars that do not say what the object is."""
    if path in (("apiVersion",), ("kind",), ("metadata", "name"), ("metadata", "namespace")):
        return
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _leaves(item, (*path, index))
    else:
        yield path


def _changed(item: JSONObject, rng: random.Random) -> JSONObject:
    """The object with some scalars changed, and some fields and items of lists gone; what others need stays."""
    if item["kind"] in ("Namespace", "CustomResourceDefinition") or "stringData" in item:
        return item
    result: JSONObject = copy(item)
    for _ in range(_TOUCHED):
        leaves = list(_leaves(result))
        if not leaves:
            break
        path = rng.choice(leaves)
        path = path[: rng.randint(max(2, len(path) - 2), len(path))] if len(path) > 1 else path
        holder: Any = result
        for part in path[:-1]:
            holder = holder[part]
        if rng.random() < 0.5:
            del holder[path[-1]]
        else:
            holder[path[-1]] = _other(holder[path[-1]])
    return result


def _other(value: Any) -> Any:
    """Something else of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, str):
        return f"{value}0"
    return value[::-1] if isinstance(value, list) else {}


def _edit(item: JSONObject, rng: random.Random) -> JSONObject:
    """A JSON merge patch that changes or removes a field, and adds a label."""
    patch: JSONObject = {"metadata": {"labels": {"theirs": "kept"}}}
    leaves = [path for path in _leaves(item) if path[0] != "metadata"]
    if leaves:
        path = rng.choice(leaves)
        names = list(takewhile(lambda part: isinstance(part, str), path))
        inner: Any = item
        for part in names:
            inner = inner[part]
        new: Any = None if rng.random() < 0.5 else _other(inner)
        for part in reversed(names):
            new = {part: new}
        patch |= new
    return patch
