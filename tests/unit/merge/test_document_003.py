"""Every directive of document 003, applied and built, with the cases that upstream rejects."""

from __future__ import annotations

from typing import Any

import pytest

from syncd.merge import strategic
from syncd.merge.errors import (
    DirectiveError,
    ElementTypeError,
    MergeError,
    MergeKeyError,
    NotAnObjectError,
    TooDeepError,
    UnknownFieldError,
)
from syncd.merge.schema import PatchSchema, bundled

DEFINITIONS = {
    "Thing": {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "value": {"type": "string"},
            "map": {"$ref": "#/definitions/Thing"},
            "union": {"$ref": "#/definitions/Thing", "x-kubernetes-patch-strategy": "retainKeys"},
            "whole": {"$ref": "#/definitions/Thing", "x-kubernetes-patch-strategy": "replace"},
            "list": {
                "type": "array",
                "items": {"$ref": "#/definitions/Thing"},
                "x-kubernetes-patch-strategy": "merge",
                "x-kubernetes-patch-merge-key": "name",
            },
            "unions": {
                "type": "array",
                "items": {"$ref": "#/definitions/Thing"},
                "x-kubernetes-patch-strategy": "merge,retainKeys",
                "x-kubernetes-patch-merge-key": "name",
            },
            "keyless": {
                "type": "array",
                "items": {"$ref": "#/definitions/Thing"},
                "x-kubernetes-patch-strategy": "merge",
            },
            "atomic": {"type": "array", "items": {"$ref": "#/definitions/Thing"}},
            "set": {"type": "array", "items": {"type": "string"}, "x-kubernetes-patch-strategy": "merge"},
            "numbers": {"type": "array", "items": {"type": "integer"}},
            "texts": {"type": "object", "additionalProperties": {"type": "string"}},
            "things": {"type": "object", "additionalProperties": {"$ref": "#/definitions/Thing"}},
        },
    }
}
SCHEMA = PatchSchema.from_openapi(DEFINITIONS, "Thing")

A, B, C = ({"name": name} for name in "abc")


def applied(document: Any, patch: Any) -> Any:
    return strategic.apply_patch(document, patch, SCHEMA)


def built(original: Any, modified: Any) -> Any:
    patch = strategic.two_way_patch(original, modified, SCHEMA)
    assert applied(original, patch) == modified
    return patch


class TestReplace:
    def test_a_map_with_the_directive_replaces_the_map(self) -> None:
        patch = {"map": {"$patch": "replace", "value": "new"}}
        assert applied({"map": {"name": "old", "value": "old"}}, patch) == {"map": {"value": "new"}}

    def test_at_the_root_it_replaces_the_document(self) -> None:
        assert applied({"name": "old"}, {"$patch": "replace", "value": "new"}) == {"value": "new"}

    def test_a_list_with_the_directive_is_replaced_by_its_other_items(self) -> None:
        patch = {"list": [C, {"$patch": "replace"}, {"name": "a", "$patch": "delete"}]}
        assert applied({"list": [A, B]}, patch) == {"list": [C]}

    def test_a_field_with_the_strategy_is_replaced(self) -> None:
        assert applied({"whole": {"name": "a", "value": "b"}}, {"whole": {"name": "c"}}) == {"whole": {"name": "c"}}

    def test_building_for_a_field_with_the_strategy_puts_all_of_it_even_if_it_is_equal(self) -> None:
        assert built({"whole": A}, {"whole": A}) == {"whole": A}

    def test_a_list_without_merge_strategy_is_replaced(self) -> None:
        assert built({"numbers": [1, 2]}, {"numbers": [2]}) == {"numbers": [2]}


