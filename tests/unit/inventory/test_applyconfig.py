from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncd.inventory import ApplyConfig, names
from syncd.inventory.applyconfig import ForeignApplyConfigError, pages_named
from syncd.inventory.former import Former
from syncd.inventory.keylist import decode, encode, list_hash
from syncd.inventory.pages import document as page_document
from syncd.model import ObjectKey

_PART = st.text(st.characters(exclude_characters=":\n", codec="utf-8"), max_size=8)
_NAME = st.text("abc:.-", min_size=1, max_size=12)
_KEYS = st.frozensets(
    st.builds(ObjectKey, _PART, _PART, _PART.filter(str.strip), _NAME),
    max_size=8,
)

WEB = ObjectKey("shop", "apps", "Deployment", "web")
ROLE = ObjectKey("", "rbac.authorization.k8s.io", "ClusterRole", "system:shop:reader")


def stored(config: ApplyConfig, keys: frozenset[ObjectKey], final: frozenset[ObjectKey]) -> dict[str, Any]:
    """The object as a server would have it after the write."""
    document = config.document(keys, final, ())
    metadata = {**document["metadata"], "uid": "u1", "resourceVersion": "7"}
    return {**document, "metadata": metadata}


@given(_KEYS)
def test_a_list_of_keys_survives_writing_and_reading(keys: frozenset[ObjectKey]) -> None:
    assert decode(encode(keys)) == keys


@given(_KEYS, _KEYS)
def test_two_lists_have_one_hash_only_if_they_are_equal(one: frozenset[ObjectKey], other: frozenset[ObjectKey]) -> None:
    assert (list_hash(one) == list_hash(other)) == (one == other)


def test_the_list_is_sorted_and_one_key_a_line() -> None:
    assert encode({WEB, ROLE}) == (
        ":rbac.authorization.k8s.io:ClusterRole:system:shop:reader\nshop:apps:Deployment:web\n"
    )


def test_a_hash_fits_into_a_label() -> None:
    assert len(list_hash({WEB})) <= 63


def test_a_finished_list_reads_as_finished_and_sound() -> None:
    config = ApplyConfig.read(stored(ApplyConfig("syncd", "shop"), frozenset({WEB}), frozenset({WEB})))
    assert config.keys == {WEB}
    assert config.finished
    assert not config.damage


def test_a_list_between_union_and_trim_is_sound_but_not_finished() -> None:
    config = ApplyConfig.read(stored(ApplyConfig("syncd", "shop"), frozenset({WEB, ROLE}), frozenset({WEB})))
    assert config.keys == {WEB, ROLE}
    assert not config.finished
    assert not config.damage


@pytest.mark.parametrize("edit", ["", "shop:apps:Deployment:other\n", "no key at all\n"])
def test_a_list_that_somebody_edited_is_in_doubt(edit: str) -> None:
    document = stored(ApplyConfig("syncd", "shop"), frozenset({WEB}), frozenset({WEB}))
    document["metadata"]["annotations"][names.OBJECTS_ANNOTATION] = edit
    assert ApplyConfig.read(document).damage


def test_doubt_stays_when_the_list_is_written_again() -> None:
    damaged = ApplyConfig("syncd", "shop", uid="u1", keys=frozenset({WEB}), damage="edited")
    written = ApplyConfig.read(stored(damaged, frozenset({WEB, ROLE}), frozenset({WEB, ROLE})))
    assert written.keys == {WEB, ROLE}
    assert written.damage


def test_doubt_ends_when_a_person_takes_the_recorded_hash_away() -> None:
    damaged = ApplyConfig("syncd", "shop", uid="u1", keys=frozenset({WEB}), damage="edited")
    document = stored(damaged, frozenset({WEB}), frozenset({WEB}))
    del document["metadata"]["annotations"][names.LIST_HASH_ANNOTATION]
    assert not ApplyConfig.read(document).damage


def test_an_object_of_that_name_that_is_no_apply_config_object_is_refused() -> None:
    document = {
        "kind": "ConfigMap",
        "metadata": {"name": "shop", "namespace": "syncd", "uid": "u", "resourceVersion": "1"},
    }
    with pytest.raises(ForeignApplyConfigError, match="syncd/shop is not an apply-config object"):
        ApplyConfig.read(document)


def test_a_list_without_its_label_is_in_doubt() -> None:
    document = stored(ApplyConfig("syncd", "shop"), frozenset({WEB}), frozenset({WEB}))
    document["metadata"]["labels"] = {}
    config = ApplyConfig.read(document)
    assert config.damage
    assert config.keys == {WEB}


def test_a_list_of_another_tool_without_any_hash_is_taken_as_it_is() -> None:
    document = {
        "kind": "ConfigMap",
        "metadata": {
            "name": "shop",
            "namespace": "syncd",
            "uid": "u",
            "resourceVersion": "1",
            "labels": {names.APPLY_CFG_LABEL: "true"},
            "annotations": {names.OBJECTS_ANNOTATION: "\nshop:apps:Deployment:web\n"},
        },
    }
    config = ApplyConfig.read(document)
    assert config.keys == {WEB}
    assert not config.damage


def test_nothing_is_written_when_the_server_says_it_already() -> None:
    config = ApplyConfig("syncd", "shop", uid="u1", keys=frozenset({WEB}), finished=True)
    assert not config.needs_write(frozenset({WEB}), frozenset({WEB}))
    assert config.needs_write(frozenset({WEB, ROLE}), frozenset({WEB, ROLE}))
    assert config.needs_write(frozenset({WEB}), frozenset())


