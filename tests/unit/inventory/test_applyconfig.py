from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncd.inventory import ApplyConfig, InventoryTooLargeError, names
from syncd.inventory.applyconfig import ForeignApplyConfigError, decode, encode, list_hash
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
    document = config.document(keys, final)
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


def test_a_list_that_does_not_fit_is_refused_with_its_size() -> None:
    keys = frozenset(ObjectKey("namespace", "apps", "Deployment", f"name-{number:040}") for number in range(4000))
    with pytest.raises(InventoryTooLargeError, match="4000 objects"):
        ApplyConfig("syncd", "shop").document(keys, keys)


def test_the_write_is_conditional_once_the_object_is_there() -> None:
    fresh = ApplyConfig("syncd", "shop")
    known = ApplyConfig("syncd", "shop", uid="u1", resource_version="42")
    assert "resourceVersion" not in fresh.document(frozenset(), frozenset())["metadata"]
    assert known.document(frozenset(), frozenset())["metadata"]["resourceVersion"] == "42"