class TestDelete:
    def test_a_map_with_the_directive_becomes_empty(self) -> None:
        assert applied({"map": {"name": "a"}}, {"map": {"$patch": "delete"}}) == {"map": {}}

    def test_null_deletes_a_map(self) -> None:
        assert applied({"map": {"name": "a"}, "value": "v"}, {"map": None}) == {"value": "v"}

    def test_an_item_with_the_directive_is_deleted_by_its_key(self) -> None:
        assert applied({"list": [A, B]}, {"list": [C, {"name": "a", "$patch": "delete"}]}) == {"list": [C, B]}

    def test_all_items_with_the_key_are_deleted(self) -> None:
        assert applied({"list": [A, B, A]}, {"list": [{"name": "a", "$patch": "delete"}]}) == {"list": [B]}

    def test_deleting_what_is_not_there_does_nothing(self) -> None:
        assert applied({"list": [A]}, {"list": [{"name": "x", "$patch": "delete"}]}) == {"list": [A]}

    def test_a_directive_in_a_map_that_is_not_there_leaves_nothing(self) -> None:
        patch = {"map": {"$patch": "delete"}, "list": [A, {"name": "b", "$patch": "delete"}]}
        assert applied({}, patch) == {"list": [A]}

    def test_directives_deep_in_an_ordered_list_that_is_not_there_leave_nothing(self) -> None:
        inner = [A, {"name": "gone", "$patch": "delete"}]
        patch = {"$setElementOrder/list": [B], "list": [{"name": "b", "list": inner}]}
        assert applied({}, patch) == {"list": [{"name": "b", "list": [A]}]}

    def test_building_deletes_fields_by_null_and_items_by_directive(self) -> None:
        assert built({"value": "v", "list": [A, B]}, {"list": [A]}) == {
            "value": None,
            "$setElementOrder/list": [A],
            "list": [{"name": "b", "$patch": "delete"}],
        }


class TestMerge:
    def test_items_with_the_same_key_merge_and_others_are_added(self) -> None:
        live = {"list": [{"name": "a", "value": "v", "set": ["x"]}]}
        patch = {"list": [{"name": "a", "value": "w"}, B]}
        assert applied(live, patch) == {"list": [{"name": "a", "value": "w", "set": ["x"]}, B]}

    def test_building_names_the_key_and_what_differs(self) -> None:
        assert built(
            {"list": [{"name": "a", "value": "v", "texts": {"k": "l"}}]}, {"list": [{"name": "a", "value": "w"}]}
        ) == {
            "$setElementOrder/list": [A],
            "list": [{"name": "a", "value": "w", "texts": None}],
        }

    def test_it_cannot_be_written_into_a_list(self) -> None:
        with pytest.raises(DirectiveError, match="merging lists cannot yet be specified in the patch"):
            applied({"list": [A]}, {"list": [{"$patch": "merge"}]})

    def test_sets_merge_without_repetitions(self) -> None:
        assert applied({"set": ["a", "b"]}, {"set": ["b", "c"]}) == {"set": ["a", "b", "c"]}


class TestDeleteFromPrimitiveList:
    def test_the_example_of_the_document(self) -> None:
        assert applied({"set": ["a", "b", "c"]}, {"$deleteFromPrimitiveList/set": ["b", "c"]}) == {"set": ["a"]}

    def test_all_equal_values_are_deleted(self) -> None:
        assert applied({"set": ["a", "b", "a"]}, {"$deleteFromPrimitiveList/set": ["a"]}) == {"set": ["b"]}

    def test_it_works_on_lists_that_do_not_merge(self) -> None:
        assert applied({"numbers": [1, 2]}, {"$deleteFromPrimitiveList/numbers": [1]}) == {"numbers": [2]}

    def test_it_never_makes_the_list(self) -> None:
        assert applied({}, {"$deleteFromPrimitiveList/set": ["a"]}) == {}

    def test_types_count(self) -> None:
        live = {"numbers": [1, 2]}
        with pytest.raises(ElementTypeError):
            applied(live, {"$deleteFromPrimitiveList/numbers": [True]})

    def test_building_uses_it_and_sets_the_order(self) -> None:
        assert built({"set": ["a", "b", "c"]}, {"set": ["c", "a"]}) == {
            "$deleteFromPrimitiveList/set": ["b"],
            "$setElementOrder/set": ["c", "a"],
        }

    @pytest.mark.parametrize("key", ["$deleteFromPrimitiveList", "$deleteFromPrimitiveListset"])
    def test_it_must_name_a_field(self, key: str) -> None:
        with pytest.raises(DirectiveError, match="invalid patch format of primitive list"):
            applied({"set": ["a"]}, {key: ["a"]})


