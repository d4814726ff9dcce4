"""What holds for all documents: properties of the patches and of the engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import given

from syncd.merge import engine, json_merge, strategic
from syncd.merge.directives import decoded
from syncd.merge.jsonvalue import copy, equal, token
from tests.unit.merge.things import SCHEMA, STRATEGIC, json_values, objects

if TYPE_CHECKING:
    from syncd.merge.schema import PatchSchema


def merged_by_engine(last: Any, config: Any, live: Any, schema: PatchSchema) -> Any:
    before = copy([last, config, live])
    result = engine.merge(original=last, modified=config, live=live, schema=schema)
    assert equal([last, config, live], before)
    if result.write is None:
        assert result.merged is live
        assert result.changes == ()
        return live
    assert not equal(result.merged, live)
    assert result.changes
    return result.merged


def check_three_way(last: Any, config: Any, live: Any, merged: Any, *, retained: bool = False) -> None:
    """Every field desired is set, every field that left is gone, and every other field of live is kept."""
    for key in {**live, **config}:
        if key not in config:
            gone = key in last or retained
            assert (key in merged) is (key in live and not gone), key
            if key in merged:
                assert equal(merged[key], live[key]), key
        elif isinstance(config[key], dict) and isinstance(live.get(key), dict):
            former = last.get(key)
            check_three_way(
                former if isinstance(former, dict) else {},
                config[key],
                live[key],
                merged[key],
                retained=key == "union" and config[key] != {},
            )
        elif key == "list" and key in live:
            check_items(last.get(key) or [], config[key], live[key], merged[key])
        elif key == "set" and key in live:
            left = set(last.get(key) or []) - set(config[key])
            assert set(merged[key]) == (set(live[key]) - left) | set(config[key])
        else:
            assert equal(merged[key], config[key]), key


def check_items(last: list[Any], config: list[Any], live: list[Any], merged: list[Any]) -> None:
    lasts, configs, lives, merges = ({item["name"]: item for item in items} for items in (last, config, live, merged))
    assert len(merges) == len(merged)
    assert set(merges) == (set(lives) - (set(lasts) - set(configs))) | set(configs)
    assert [name for name in merges if name in configs] == list(configs)
    for name, item in merges.items():
        if name in configs and name in lives:
            check_three_way(lasts.get(name, {}), configs[name], lives[name], item)


@given(objects, objects)
def test_two_way_the_patch_leads_from_original_to_modified(original: Any, modified: Any) -> None:
    before = copy([original, modified])
    patch = strategic.two_way_patch(original, modified, SCHEMA)
    assert equal(strategic.apply_patch(original, patch, SCHEMA), modified)
    assert equal([original, modified], before)


@given(objects, objects)
def test_two_way_equal_documents_need_no_patch(original: Any, modified: Any) -> None:
    assert (strategic.two_way_patch(original, original, SCHEMA) == {}) or _unsorted_set(original)
    assert (json_merge.two_way_patch(original, modified) == {}) is equal(original, modified)


def _unsorted_set(value: Any) -> bool:
    """Whether kubectl's quirk applies: a set that is not sorted is ordered again with each patch."""
    if isinstance(value, dict):
        unsorted = [items for key, items in value.items() if key == "set" and items != sorted(items)]
        return bool(unsorted) or any(map(_unsorted_set, value.values()))
    return isinstance(value, list) and any(map(_unsorted_set, value))


@given(objects, objects, objects)
def test_three_way_by_strategic_merge(last: Any, config: Any, live: Any) -> None:
    before = copy([last, config, live])
    patch = strategic.three_way_patch(last, config, live, SCHEMA)
    merged = decoded(strategic.apply_patch(live, patch, SCHEMA))
    check_three_way(last, config, live, merged)
    assert equal([last, config, live], before)


@given(objects, objects, objects)
def test_three_way_by_the_engine(last: Any, config: Any, live: Any) -> None:
    for schema in (SCHEMA, STRATEGIC):
        check_three_way(last, config, live, merged_by_engine(last, config, live, schema))


@given(objects, objects, objects)
def test_both_ways_of_the_engine_agree(last: Any, config: Any, live: Any) -> None:
    by_rules, by_patch = (merged_by_engine(last, config, live, schema) for schema in (SCHEMA, STRATEGIC))
    assert equal(_sorted(by_rules), _sorted(by_patch))


def _sorted(value: Any) -> Any:
    """Without the order of what nobody ordered."""
    if isinstance(value, dict):
        return {
            key: sorted(map(_sorted, item), key=repr) if key in ("list", "set") else _sorted(item)
            for key, item in value.items()
        }
    return value


@given(objects, objects, objects)
def test_applying_twice_changes_nothing(last: Any, config: Any, live: Any) -> None:
    for schema in (SCHEMA, STRATEGIC):
        once = merged_by_engine(last, config, live, schema)
        result = engine.merge(original=config, modified=config, live=once, schema=schema)
        assert result.write is None, result.changes


@given(objects, objects)
def test_the_first_apply_to_an_object_of_others_deletes_nothing(config: Any, live: Any) -> None:
    merged = merged_by_engine(None, config, live, STRATEGIC)
    assert set(live) <= set(merged)


@given(json_values, json_values)
def test_json_merge_patches_leave_their_inputs_alone(document: Any, patch: Any) -> None:
    before = copy([document, patch])
    result = json_merge.apply_patch(document, patch)
    assert equal([document, patch], before)
    if isinstance(patch, dict):
        assert equal(json_merge.apply_patch(result, patch), result)


@given(json_values, json_values)
def test_equality_is_typed(left: Any, right: Any) -> None:
    assert equal(left, copy(left))
    assert equal(left, right) is equal(right, left)
    assert equal(left, right) is (repr(_ordered(left)) == repr(_ordered(right)))
    assert (token(left) == token(right)) is equal(left, right)


def _ordered(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _ordered(value[key]) for key in sorted(value)}
    return [_ordered(item) for item in value] if isinstance(value, list) else value
