from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from syncd.cluster import store
from syncd.cluster.live import EventType, LiveObject
from syncd.cluster.store import KindStore
from syncd.inventory.names import APPLY_ID_LABEL
from syncd.model import ObjectKey


def obj(version: int, *, uid: str = "u", name: str = "a", label: str = "me", value: str = "") -> LiveObject:
    labels = {APPLY_ID_LABEL: label} if label else {}
    metadata: dict[str, Any] = {
        "name": name,
        "namespace": "shop",
        "uid": uid,
        "resourceVersion": str(version),
        "labels": labels,
    }
    return LiveObject({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"value": value}})


KEY = ObjectKey("shop", "", "ConfigMap", "a")


def version_in(kept: KindStore) -> int | None:
    found = kept.get(KEY)
    return None if found is None else found.version


def test_an_event_with_the_recorded_version_is_no_news() -> None:
    kept = KindStore()
    kept.record_write(obj(5))
    assert kept.see(obj(5)) is None
    assert kept.see(obj(4)) is None
    event = kept.see(obj(6))
    assert event is not None
    assert event.type is EventType.MODIFIED


def test_versions_are_compared_as_numbers() -> None:
    kept = KindStore()
    kept.record_write(obj(9))
    kept.record_write(obj(10))
    assert version_in(kept) == 10


def test_an_older_answer_does_not_undo_a_newer_event() -> None:
    kept = KindStore()
    kept.see(obj(7))
    kept.record_write(obj(6))
    assert version_in(kept) == 7


def test_what_was_deleted_does_not_come_back_from_an_older_event_or_answer() -> None:
    kept = KindStore()
    kept.see(obj(5))
    kept.record_deletion(KEY, "u")
    assert kept.see(obj(6)) is None
    kept.record_write(obj(7))
    assert version_in(kept) is None
    assert kept.see_deleted(obj(8)) is None


def test_a_late_answer_does_not_bring_back_what_a_watch_saw_deleted() -> None:
    kept = KindStore()
    kept.see(obj(5))
    assert kept.see_deleted(obj(8)) is not None
    kept.record_write(obj(7))
    assert version_in(kept) is None


def test_an_object_that_was_recreated_is_another_one() -> None:
    kept = KindStore()
    kept.see(obj(5))
    kept.record_deletion(KEY, "u")
    event = kept.see(obj(9, uid="v"))
    assert event is not None
    assert event.type is EventType.ADDED
    assert kept.see_deleted(obj(8, uid="u")) is None
    assert version_in(kept) == 9


def test_losing_the_owner_label_is_a_deletion_that_a_repair_undoes() -> None:
    kept = KindStore()
    kept.see(obj(5))
    lost = kept.see_deleted(obj(6))
    assert lost is not None
    assert lost.type is EventType.DELETED
    kept.record_write(obj(7))
    assert version_in(kept) == 7


def test_a_repair_that_is_known_before_the_loss_is_not_undone_by_it() -> None:
    kept = KindStore()
    kept.see(obj(5))
    kept.record_write(obj(7))
    assert kept.see_deleted(obj(6)) is None
    assert kept.see(obj(7)) is None
    assert version_in(kept) == 7


def test_an_object_that_we_took_the_label_from_is_forgotten() -> None:
    kept = KindStore()
    kept.see(obj(5))
    kept.record_write(obj(6, label=""))
    assert version_in(kept) is None
    assert kept.see(obj(5)) is None
    assert kept.see_deleted(obj(6)) is None


def test_a_list_removes_what_is_not_in_it_but_not_what_we_wrote_meanwhile() -> None:
    kept = KindStore()
    kept.see(obj(5))
    kept.begin_list()
    kept.record_write(obj(9, uid="n", name="new"))
    kept.record_write(obj(10))
    events = kept.replace([obj(8)])
    assert version_in(kept) == 10
    assert events == []
    assert len(kept) == 2
    kept.begin_list()
    events = kept.replace([obj(10)])
    assert [(event.type, event.key.name) for event in events] == [(EventType.DELETED, "new")]


def test_a_list_does_not_bring_back_what_we_deleted_meanwhile() -> None:
    kept = KindStore()
    kept.see(obj(5))
    kept.begin_list()
    kept.record_deletion(KEY, "u")
    assert kept.replace([obj(5)]) == []
    assert version_in(kept) is None


def test_a_late_answer_does_not_bring_back_what_was_gone_when_a_list_was_made() -> None:
    kept = KindStore()
    kept.see(obj(5))
    kept.begin_list()
    kept.replace([], "9")
    kept.record_write(obj(7))
    kept.record_write(obj(8, uid="v", name="b"))
    assert not kept.objects()
    kept.record_write(obj(10))
    assert version_in(kept) == 10, "it had only lost its label"


def test_a_list_is_believed_though_versions_went_back() -> None:
    kept = KindStore()
    kept.see(obj(500))
    kept.see(obj(600, uid="w", name="b"))
    kept.see_deleted(obj(700, uid="w", name="b"))
    kept.begin_list()
    events = kept.replace([obj(3, value="old"), obj(2, uid="w", name="b")])
    assert version_in(kept) == 3
    assert len(events) == 2
    assert kept.see(obj(4)) is not None


