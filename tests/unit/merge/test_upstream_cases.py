"""The upstream tables, which are data outside this repository; see docs/decisions/0003-merge.md for what they prove."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from syncd.merge import dynamic, json_merge, strategic
from syncd.merge.errors import MergeConflictError, MergeError
from syncd.merge.jsonvalue import copy, equal
from syncd.merge.order import deduplicated, sorted_by_text
from syncd.merge.schema import PatchSchema, Shape

CASES = Path(os.environ.get("SYNCD_SHARED", str(Path(__file__).parents[4] / "shared"))) / "cases"

pytestmark = pytest.mark.skipif(
    not CASES.is_dir(), reason="the upstream tables are not here: set SYNCD_SHARED to the folder that has cases/"
)


def cases(file: str, *suites: str) -> list[Any]:
    if not CASES.is_dir():
        return []
    return [
        pytest.param(case, id=f"{case['suite']}-{case['index']}-{case['description']}")
        for case in json.loads((CASES / file).read_text())
        if case["suite"] in suites
    ]


def strategic_cases(*suites: str) -> list[Any]:
    return cases("strategic_merge_patch.json", *suites)


def schema_of(case: dict[str, Any]) -> PatchSchema:
    return PatchSchema.from_openapi(json.loads((CASES / "schemas.json").read_text()), case["schema"])


def text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def sorted_lists(value: Any, schema: PatchSchema) -> Any:
    """The document with its merging lists sorted, as the upstream test sorts them before it compares."""
    if not isinstance(value, dict):
        return value
    result = {}
    for key, item in value.items():
        field = schema.field(key) if schema.shape is Shape.OBJECT else None
        if key == "$retainKeys" or key.startswith("$deleteFromPrimitiveList"):
            result[key] = sorted_by_text(item)
        elif field is None:
            result[key] = item
        elif isinstance(item, list) and field.strategy == "merge":
            if item and isinstance(item[0], dict):
                maps = [sorted_lists(entry, field.schema.items) for entry in item]
                result[key] = sorted_by_text(maps, field.merge_key)
            else:
                result[key] = sorted_by_text(deduplicated(item))
        else:
            result[key] = sorted_lists(item, field.schema)
    return result


def document(case: dict[str, Any], name: str) -> Any:
    value = case.get(name)
    if value is not None and case.get("presort"):
        return sorted_lists(value, schema_of(case))
    return value


@pytest.mark.parametrize("case", strategic_cases("sortMergeList"))
def test_sorting_merging_lists(case: dict[str, Any]) -> None:
    assert text(sorted_lists(case["original"], schema_of(case))) == text(case["sorted"])


@pytest.mark.parametrize("case", strategic_cases("customStrategicMergePatch", "customStrategicMergePatchRaw"))
def test_applying_hand_written_patches(case: dict[str, Any]) -> None:
    schema = schema_of(case)
    if "expectedError" in case:
        with pytest.raises(MergeError, match=case["expectedError"]):
            strategic.apply_patch(document(case, "original"), document(case, "twoWay"), schema)
        return
    result = strategic.apply_patch(document(case, "original"), document(case, "twoWay"), schema)
    assert text(sorted_lists(result, schema) if case.get("presort") else result) == text(document(case, "modified"))


@pytest.mark.parametrize(
    "case", strategic_cases("createStrategicMergePatch", "strategicMergePatchRaw", "numberConversion")
)
def test_two_way(case: dict[str, Any]) -> None:
    schema = schema_of(case)
    original, modified = document(case, "original"), document(case, "modified")
    before = copy([original, modified])
    patch = strategic.two_way_patch(original, modified, schema)
    assert text(patch) == text(document(case, "twoWay"))
    result = strategic.apply_patch(original, patch, schema)
    expected = document(case, "twoWayResult") if "twoWayResult" in case else modified
    assert text(sorted_lists(result, schema) if case.get("presort") else result) == text(expected)
    assert equal([original, modified], before)


@pytest.mark.parametrize("case", strategic_cases("createStrategicMergePatch", "strategicMergePatchRaw"))
def test_three_way(case: dict[str, Any]) -> None:
    schema = schema_of(case)
    original, modified, current = (document(case, name) for name in ("original", "modified", "current"))
    before = copy([original, modified, current])
    if case["expectsConflict"]:
        with pytest.raises(MergeConflictError):
            strategic.three_way_patch(original, modified, current, schema, overwrite=False)
    else:
        patch = strategic.three_way_patch(original, modified, current, schema, overwrite=False)
        assert text(patch) == text(document(case, "threeWay"))
    patch = strategic.three_way_patch(original, modified, current, schema)
    assert text(patch) == text(document(case, "threeWay"))
    result = strategic.apply_patch(current, patch, schema)
    assert text(sorted_lists(result, schema) if case.get("presort") else result) == text(document(case, "result"))
    assert equal([original, modified, current], before)


@pytest.mark.parametrize("case", strategic_cases("unknownField"))
def test_unknown_fields(case: dict[str, Any]) -> None:
    schema = schema_of(case)
    try:
        two_way = strategic.two_way_patch(case["original"], case["modified"], schema)
        three_way = strategic.three_way_patch(case["original"], case["modified"], case["current"], schema)
    except MergeError:
        assert "expectedTwoWayError" in case or "array" in text(case["original"])
        return
    assert text(two_way) == text(case["twoWay"])
    assert text(strategic.apply_patch(case["original"], two_way, schema)) == text(case["twoWayResult"])
    assert text(three_way) == text(case["threeWay"])
    assert text(strategic.apply_patch(case["current"], three_way, schema)) == text(case["result"])


@pytest.mark.parametrize("case", strategic_cases("jsonThreeWay"))
def test_json_three_way(case: dict[str, Any]) -> None:
    patch = json_merge.three_way_patch(case.get("original"), case.get("modified"), case.get("current"))
    assert text(patch) == text(case["threeWay"])
    assert text(json_merge.apply_patch(case.get("current") or {}, patch)) == text(case["result"])


@pytest.mark.parametrize("case", strategic_cases("jsonFilterNull"))
def test_keeping_or_deleting_nulls(case: dict[str, Any]) -> None:
    patch = case["originalObj"]
    assert text(json_merge.keep_or_delete_nulls(patch, keep=True)) == text(case["expectedWithNull"])
    assert text(json_merge.keep_or_delete_nulls(patch, keep=False)) == text(case["expectedWithoutNull"])


def typed(value: Any) -> Any:
    """Undo the notation of typed numbers: ["int64", "1"]."""
    if isinstance(value, list):
        if len(value) == 2 and value[0] in ("int64", "float64"):
            return int(value[1]) if value[0] == "int64" else float(value[1])
        return [typed(item) for item in value]
    return {key: typed(item) for key, item in value.items()} if isinstance(value, dict) else value


@pytest.mark.parametrize("case", strategic_cases("hasConflicts"))
def test_conflicts_between_json_patches(case: dict[str, Any]) -> None:
    left, right = typed(case["a"]), typed(case["b"])
    assert json_merge.has_conflicts(left, right) is json_merge.has_conflicts(right, left) is case["expected"]


@pytest.mark.parametrize("case", cases("dynamic_apply.json", "dynamicApplyMerge"))
def test_dynamic_apply(case: dict[str, Any]) -> None:
    result = dynamic.merge(case["observed"], case["lastApplied"], case["desired"])
    assert text(result) == text(case["want"])


@pytest.mark.parametrize("case", cases("dynamic_apply.json", "revertObjectMetaSystemFields"))
def test_fields_of_the_system_are_reverted(case: dict[str, Any]) -> None:
    assert text(dynamic.reverted(case["newObj"], case["orig"])) == text(case["want"])