MANY = frozenset(ObjectKey("namespace", "apps", "Deployment", f"name-{number:040}") for number in range(25_000))


def paged(keys: frozenset[ObjectKey]) -> tuple[dict[str, Any], dict[str, Any]]:
    """A long list as a server would have it: the first page, and the others by name."""
    config = ApplyConfig("syncd", "shop", uid="u1")
    pages = config.pages_of(keys)
    first = config.document(keys, keys, pages)
    first["metadata"] = {**first["metadata"], "uid": "u1", "resourceVersion": "7"}
    others = {page.name: page_document(page, text, "syncd", config.reference) for page, text in pages.items()}
    return first, others


def test_a_short_list_has_no_pages() -> None:
    assert not ApplyConfig("syncd", "shop").pages_of(frozenset({WEB}))


def test_a_long_list_survives_writing_and_reading() -> None:
    first, others = paged(MANY)
    config = ApplyConfig.read(first, others)
    assert config.keys == MANY
    assert config.finished
    assert not config.damage
    assert {page.name for page in pages_named(first)} == others.keys()
    assert all(len(page["data"]["objects"]) < 1 << 20 for page in others.values())


def test_one_change_of_a_long_list_makes_one_page_anew() -> None:
    _, before = paged(MANY)
    _, after = paged(MANY | {WEB})
    assert len(before.keys() - after.keys()) == 1
    assert len(after.keys() - before.keys()) == 1


def test_a_page_that_is_missing_puts_the_list_in_doubt() -> None:
    first, others = paged(MANY)
    del others[min(others)]
    config = ApplyConfig.read(first, others)
    assert "missing" in config.damage
    assert config.keys
    assert not config.finished


@pytest.mark.parametrize("edit", ["", "namespace:apps:Deployment:other\n", "no key at all\n"])
def test_a_page_that_somebody_edited_puts_the_list_in_doubt(edit: str) -> None:
    first, others = paged(MANY)
    others[min(others)]["data"]["objects"] = edit
    assert "changed by somebody else" in ApplyConfig.read(first, others).damage


@pytest.mark.parametrize("edit", ["", "nonsense", "a b c\n"])
def test_an_edited_list_of_pages_puts_the_list_in_doubt(edit: str) -> None:
    first, others = paged(MANY)
    first["metadata"]["annotations"][names.PAGES_ANNOTATION] = edit
    assert ApplyConfig.read(first, others).damage


def test_the_write_is_conditional_once_the_object_is_there() -> None:
    fresh = ApplyConfig("syncd", "shop")
    known = ApplyConfig("syncd", "shop", uid="u1", resource_version="42")
    assert "resourceVersion" not in fresh.document(frozenset(), frozenset(), ())["metadata"]
    assert known.document(frozenset(), frozenset(), ())["metadata"]["resourceVersion"] == "42"


LIST = ObjectKey("shop", "", "ConfigMap", "list")


def test_a_list_that_moves_takes_what_is_there_and_where_it_was_along() -> None:
    before = ApplyConfig(
        "shop", "list", "u1", "7", frozenset({WEB}), finished=True, brought=True, moved_from=(Former("u0", ROLE),)
    )
    there = ApplyConfig("shop", "other", "u2", "9", frozenset({ROLE}), brought=True)
    moved = there.taking_over(before)
    assert moved.keys == {WEB, ROLE, LIST}
    assert moved.moved_from == (Former("u0", ROLE), Former("u1", LIST))
    assert moved.owner("syncd/shop").former == {"u0", "u1"}
    assert (moved.uid, moved.resource_version, moved.finished) == ("u2", "9", True)
    back = before.taking_over(moved)
    assert back.key not in back.keys
    assert {former.uid for former in back.moved_from} == {"u0", "u2"}


def test_where_a_list_was_survives_writing_and_reading_until_it_is_forgotten() -> None:
    config = ApplyConfig("shop", "list", "u1", "7", moved_from=(Former("u0", ROLE),))
    document = stored(config, frozenset({WEB}), frozenset({WEB}))
    assert ApplyConfig.read(document).moved_from == config.moved_from
    patch = config.document(frozenset({WEB}), frozenset({WEB}), forget=True)
    assert patch["metadata"]["annotations"][names.MOVED_ANNOTATION] is None
    assert ApplyConfig("shop", "list", "u1", finished=True, moved_from=config.moved_from).needs_write(
        frozenset(), frozenset(), forget=True
    )


def test_doubt_and_approval_move_with_the_list() -> None:
    damaged = ApplyConfig("syncd", "shop", "u1", damage="edited", approval="a" * 40)
    moved = ApplyConfig("shop", "list", "u2", brought=True).taking_over(damaged)
    assert (moved.damage, moved.approval) == ("edited", "a" * 40)
    assert ApplyConfig.read(stored(moved, frozenset({WEB}), frozenset({WEB}))).damage


def test_an_object_with_contents_of_its_own_has_less_room_for_the_list() -> None:
    many = frozenset(WEB._replace(name=f"web-{number:05}-{'x' * 40}") for number in range(2_000))
    assert not ApplyConfig("shop", "list").pages_of(many)
    assert ApplyConfig("shop", "list", brought=True).pages_of(many)


def test_pages_are_named_so_that_a_server_takes_them_and_never_shared() -> None:
    (one, *_) = sorted(ApplyConfig("", "system:List..of", "u1").pages_of(MANY))
    (other, *_) = sorted(ApplyConfig("", "system:List..of", "u2").pages_of(MANY))
    assert re.fullmatch(r"system-list-of\.[0-9a-f]{16}", one.name)
    assert one.name != other.name
