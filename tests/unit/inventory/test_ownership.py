from __future__ import annotations

from typing import Any

import pytest

from syncd.inventory import Owner, Ownership, names
from syncd.inventory.ownership import controller, named_owner, release_patch

OURS = Owner("uid-1", "syncd/shop")


def config_map(**annotations: str) -> dict[str, Any]:
    return {"kind": "ConfigMap", "metadata": {"name": "a", "resourceVersion": "5", "annotations": annotations}}


def test_marking_leaves_the_object_itself_alone() -> None:
    document = config_map(mine="yes")
    marked = OURS.mark(document)
    assert document == config_map(mine="yes")
    assert marked["metadata"]["annotations"] == {
        "mine": "yes",
        names.OWNER_ANNOTATION: "uid-1",
        names.SYNC_ANNOTATION: "syncd/shop",
    }
    assert marked["metadata"]["labels"] == {names.APPLY_ID_LABEL: "uid-1"}


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        ({}, Ownership.NOBODY),
        ({names.OWNER_ANNOTATION: "uid-1"}, Ownership.OURS),
        ({names.OWNER_ANNOTATION: "uid-1", names.SYNC_ANNOTATION: "syncd/shop"}, Ownership.OURS),
        ({names.OWNER_ANNOTATION: "uid-1", names.SYNC_ANNOTATION: "syncd/other"}, Ownership.OTHER),
        ({names.OWNER_ANNOTATION: "uid-2"}, Ownership.OTHER),
        ({names.OWNER_ANNOTATION: "uid-2", names.SYNC_ANNOTATION: "syncd/other"}, Ownership.OTHER),
        ({names.OWNER_ANNOTATION: "uid-2", names.SYNC_ANNOTATION: "syncd/shop"}, Ownership.FORMERLY_OURS),
    ],
)
def test_an_object_is_judged_by_its_marks(annotations: dict[str, str], expected: Ownership) -> None:
    assert OURS.judge(config_map(**annotations)) is expected


@pytest.mark.parametrize(
    ("uid", "sync", "expected"),
    [
        ("uid-1", "syncd/shop", True),
        ("uid-0", "syncd/shop", True),
        ("uid-0", "syncd/other", False),
        ("uid-0", "", False),
        ("uid-9", "syncd/shop", False),
    ],
)
def test_what_names_an_apply_config_object_whose_list_was_taken_over_is_owned(
    uid: str, sync: str, *, expected: bool
) -> None:
    live = config_map(**{names.OWNER_ANNOTATION: uid, names.SYNC_ANNOTATION: sync})
    assert OURS._replace(former=frozenset({"uid-0"})).owns(live) is expected


def test_without_an_apply_config_object_nothing_is_ours() -> None:
    assert Owner("", "syncd/shop").judge(config_map()) is Ownership.NOBODY


def test_the_named_owner_is_the_sync_where_one_is_named() -> None:
    assert named_owner(config_map(**{names.OWNER_ANNOTATION: "u", names.SYNC_ANNOTATION: "a/b"})) == "a/b"
    assert named_owner(config_map(**{names.OWNER_ANNOTATION: "u"})) == "u"


def test_only_a_controller_reference_makes_a_controller() -> None:
    document = config_map()
    document["metadata"]["ownerReferences"] = [{"kind": "Service", "name": "web"}]
    assert controller(document) == ""
    document["metadata"]["ownerReferences"].append({"kind": "Service", "name": "web", "controller": True})
    assert controller(document) == "Service web"


def test_releasing_takes_every_mark_off_on_the_condition_that_nothing_changed() -> None:
    patch = release_patch(config_map())
    assert patch["metadata"]["resourceVersion"] == "5"
    assert set(patch["metadata"]["annotations"]) | set(patch["metadata"]["labels"]) == names.MARKS