class TestSetElementOrder:
    def test_the_example_of_the_document_for_primitives(self) -> None:
        patch = {"$setElementOrder/set": ["b", "c", "a"]}
        assert applied({"set": ["a", "b", "c"]}, patch) == {"set": ["b", "c", "a"]}

    def test_the_example_of_the_document_for_maps(self) -> None:
        assert applied({"list": [A, B, C]}, {"$setElementOrder/list": [B, C, A]}) == {"list": [B, C, A]}

    def test_items_that_only_live_has_keep_their_place_among_the_ordered(self) -> None:
        live = {"list": [{"name": "x"}, A, {"name": "y"}, B]}
        assert applied(live, {"$setElementOrder/list": [A, B]}) == live

    def test_keys_that_nobody_has_are_ignored(self) -> None:
        assert applied({"set": ["a"]}, {"$setElementOrder/set": ["z", "a"]}) == {"set": ["a"]}

    def test_it_orders_what_the_same_patch_adds(self) -> None:
        patch = {"$setElementOrder/list": [C, A], "list": [C]}
        assert applied({"list": [A]}, patch) == {"list": [C, A]}

    def test_building_sets_the_order_when_only_that_differs(self) -> None:
        assert built({"list": [A, B]}, {"list": [B, A]}) == {"$setElementOrder/list": [B, A]}

    @pytest.mark.parametrize("items", [[B, A], [A, {"name": "x"}]])
    def test_the_patch_must_follow_the_order(self, items: Any) -> None:
        with pytest.raises(DirectiveError, match=r"doesn't match the \$setElementOrder list"):
            applied({"list": [A]}, {"$setElementOrder/list": [A, B], "list": items})

    def test_deletions_need_not_follow_it(self) -> None:
        patch = {"$setElementOrder/list": [A], "list": [{"name": "b", "$patch": "delete"}]}
        assert applied({"list": [A, B]}, patch) == {"list": [A]}

    def test_it_must_be_a_list(self) -> None:
        with pytest.raises(DirectiveError, match="expected a list"):
            applied({"set": ["a"]}, {"$setElementOrder/set": "a"})

    def test_it_must_name_a_field(self) -> None:
        with pytest.raises(DirectiveError, match="setElementOrder"):
            applied({"set": ["a"]}, {"$setElementOrder": ["a"]})

    def test_it_must_name_a_known_field(self) -> None:
        with pytest.raises(UnknownFieldError, match='unable to find api field "other"'):
            applied({"other": ["a"]}, {"$setElementOrder/other": ["a"]})

    def test_maps_without_a_merge_key_cannot_be_ordered(self) -> None:
        with pytest.raises(ElementTypeError):
            applied({"atomic": [A]}, {"$setElementOrder/atomic": [A]})