def test_an_object_without_a_numeric_version_is_taken_when_it_differs() -> None:
    kept = KindStore()
    for version, news in (("x", True), ("x", False), ("y", True)):
        item = obj(0)
        item.resource_version = version
        assert (kept.see(item) is not None) is news


def test_only_so_many_deletions_are_remembered() -> None:
    kept = KindStore()
    for number in range(store.TOMBSTONES + 5):
        kept.record_deletion(KEY, str(number))
    assert len(kept._tombstones) == store.TOMBSTONES


def test_objects_are_packed_against_a_sample_and_come_out_whole() -> None:
    kept = KindStore()
    labels = {APPLY_ID_LABEL: "me"}
    whole = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "a", "labels": labels},
        "data": {str(n): "é" for n in range(99)},
    }
    kept.pack({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "the-inventory"}})  # like no other
    first = kept.pack(whole)
    second = kept.pack({**whole, "metadata": {"name": "b", "labels": labels}})
    assert first.parse() == whole
    assert second.parse()["metadata"] == {"name": "b", "labels": labels}
    assert second.packed_size < 60


Item = tuple[str, LiveObject]


def play(history: list[str]) -> tuple[list[Item], list[Item]]:
    """What a watch and what our requests' answers say of a history of writes, foreign writes and deletions by us."""
    events: list[Item] = []
    answers: list[Item] = []
    uid, alive = 0, False
    for version, what in enumerate(history, start=1):
        if what == "delete":
            if alive:
                events.append(("DELETED", obj(version, uid=str(uid))))
                answers.append(events[-1])
            alive = False
            continue
        uid += not alive
        alive = True
        events.append(("SEEN", obj(version, uid=str(uid))))
        if what == "write":
            answers.append(events[-1])
    return events, answers


@given(
    st.lists(st.sampled_from(["write", "foreign", "delete"]), min_size=1, max_size=12),
    st.randoms(use_true_random=False),
)
def test_whatever_order_news_arrives_in_the_end_is_the_truth(history: list[str], random: Any) -> None:
    """Our answers may come before or after the watch's events, but the events come in order and all come."""
    events, answers = play(history)
    news = [("watch", item) for item in events]
    for answer in answers:
        news.insert(random.randint(0, len(news)), ("answer", answer))
    kept = KindStore()
    told: set[int] = set()
    for source, (what, item) in news:
        if source == "watch":
            event = kept.see(item) if what == "SEEN" else kept.see_deleted(item)
            told.update([event.new.version] if event is not None and event.new is not None else ())
        elif what == "SEEN":
            kept.record_write(item)
        else:
            kept.record_deletion(item.key, item.uid)
    expected = events[-1][1].version if events and events[-1][0] == "SEEN" else None
    assert version_in(kept) == expected
    if "delete" not in history:
        assert told >= {version for version, what in enumerate(history, start=1) if what == "foreign"}


@given(st.lists(st.sampled_from(["write", "foreign", "delete", "list", "nothing"]), max_size=15))
def test_equal_counts_of_changes_say_that_the_objects_are_equal(history: list[str]) -> None:
    kept = KindStore()
    for version, what in enumerate(history, start=1):
        before, counted = kept.get(KEY), kept.changes("me")
        if what == "write":
            kept.record_write(obj(version))
        elif what == "foreign":
            kept.see(obj(version))
        elif what == "delete":
            kept.see_deleted(obj(version))
        elif what == "list":
            kept.begin_list()
            kept.replace([obj(version)] if version % 2 else [])
        assert (kept.get(KEY) is before) == (kept.changes("me") == counted)
        assert kept.changed_since("me", counted) == frozenset({KEY} if kept.get(KEY) is not before else ())


def test_changes_are_named_for_as_long_as_they_are_remembered() -> None:
    kept = KindStore()
    for number in range(store.LAST_CHANGES):
        kept.see(obj(number + 1, uid=str(number), name=str(number)))
    last_two = frozenset(KEY._replace(name=str(store.LAST_CHANGES - back)) for back in (1, 2))
    assert kept.changed_since("me", store.LAST_CHANGES - 2) == last_two
    assert len(kept.changed_since("me", 0) or ()) == store.LAST_CHANGES
    kept.see(obj(store.LAST_CHANGES + 1))
    assert kept.changed_since("me", 0) is None, "one has been forgotten"
    assert kept.changed_since("me", 2 * store.LAST_CHANGES) is None, "those were counted by another store"


def test_what_happens_to_objects_of_others_changes_no_count_of_mine() -> None:
    kept = KindStore()
    kept.see(obj(1))
    counted = kept.changes("me")
    kept.see(obj(2, uid="v", name="b", label="you"))
    assert kept.changes("me") == counted
    kept.see(obj(3, label="you"))
    assert kept.changes("me") == counted + 1
