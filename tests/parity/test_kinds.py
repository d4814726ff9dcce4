"""Objects of every built-in kind, with fields made up from its schema, come out as kubectl apply makes them."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from tests.parity import kinds
from tests.parity.grow import Grower, take

if TYPE_CHECKING:
    from syncd.cluster import ApiResources
    from syncd.model import JSONObject
    from tests.parity.sides import Pair

pytestmark = [pytest.mark.controlplane, pytest.mark.slow]

_TRIES = 14
"""How many fields are tried on each object."""


class Garden:
    """One object of each kind, and what it grows into."""

    def __init__(self, pair: Pair, resources: ApiResources) -> None:
        self._api = pair.kubectl.control_plane.api
        self._pair = pair
        self.small = list(kinds.objects(resources).values())
        self.grown: list[JSONObject] = []
        self.varied: list[JSONObject] = []
        self.edits: list[tuple[JSONObject, JSONObject]] = []
        schemas: dict[str, Any] = {}
        for item in self.small:
            rng = random.Random(item["metadata"]["name"])  # noqa: S311 - the same fields in each run
            version = item["apiVersion"]
            path = f"/openapi/v3/{'apis' if '/' in version else 'api'}/{version}"
            if path not in schemas:
                schemas[path] = self._api.get(path)["components"]["schemas"]
            grower = Grower(schemas[path], rng)
            grown, paths = grower.grown(item, self._accepts, _TRIES)
            self.grown.append(grown)
            self.varied.append(_labelled(grower.varied(grown, paths), "mine"))
            self.edits += [(item, _edit(grown, path)) for path in rng.sample(paths, min(2, len(paths)))]

    def _accepts(self, item: JSONObject) -> bool:
        answer = self._api.ask("POST", f"{self._pair.path(item, name=False)}?dryRun=All&fieldValidation=Strict", item)
        return answer.status == 201


def _labelled(item: JSONObject, *labels: str) -> JSONObject:
    own = item["metadata"].get("labels", {})
    return {**item, "metadata": {**item["metadata"], "labels": {**own, **dict.fromkeys(labels, "git")}}}


def _edit(item: JSONObject, path: tuple[str | int, ...]) -> JSONObject:
    """A patch that takes a field away; with its list, if it is in one."""
    names = path[: next((index for index, part in enumerate(path) if isinstance(part, int)), len(path))]
    whole = take(item, path) if len(names) < len(path) else None
    for part in names:
        whole = whole[part] if whole is not None else None
    patch: Any = whole
    for part in reversed(names):
        patch = {part: patch}
    result: JSONObject = patch
    return result


def test_every_kind_comes_out_the_same(pair: Pair) -> None:
    resources = pair.syncd.resources()
    garden = Garden(pair, resources)
    labelled = [_labelled(item, "mine", "too") for item in garden.grown]
    meddling = [(item, {"metadata": {"labels": {"mine": "changed", "theirs": "kept"}}}) for item in garden.small]
    refused: set[str] = set()
    before = pair.syncd.patches
    for step, objects, edits in (
        ("create with many fields", garden.grown, ()),
        ("add labels", labelled, ()),
        ("change and remove fields, while others change labels", garden.varied, meddling),
        ("put right what others removed", garden.varied, garden.edits),
        ("remove every field that can be", garden.small, ()),
    ):
        for item, patch in edits:
            pair.edit(item, patch)
        refused |= pair.apply_and_compare(step, objects)
    assert pair.syncd.pending().keys() <= refused
    assert pair.syncd.patches - before > 2 * len(garden.small)


def test_no_built_in_kind_is_left_out(pair: Pair) -> None:
    resources = pair.syncd.resources()
    there = {(item["apiVersion"].rpartition("/")[0], item["kind"]) for item in kinds.objects(resources).values()}
    writable = {
        item.group_kind for item in resources if {"create", "patch"} <= item.verbs and "example" not in item.group
    }
    assert {kind.kind for kind in writable if kind not in there} == set(kinds.WITHOUT)
