"""What real projects ship, and this project's own samples, come out as kubectl apply makes them."""

from __future__ import annotations

import json
import random
import time
from itertools import takewhile
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from syncd.merge.jsonvalue import copy
from syncd.render import Renderer
from syncd.source import Repositories
from syncd.spec import SyncSpec
from tests.support.daemon import PATIENCE
from tests.support.repository import Repository
from tests.unit.render.test_helm import needs_helm

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from syncd.model import JSONObject, ObjectKey
    from tests.parity.sides import Pair

pytestmark = [pytest.mark.controlplane, pytest.mark.corpus, pytest.mark.slow]

SAMPLES = Path(__file__).parents[2] / "manifests"
_ROOM = 200_000
"""Bytes of an object that kubectl can apply: a copy of it has to fit into an annotation."""
_TOUCHED = 3
"""Fields of each object that change in Git, and that others change."""


_ALL_OF_THE_CHART = {"networkPolicies": {"create": True}}


class Tree(NamedTuple):
    """Folders of a repository, and how they are rendered."""

    source: str
    paths: tuple[str, ...]
    namespace: str = ""
    """Where objects go that name no namespace, so that each tree has its own; "" for trees that name them all."""
    render: Mapping[str, Any] = MappingProxyType({})


TREES = {
    "plain files": Tree("kube-prometheus", ("manifests",)),
    # the release of that project holds the same objects as its kustomization
    "a kustomization": Tree("microservices-demo", ("kustomize",), "kustomization"),
    "a chart": Tree("microservices-demo", ("helm-chart",), "chart", {"helm": {"values": _ALL_OF_THE_CHART}}),
    "samples": Tree("", ("overlays/dev", "overlays/staging", "overlays/prod")),
}


@pytest.mark.parametrize("name", [pytest.param(name, marks=needs_helm if name == "a chart" else ()) for name in TREES])
def test_manifests_come_out_the_same(pair: Pair, shared: Path, tmp_path: Path, name: str) -> None:
    tree = TREES[name]
    shipped = _rendered(tree, shared / "corpus" / tree.source if tree.source else SAMPLES, tmp_path)
    assert len(shipped) > 10
    rng = random.Random(name)  # noqa: S311 - the same changes in each run
    large = [item for item in shipped if len(json.dumps(item)) > _ROOM]
    usual = [item for item in shipped if item not in large]
    others = [(item, _edit(item, rng)) for item in usual]
    for step, objects, edits in (
        ("as shipped", usual, ()),
        ("changed in Git", [_changed(item, rng) for item in usual], ()),
        ("as shipped again, after others changed it", usual, others),
    ):
        for item, patch in edits:
            pair.edit(item, patch)
        refused = pair.apply_and_compare(step, objects, large)
        large = []  # large ones are slow, and once is enough
    assert pair.syncd.pending().keys() <= refused


def _rendered(tree: Tree, source: Path, folder: Path) -> list[JSONObject]:
    """Every object once, as syncd renders it."""
    repository = Repository(folder / "repository.git")
    repository.add_folder(source)
    repositories, renderer = Repositories(folder / "mirrors"), Renderer()
    found: dict[ObjectKey, JSONObject] = {}
    for path in tree.paths:
        git = {"git": {"url": repository.url}}
        spec = SyncSpec.model_validate({"source": git, "path": path, "render": dict(tree.render)})
        deadline = time.monotonic() + PATIENCE
        revision = repositories.resolve(spec.source.git, spec.path, deadline=deadline)
        namespace = tree.namespace or "default"
        for item in renderer.render(repositories, spec, revision, deadline=deadline, namespace=namespace):
            if not _is_foreign(item.body):
                found[item.key] = item.body
    return [*_namespace(tree.namespace), *(_placed(body, tree.namespace) for body in found.values())]


def _namespace(name: str) -> list[JSONObject]:
    return [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}] if name else []


def _placed(body: JSONObject, namespace: str) -> JSONObject:
    return {**body, "metadata": {"namespace": namespace, **body["metadata"]}} if namespace else body


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
