"""Watches that break, stall or begin too late, under the live cache."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import pytest

from syncd.cluster import EventType
from syncd.cluster.pacing import Pace
from syncd.cluster.scopes import Scope
from syncd.cluster.watch import Timing
from tests.faults.cluster.fakekube import CONFIG_MAPS, EXPIRED_EVENT, FakeKube, key, kind
from tests.faults.cluster.watcher import QUICK, Watcher, always, one_watch, started

if TYPE_CHECKING:
    from tests.faults.cluster.fakeapi import Exchange


def test_a_cut_watch_goes_on_where_it_was(server: FakeKube, watcher: Watcher) -> None:
    watcher.want(CONFIG_MAPS)
    server.wait_streams(1)
    server.put("a")
    watcher.until(lambda: len(watcher.events) == 1)
    server.mute()
    server.put("b")
    server.unmute()
    server.cut_streams()
    server.put("c")
    watcher.until(lambda: len(watcher.events) == 3)
    assert server.counts()["list"] == 1
    assert watcher.doubts() == {}


def test_a_bookmark_moves_the_place_where_a_watch_goes_on(server: FakeKube, watcher: Watcher) -> None:
    server.bookmark_at_start = True
    watcher.want(CONFIG_MAPS)
    watcher.until(lambda: watcher.cache._watches[Scope(CONFIG_MAPS)]._resource_version == "105")
    server.cut_streams()
    watcher.until(lambda: server.counts()["watch"] == 2)
    begun = [int(request.query["resourceVersion"]) for request in server.requests if "watch" in request.query]
    assert begun == [100, 105]


@pytest.mark.parametrize("how", ["status", "event"])
def test_a_compacted_history_is_listed_anew_and_nothing_is_missed(server: FakeKube, watcher: Watcher, how: str) -> None:
    for name in ("stays", "changes", "goes"):
        server.put(name)
    watcher.want(CONFIG_MAPS)
    server.wait_streams(1)
    server.mute()
    server.put("changes", {"v": "2"})
    server.remove("goes")
    server.put("comes")
    if how == "status":
        server.compact()
    else:
        server.spoil = one_watch(EXPIRED_EVENT, threading.Event())
    server.cut_streams()
    watcher.until(lambda: len(watcher.events) == 3)
    assert sorted(watcher.told()) == [
        (EventType.ADDED, key("comes")),
        (EventType.DELETED, key("goes")),
        (EventType.MODIFIED, key("changes")),
    ]
    assert server.counts()["list"] == 2
    assert watcher.doubts() == {}


def test_a_history_that_went_back_is_believed(server: FakeKube, watcher: Watcher) -> None:
    server.put("a", {"v": "1"})
    server.put("b")
    watcher.want(CONFIG_MAPS)
    server.wait_streams(1)
    server.mute()
    server.remove("b")
    server.rewind()
    server.cut_streams()
    watcher.until(lambda: watcher.data("b") is None)
    found = watcher.cache.get(key("a"))
    assert found is not None
    assert found.resource_version == "1"


def test_a_stalled_watch_is_noticed(server: FakeKube) -> None:
    timing = Timing(lifetime=(0.2, 0.2), grace=0.1, short=0, pace=QUICK.pace)
    server.mute()
    with started(server, timing) as watcher:
        watcher.want(CONFIG_MAPS)
        server.wait_streams(1)
        server.put("missed")
        server.unmute()  # only later streams hear of it
        watcher.until(lambda: watcher.data("missed") is not None)
        assert server.counts()["watch"] >= 2


def test_a_server_known_for_bookmarks_is_doubted_sooner(server: FakeKube) -> None:
    timing = Timing(lifetime=(60, 60), grace=60, bookmark_gap=0.2, short=0, pace=QUICK.pace)
    server.bookmark_at_start = True
    with started(server, timing) as watcher:
        watcher.want(CONFIG_MAPS)
        server.wait_streams(1)
        server.put("a")
        watcher.until(lambda: watcher.data("a") is not None)
        server.cut_streams()
        watcher.until(lambda: server.counts()["watch"] >= 4)
        assert server.counts()["list"] == 1


@pytest.mark.parametrize(
    "line",
    [
        b"{not json\n",
        b"[]\n",
        b'{"type": "ADDED"}\n',
        b'{"type": "ADDED", "object": {"metadata": {}}}\n',
        b'{"type": "ERROR", "object": {"kind": "Status", "code": 500, "message": "decode"}}\n',
    ],
)
def test_a_spoilt_event_loses_nothing(server: FakeKube, watcher: Watcher, line: bytes) -> None:
    answered = threading.Event()
    server.spoil = one_watch(line, answered)
    watcher.want(CONFIG_MAPS)
    watcher.until(answered.is_set)
    server.put("a")
    watcher.until(lambda: watcher.data("a") is not None)
    assert watcher.doubts() == {}


def test_while_everything_fails_there_is_at_most_one_try_in_each_spacing(server: FakeKube) -> None:
    spacing = 0.1
    kinds = [kind(number) for number in range(20)]
    timing = Timing(short=0, pace=Pace(first=0.01, cap=0.02, spacing=spacing, follow=0.01))
    server.spoil = always(lambda exchange: exchange.status(500, "InternalError"))
    with started(server, timing) as watcher:
        watcher.want(*kinds)
        watcher.until(lambda: len(server.requests) >= len(kinds))
        begin, before = time.monotonic(), len(server.requests)
        watcher.until(lambda: len(server.requests) >= before + 10)
        assert len(server.requests) - before <= (time.monotonic() - begin) / spacing + 2
        server.spoil = None
        assert watcher.doubts(*kinds) == {}
        server.wait_streams(len(kinds))


@pytest.mark.parametrize("status", [200, 410])
def test_watches_that_end_at_once_make_no_hot_loop(server: FakeKube, status: int) -> None:
    def end(exchange: Exchange) -> bool:
        if "watch" not in exchange.request.query:
            return False
        if status == 410:
            exchange.status(410, "Expired")
        else:
            exchange.begin_stream()
            exchange.end_stream()
        return True

    server.spoil = end
    spacing = 0.1
    timing = Timing(short=1, pace=Pace(first=spacing, cap=spacing, spacing=spacing, follow=0.01))
    with started(server, timing) as watcher:
        begin = time.monotonic()
        watcher.want(CONFIG_MAPS)
        watcher.until(lambda: server.counts()["watch"] >= 6)
        # each try is at most a list and a watch, but for the one list that an expiry is granted
        assert server.counts()["watch"] <= (time.monotonic() - begin) / (spacing / 2) + 3
        assert watcher.doubts(seconds=0) != {}


def test_a_server_that_is_away_leaves_what_is_known_but_in_doubt(server: FakeKube, watcher: Watcher) -> None:
    server.put("a")
    watcher.want(CONFIG_MAPS)
    server.wait_streams(1)
    server.stop()
    watcher.until(lambda: "reach" in watcher.doubts(seconds=0).get("ConfigMap", ""))
    assert watcher.data("a") == {}
    server.start()
    assert watcher.doubts() == {}
    server.put("b")
    watcher.until(lambda: watcher.data("b") is not None)
