"""What the live cache tells: changes by others, and nothing of our own writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from syncd.cluster import Event, EventType
from syncd.cluster.errors import ConflictError
from syncd.model import Write, WriteMethod
from tests.faults.cluster.fakekube import CONFIG_MAPS, FakeKube, key

if TYPE_CHECKING:
    from tests.faults.cluster.fakeapi import Exchange
    from tests.faults.cluster.watcher import Watcher

SAME = Write(WriteMethod.JSON_MERGE_PATCH, {"data": {}})


def test_one_list_and_one_watch_for_a_kind(server: FakeKube, watcher: Watcher) -> None:
    server.put("a", {"v": "1"})
    watcher.want(CONFIG_MAPS)
    assert watcher.doubts() == {}
    assert watcher.data("a") == {"v": "1"}
    server.wait_streams(1)
    assert watcher.doubts() == {}
    assert server.counts() == {"list": 1, "watch": 1}
    assert server.requests[0].query["labelSelector"] == "kubectl.kubernetes.io/apply-id"
    assert not watcher.events


def test_an_object_says_who_owns_it_without_being_parsed(server: FakeKube, watcher: Watcher) -> None:
    server.put("a", owner="me")
    server.put("b", owner="you")
    watcher.want(CONFIG_MAPS)
    watcher.doubts()
    (mine,) = watcher.cache.of_owner("me")
    assert (mine.key, mine.apply_id, mine.owner, mine.uid) == (key("a"), "me", "me", "uid-1")
    assert mine.parse()["kind"] == "ConfigMap"


def test_changes_by_others_become_events(server: FakeKube, watcher: Watcher) -> None:
    server.put("a", {"v": "1"})
    watcher.want(CONFIG_MAPS)
    watcher.doubts()
    server.put("a", {"v": "2"})
    server.put("b")
    server.remove("b")
    watcher.until(lambda: len(watcher.events) == 3)
    assert watcher.told() == [
        (EventType.MODIFIED, key("a")),
        (EventType.ADDED, key("b")),
        (EventType.DELETED, key("b")),
    ]
    change = watcher.events[0]
    assert change.old is not None
    assert change.new is not None
    assert (change.old.parse()["data"], change.new.parse()["data"]) == ({"v": "1"}, {"v": "2"})


def test_our_own_writes_are_known_at_once_and_are_no_news(server: FakeKube, watcher: Watcher) -> None:
    watcher.want(CONFIG_MAPS)
    watcher.doubts()
    server.mute()
    watcher.cache.record_write(server.put("a", {"v": "mine"}))
    assert watcher.data("a") == {"v": "mine"}
    watcher.cache.record_deletion(key("a"), server.remove("a"))
    assert watcher.data("a") is None
    server.put("other")
    server.unmute()
    server.cut_streams()
    watcher.until(lambda: watcher.data("other") is not None)
    assert watcher.told() == [(EventType.ADDED, key("other"))]


@pytest.mark.parametrize("first", ["event", "answer"])
def test_a_write_of_ours_is_no_news_whether_its_event_or_its_answer_comes_first(
    server: FakeKube, watcher: Watcher, first: str
) -> None:
    server.put("a")
    watcher.want(CONFIG_MAPS)
    server.wait_streams(1)

    def patch(exchange: Exchange) -> bool:
        if exchange.request.method != "PATCH":
            return False
        if first == "answer":
            server.mute()
        written = server.put("a", {"v": "ours"})
        if first == "event":
            watcher.until(lambda: watcher.data("a") == {"v": "ours"})
        exchange.reply(written)
        return True

    server.spoil = patch
    watcher.client.patch(CONFIG_MAPS, "shop", "a", SAME)
    assert watcher.data("a") == {"v": "ours"}
    server.unmute()
    server.cut_streams()
    server.put("b")
    watcher.until(lambda: watcher.data("b") is not None)
    assert watcher.told() == [(EventType.ADDED, key("b"))]


def test_what_somebody_else_did_just_before_our_write_is_told(server: FakeKube, watcher: Watcher) -> None:
    server.put("a", {"v": "1"})
    watcher.want(CONFIG_MAPS)
    server.wait_streams(1)

    def patch(exchange: Exchange) -> bool:
        if exchange.request.method != "PATCH":
            return False
        server.put("a", {"v": "theirs"})
        exchange.reply(server.put("a", {"v": "theirs", "w": "ours"}))
        return True

    server.mute()
    server.spoil = patch
    watcher.client.patch(CONFIG_MAPS, "shop", "a", SAME)
    server.unmute()
    server.cut_streams()
    watcher.until(lambda: len(watcher.events) == 1)
    (event,) = watcher.events
    assert event.old is not None
    assert event.new is not None
    assert (event.old.parse()["data"], event.new.parse()["data"]) == ({"v": "1"}, {"v": "theirs"})
    assert watcher.data("a") == {"v": "theirs", "w": "ours"}


@pytest.mark.parametrize("first", ["event", "answer"])
def test_a_deletion_of_ours_is_no_news(server: FakeKube, watcher: Watcher, first: str) -> None:
    uid = server.put("a")["metadata"]["uid"]
    watcher.want(CONFIG_MAPS)
    server.wait_streams(1)

    def delete(exchange: Exchange) -> bool:
        if exchange.request.method != "DELETE":
            return False
        server.remove("a")
        if first == "event":
            watcher.until(lambda: watcher.data("a") is None)
        exchange.reply({"kind": "Status", "status": "Success"})
        return True

    server.spoil = delete
    watcher.client.delete(CONFIG_MAPS, "shop", "a", Write(WriteMethod.DELETE, uid=uid))
    assert watcher.data("a") is None
    server.put("b")
    watcher.until(lambda: watcher.data("b") is not None)
    assert watcher.told() == [(EventType.ADDED, key("b"))]


def test_a_write_that_fails_hides_nothing(server: FakeKube, watcher: Watcher) -> None:
    server.put("a")
    watcher.want(CONFIG_MAPS)
    server.wait_streams(1)

    def refuse(exchange: Exchange) -> bool:
        if exchange.request.method != "PATCH":
            return False
        server.put("a", {"v": "theirs"})
        watcher.until(lambda: watcher.data("a") == {"v": "theirs"})
        exchange.status(409, "Conflict")
        return True

    server.spoil = refuse
    with pytest.raises(ConflictError):
        watcher.client.patch(CONFIG_MAPS, "shop", "a", SAME)
    watcher.until(lambda: watcher.told() == [(EventType.MODIFIED, key("a"))])


def test_a_subscriber_that_fails_does_not_end_the_watch(server: FakeKube, watcher: Watcher) -> None:
    def broken(event: Event) -> None:
        raise RuntimeError(event.key)

    watcher.cache.subscribe(broken)
    watcher.want(CONFIG_MAPS)
    server.wait_streams(1)
    server.put("a")
    server.put("b")
    watcher.until(lambda: len(watcher.events) == 2)