class TestRetainKeys:
    def test_the_example_of_the_document(self) -> None:
        patch = {"union": {"$retainKeys": ["value", "name"], "value": "d", "name": "c"}}
        assert applied({"union": {"texts": {"a": "b"}, "name": "x"}}, patch) == {"union": {"name": "c", "value": "d"}}

    def test_what_it_names_is_kept(self) -> None:
        patch = {"union": {"$retainKeys": ["name", "value"], "value": "d"}}
        assert applied({"union": {"name": "kept", "texts": {}}}, patch) == {"union": {"name": "kept", "value": "d"}}

    def test_building_names_all_fields_and_deletes_the_others(self) -> None:
        assert built({"union": {"name": "a", "value": "v"}}, {"union": {"name": "b"}}) == {
            "union": {"$retainKeys": ["name"], "name": "b", "value": None}
        }

    def test_building_it_for_items_of_a_list(self) -> None:
        original = {"unions": [{"name": "a", "value": "v"}]}
        assert built(original, {"unions": [{"name": "a", "map": {"value": "w"}}]}) == {
            "$setElementOrder/unions": [A],
            "unions": [{"$retainKeys": ["map", "name"], "map": {"value": "w"}, "name": "a", "value": None}],
        }

    @pytest.mark.parametrize("retained", ["name", ["value"], {"name": 1}])
    def test_it_must_be_a_list_of_all_fields_in_the_patch(self, retained: Any) -> None:
        with pytest.raises(DirectiveError, match="invalid patch format of retainKeys"):
            applied({"union": {}}, {"union": {"$retainKeys": retained, "name": "a"}})

    def test_nulls_and_directives_need_not_be_in_it(self) -> None:
        patch = {"union": {"$retainKeys": ["set"], "value": None, "$setElementOrder/set": ["b", "a"]}}
        assert applied({"union": {"set": ["a", "b"], "value": "v"}}, patch) == {"union": {"set": ["b", "a"]}}


class TestNull:
    def test_new_maps_lose_their_nulls_but_lists_keep_theirs(self) -> None:
        patch = {"map": {"name": None, "value": "v", "numbers": [None], "atomic": [{"name": None, "value": "w"}]}}
        assert applied({}, patch) == {"map": {"value": "v", "numbers": [None], "atomic": [{"value": "w"}]}}

    def test_null_for_a_field_that_is_not_there_does_nothing(self) -> None:
        assert applied({"name": "a"}, {"value": None}) == {"name": "a"}

    def test_false_zero_and_empty_are_no_nulls(self) -> None:
        values: list[Any] = [False, 0, "", [], {}]
        for value in values:
            assert applied({"name": "a"}, {"value": value}) == {"name": "a", "value": value}


