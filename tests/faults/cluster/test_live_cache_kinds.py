"""The live cache and its kinds: those that cannot be listed, watched or found, and its end."""

from __future__ import annotations

import threading
import time

from tests.faults.cluster.fakeapi import Exchange
from tests.faults.cluster.fakekube import CONFIG_MAPS, FakeKube, key, kind
from tests.faults.cluster.watcher import QUICK, Watcher, always


def test_a_list_of_many_pages_is_taken_whole(server: FakeKube, watcher: Watcher) -> None:
    for number in range(25):
        server.put(f"n{number}")
    server.page_size = 10
    watcher.want(CONFIG_MAPS)
    assert watcher.doubts() == {}
    assert len(watcher.cache.of_owner("me")) == 25
    assert server.counts()["list"] == 3


def test_a_list_that_breaks_half_way_is_not_taken(server: FakeKube, watcher: Watcher) -> None:
    for number in range(25):
        server.put(f"n{number}")
    server.page_size = 10

    def break_second_page(exchange: Exchange) -> bool:
        if "continue" in exchange.request.query:
            exchange.status(410, "Expired")
            return True
        return False

    server.spoil = break_second_page
    watcher.want(CONFIG_MAPS)
    assert "Expired" in watcher.doubts(seconds=0.3)["ConfigMap"]
    assert watcher.cache.of_owner("me") == ()
    server.spoil = None
    watcher.until(lambda: len(watcher.cache.of_owner("me")) == 25)
    assert watcher.doubts() == {}


def test_a_forbidden_kind_is_named_at_once_and_disturbs_no_other(server: FakeKube, watcher: Watcher) -> None:
    forbidden = kind(1)
    server.put("a")

    def forbid(exchange: Exchange) -> bool:
        if exchange.request.path.endswith(forbidden.plural):
            exchange.status(403, "Forbidden", 'kind1s is forbidden: User "x" cannot list resource')
            return True
        return False

    server.spoil = forbid
    watcher.want(CONFIG_MAPS, forbidden)
    doubts = watcher.doubts(CONFIG_MAPS, forbidden)
    assert list(doubts) == ["Kind1.example.com"]
    assert "cannot list" in doubts["Kind1.example.com"]
    assert watcher.data("a") == {}


def test_a_kind_that_is_not_served_is_found_when_it_is(server: FakeKube, watcher: Watcher) -> None:
    server.spoil = always(lambda exchange: exchange.reply(b"404 page not found", 404))
    watcher.want(CONFIG_MAPS)
    assert "does not serve" in watcher.doubts(seconds=0.1)["ConfigMap"]
    server.spoil = None
    assert watcher.doubts() == {}


def test_a_kind_that_nobody_wants_is_in_doubt(watcher: Watcher) -> None:
    assert watcher.doubts() == {"ConfigMap": "configmaps: nobody wants them watched"}


def test_a_kind_that_is_not_wanted_any_more_is_forgotten(server: FakeKube, watcher: Watcher) -> None:
    server.put("a")
    watcher.cache.want("one", [CONFIG_MAPS])
    watcher.cache.want("two", [CONFIG_MAPS, kind(1)])
    server.wait_streams(2)
    watcher.cache.want("two", [])
    server.wait_streams(1)
    assert watcher.data("a") == {}
    watcher.cache.want("one", [])
    server.wait_streams(0)
    assert watcher.data("a") is None
    assert watcher.cache.kinds() == ()


def test_what_is_watched_anew_is_not_taken_for_what_was_known_before(server: FakeKube, watcher: Watcher) -> None:
    server.put("a")
    watcher.want(CONFIG_MAPS)
    assert watcher.doubts() == {}
    before = watcher.cache.moment("sync", "me")
    assert before is not None
    assert watcher.cache.changed_since(before, before, "me") == frozenset()
    watcher.want()
    server.put("a")
    watcher.want(CONFIG_MAPS)
    assert watcher.doubts() == {}
    after = watcher.cache.moment("sync", "me")
    assert after is not None
    assert watcher.cache.changed_since(before, after, "me") is None


def test_a_kind_that_cannot_be_watched_is_listed_when_asked(server: FakeKube, watcher: Watcher) -> None:
    still = CONFIG_MAPS._replace(verbs=frozenset({"list"}))
    server.put("a")
    watcher.want(still)
    assert watcher.doubts(still) == {}
    server.put("b")
    assert watcher.doubts(still) == {}
    assert watcher.data("b") == {}
    assert server.counts()["watch"] == 0


def test_a_kind_that_cannot_be_listed_is_in_doubt(watcher: Watcher) -> None:
    closed = CONFIG_MAPS._replace(verbs=frozenset({"create"}))
    watcher.want(closed)
    assert watcher.doubts(closed) == {"ConfigMap": "configmaps: they cannot be listed"}


def test_a_kind_in_two_versions_can_be_read_in_each(server: FakeKube, watcher: Watcher) -> None:
    other = CONFIG_MAPS._replace(version="v2")
    server.put("a")
    watcher.cache.want("one", [CONFIG_MAPS])
    watcher.cache.want("two", [other])
    assert watcher.doubts(CONFIG_MAPS, other) == {}
    for resource in (CONFIG_MAPS, other):
        found = watcher.cache.get(key("a"), resource.api_version)
        assert found is not None
        assert found.parse()["apiVersion"] == found.api_version == resource.api_version


def test_waiting_ends_with_the_stop(server: FakeKube, watcher: Watcher) -> None:
    server.spoil = always(Exchange.stall)
    watcher.want(CONFIG_MAPS)
    stop = threading.Event()
    timer = threading.Timer(0.05, stop.set)
    timer.start()
    doubts = watcher.cache.wait_synced([CONFIG_MAPS], time.monotonic() + 300, stop)
    timer.join()
    assert "not been listed" in next(iter(doubts.values()))


def test_stopping_ends_every_thread_though_the_server_hangs(server: FakeKube) -> None:
    others = set(threading.enumerate())
    server.put("a")
    watcher = Watcher(server, QUICK)
    watcher.want(CONFIG_MAPS, kind(1), kind(2))
    server.wait_streams(3)
    server.spoil = always(Exchange.stall)
    watcher.want(CONFIG_MAPS, kind(1), kind(2), kind(3))
    watcher.until(lambda: len(server.requests) == 7)
    watcher.cache.stop()
    watcher.transport.close()
    watcher.cache.join(20)
    ours = set(threading.enumerate()) - others
    assert not [thread for thread in ours if thread.name.startswith("syncd-live-")]


def test_status_tells_lists_watches_and_events(server: FakeKube, watcher: Watcher) -> None:
    server.put("a")
    watcher.want(CONFIG_MAPS)
    server.wait_streams(1)
    server.put("a", {"v": "2"})
    watcher.until(lambda: len(watcher.events) == 1)
    server.cut_streams()
    watcher.until(lambda: watcher.cache.kinds()[0].watches == 2)
    (status,) = watcher.cache.kinds()
    assert (status.resource, status.objects, status.lists, status.events, status.failures) == (CONFIG_MAPS, 1, 1, 1, 1)
