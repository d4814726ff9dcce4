from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncd.sandbox.kinds import GroupResource
from syncd.sandbox.storage import Change, Storage

THINGS = GroupResource("", "things")


def thing(name: str, namespace: str = "", **fields: Any) -> dict[str, Any]:
    return {"kind": "Thing", "apiVersion": "v1", "metadata": {"name": name, "namespace": namespace}} | fields


def names(storage: Storage, **options: Any) -> list[str]:
    return [stored.object["metadata"]["name"] for _, stored in storage.entries(THINGS, **options)]


def test_each_write_has_the_next_revision_and_says_so_in_the_object() -> None:
    storage = Storage(10)
    first, second = storage.put(THINGS, thing("a")), storage.put(THINGS, thing("a", x=1))
    assert second.revision == first.revision + 1 == storage.revision
    assert second.object["metadata"]["resourceVersion"] == str(second.revision)


def test_a_stored_object_is_not_the_one_that_was_handed_in() -> None:
    given_object = thing("a")
    Storage(10).put(THINGS, given_object)
    assert "resourceVersion" not in given_object["metadata"]


def test_entries_come_in_the_order_of_etcd() -> None:
    storage = Storage(10)
    for namespace, name in (("b", "a"), ("a-b", "z"), ("a", "z"), ("a", "b")):
        storage.put(THINGS, thing(name, namespace))
    keys = [key for key, _ in storage.entries(THINGS)]
    assert keys == ["a-b/z", "a/b", "a/z", "b/a"]


def test_a_namespace_shows_no_objects_of_one_that_begins_alike() -> None:
    storage = Storage(10)
    for namespace in ("a", "a-b", "ab"):
        storage.put(THINGS, thing("x", namespace))
    assert [stored.object["metadata"]["namespace"] for _, stored in storage.entries(THINGS, "a")] == ["a"]


def test_the_encoding_leaves_the_type_out() -> None:
    assert b"Thing" not in Storage(10).put(THINGS, thing("a", x=1)).tail


def test_a_past_state_is_what_was_there_then() -> None:
    storage = Storage(10)
    storage.put(THINGS, thing("kept", x=1))
    storage.put(THINGS, thing("gone"))
    then = storage.revision
    storage.put(THINGS, thing("kept", x=2))
    storage.put(THINGS, thing("new"))
    storage.remove(THINGS, thing("gone"))
    past = storage.entries_at(THINGS, then)
    assert past is not None
    assert [(stored.object["metadata"]["name"], stored.object.get("x")) for _, stored in past] == [
        ("gone", None),
        ("kept", 1),
    ]


def test_a_past_before_the_history_is_forgotten() -> None:
    storage = Storage(2)
    storage.put(THINGS, thing("a"))
    then = storage.revision
    assert storage.entries_at(THINGS, then) is not None
    for number in range(3):
        storage.put(THINGS, thing("a", x=number))
    assert storage.entries_at(THINGS, then) is None
    assert storage.compacted(THINGS) == then + 1


def test_compacting_forgets_all_changes() -> None:
    storage = Storage(10)
    storage.put(THINGS, thing("a"))
    storage.compact()
    assert storage.compacted(THINGS) == storage.revision
    assert storage.since(THINGS, 0) == []


def test_listeners_hear_of_every_change_until_they_leave() -> None:
    storage = Storage(10)
    heard: list[Change] = []
    storage.subscribe(THINGS, heard.append)
    storage.put(THINGS, thing("a"))
    storage.put(THINGS, thing("a", x=1))
    storage.remove(THINGS, thing("a"))
    storage.unsubscribe(THINGS, heard.append)
    storage.put(THINGS, thing("a"))
    assert [change.type for change in heard] == ["ADDED", "MODIFIED", "DELETED"]
    assert heard[1].previous is heard[0].stored


def test_a_removal_shows_the_last_state_at_the_revision_of_the_removal() -> None:
    storage = Storage(10)
    storage.put(THINGS, thing("a"))
    removed = storage.remove(THINGS, thing("a"))
    assert removed.object["metadata"]["resourceVersion"] == str(storage.revision)


def test_removing_what_is_not_there_is_a_mistake() -> None:
    with pytest.raises(KeyError):
        Storage(10).remove(THINGS, thing("a"))


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.booleans()), max_size=30), st.data())
def test_every_past_state_in_the_history_can_be_seen(writes: list[tuple[str, bool]], data: st.DataObject) -> None:
    storage = Storage(100)
    states: dict[int, list[str]] = {storage.revision: []}
    for name, keep in writes:
        if keep:
            storage.put(THINGS, thing(name))
        elif storage.get(THINGS, "", name):
            storage.remove(THINGS, thing(name))
        states[storage.revision] = names(storage)
    revision = data.draw(st.sampled_from(sorted(states)))
    past = storage.entries_at(THINGS, revision)
    assert past is not None
    assert [stored.object["metadata"]["name"] for _, stored in past] == states[revision]