class TestWhatUpstreamRejects:
    def test_an_unknown_directive(self) -> None:
        for patch in ({"$patch": "explode"}, {"map": {"$patch": "explode"}}, {"list": [{"name": "a", "$patch": "x"}]}):
            with pytest.raises(DirectiveError, match="unknown patch type"):
                applied({"map": {}, "list": [A]}, patch)

    def test_an_item_without_the_merge_key(self) -> None:
        with pytest.raises(MergeKeyError, match="list: map does not contain declared merge key: name"):
            applied({"list": [A]}, {"list": [{"value": "v"}]})
        with pytest.raises(MergeKeyError, match="does not contain declared merge key"):
            built({"list": [A]}, {"list": [{"value": "v"}]})
        with pytest.raises(MergeKeyError, match="does not contain declared merge key"):
            applied({"list": [A]}, {"list": [{"$patch": "delete"}]})

    def test_a_merging_list_of_maps_without_a_declared_key(self) -> None:
        with pytest.raises(MergeKeyError):
            applied({"keyless": [A]}, {"keyless": [B]})
        with pytest.raises(MergeKeyError):
            built({"keyless": [A]}, {"keyless": [B]})

    def test_lists_of_lists(self) -> None:
        with pytest.raises(ElementTypeError, match="lists of lists are not supported"):
            applied({"set": [["a"]]}, {"set": [["b"]]})

    def test_items_of_different_types(self) -> None:
        for left, right in ((["a"], [1]), ([1], [1.5]), ([1], [True]), (["a"], [A])):
            with pytest.raises(ElementTypeError, match="list element types are not identical"):
                applied({"set": left}, {"set": right})

    def test_fields_that_the_schema_does_not_know_and_that_differ(self) -> None:
        assert strategic.two_way_patch({"other": {"a": 1}}, {"other": {"a": 1}}, SCHEMA) == {}
        with pytest.raises(UnknownFieldError, match=r'map\.other: unable to find api field "other"'):
            strategic.two_way_patch({"map": {"other": {"a": 1}}}, {"map": {"other": {"a": 2}}}, SCHEMA)

    def test_maps_of_maps_that_differ(self) -> None:
        with pytest.raises(MergeError, match="things"):
            strategic.two_way_patch({"things": {"a": {"map": A}}}, {"things": {"a": {"map": B}}}, SCHEMA)

    def test_documents_that_are_no_objects(self) -> None:
        bad: Any = ["not", "an", "object"]
        with pytest.raises(NotAnObjectError):
            strategic.apply_patch(bad, {}, SCHEMA)
        with pytest.raises(NotAnObjectError):
            strategic.two_way_patch({}, bad, SCHEMA)

    def test_documents_that_are_nested_without_bound(self) -> None:
        deep: Any = {}
        for _ in range(100_000):
            deep = {"map": deep}
        with pytest.raises(TooDeepError):
            strategic.apply_patch(deep, {"map": {"name": "a"}}, SCHEMA)
        with pytest.raises(TooDeepError):
            strategic.apply_patch({"name": "a"}, deep, SCHEMA)
        while deep:
            deep = deep.pop("map")  # taken apart here: the interpreter would recurse to free it

    def test_errors_name_the_field_and_no_values(self) -> None:
        live = {"map": {"list": [{"name": "a", "list": [{"name": "hunter2"}]}]}}
        patch = {"map": {"list": [{"name": "a", "list": [{"value": "hunter2"}]}]}}
        with pytest.raises(MergeKeyError) as caught:
            applied(live, patch)
        assert str(caught.value) == "map.list[name=a].list: map does not contain declared merge key: name"


class TestTypes:
    def test_one_one_point_zero_and_true_differ(self) -> None:
        values = (1, 1.0, True)
        for left in values:
            for right in values:
                patch = strategic.two_way_patch({"value": left}, {"value": right}, SCHEMA)
                assert (patch == {}) is (left is right)
                lists = strategic.two_way_patch({"numbers": [left]}, {"numbers": [right]}, SCHEMA)
                assert (lists == {}) is (left is right)

    def test_a_value_of_another_type_replaces(self) -> None:
        assert applied({"map": {"name": "a"}}, {"map": "text"}) == {"map": "text"}
        assert applied({"map": "text"}, {"map": {"name": "a", "value": None}}) == {"map": {"name": "a"}}


def test_directives_in_a_manifest_reach_a_two_way_patch() -> None:
    manifest = {"list": [A, {"name": "b", "$patch": "delete"}], "map": {"$patch": "replace", "value": "w"}}
    live = {"list": [A, B], "map": {"value": "v"}}
    patch = strategic.two_way_patch(live, manifest, SCHEMA)
    assert patch["list"] == [{"name": "b", "$patch": "delete"}]
    assert applied(live, patch) == {"list": [A], "map": {"value": "w"}}


def test_directives_in_a_manifest_are_left_out_of_a_three_way_patch_where_nothing_was_applied_before() -> None:
    schema = bundled("", "v1", "Pod")
    assert schema is not None
    live = {"spec": {"containers": [{"name": "a"}, {"name": "sidecar"}], "nodeSelector": {"foreign": "x"}}}
    manifest = {
        "spec": {
            "containers": [{"name": "a"}, {"name": "sidecar", "$patch": "delete"}],
            "nodeSelector": {"$patch": "replace", "own": "y"},
        }
    }
    patch = strategic.three_way_patch(None, manifest, live, schema)
    assert patch == {"spec": {"$setElementOrder/containers": [{"name": "a"}, {"name": "sidecar"}], "containers": []}}
    assert strategic.apply_patch(live, patch, schema) == live
