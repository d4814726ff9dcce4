from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from syncd.cluster import Client, Event, EventType, LiveCache
from syncd.cluster.errors import ConflictError
from syncd.cluster.pacing import Pace
from syncd.cluster.scopes import Scope
from syncd.cluster.watch import Timing
from syncd.model import Write, WriteMethod
from tests.faults.cluster.fakeapi import Exchange, transport_to
from tests.faults.cluster.fakekube import CONFIG_MAPS, EXPIRED_EVENT, FakeKube, key, kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from syncd.cluster.discovery import Resource
    from syncd.model import JSONObject, ObjectKey

QUICK = Timing(
    lifetime=(60, 60), short=0.0, list_timeout=5, pace=Pace(first=0.02, cap=0.1, spacing=0.005, follow=0.005)
)


SAME = Write(WriteMethod.JSON_MERGE_PATCH, {"data": {}})


class Watcher:
    """A live cache with its server, and the events that it has told."""

    def __init__(self, server: FakeKube, timing: Timing) -> None:
        self.server = server
        self.transport = transport_to(server.url)
        self.client = Client(self.transport)
        self.cache = LiveCache(self.client, timing=timing)
        self.client.journal = self.cache
        self.events: list[Event] = []
        self._news = threading.Condition()
        self.cache.subscribe(self._take)

    def _take(self, event: Event) -> None:
        with self._news:
            self.events.append(event)
            self._news.notify_all()

    def want(self, *resources: Resource) -> None:
        self.cache.want("sync", resources)

    def doubts(self, *resources: Resource, seconds: float = 30) -> dict[str, str]:
        found = self.cache.wait_synced(resources or (CONFIG_MAPS,), time.monotonic() + seconds)
        return {str(kind): reason for kind, reason in found.items()}

    def until(self, condition: Callable[[], bool]) -> None:
        """Wait until something is so; looks whenever an event comes, and now and then."""
        end = time.monotonic() + 30
        with self._news:
            while not condition():
                assert time.monotonic() < end, "it never came about"
                self._news.wait(0.01)

    def data(self, name: str) -> JSONObject | None:
        found = self.cache.get(key(name))
        return None if found is None else found.parse()["data"]

    def told(self) -> list[tuple[EventType, ObjectKey]]:
        return [(event.type, event.key) for event in self.events]


@pytest.fixture
def server() -> Iterator[FakeKube]:
    with FakeKube() as fake:
        yield fake


@pytest.fixture
def watcher(server: FakeKube) -> Iterator[Watcher]:
    with started(server, QUICK) as watcher:
        yield watcher


@contextmanager
def started(server: FakeKube, timing: Timing) -> Iterator[Watcher]:
    watcher = Watcher(server, timing)
    try:
        yield watcher
    finally:
        watcher.cache.stop()
        watcher.transport.close()
        watcher.cache.join(20)


def always(step: Callable[[Exchange], None]) -> Callable[[Exchange], bool]:
    """Answer every request this way."""

    def spoil(exchange: Exchange) -> bool:
        step(exchange)
        return True

    return spoil


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
        answered = threading.Event()

        def expire(exchange: Exchange) -> bool:
            if "watch" not in exchange.request.query or answered.is_set():
                return False
            answered.set()
            exchange.begin_stream()
            exchange.line(EXPIRED_EVENT)
            exchange.end_stream()
            return True

        server.spoil = expire
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

    def spoil(exchange: Exchange) -> bool:
        if "watch" not in exchange.request.query or answered.is_set():
            return False
        answered.set()
        exchange.begin_stream()
        exchange.line(line)
        exchange.end_stream()
        return True

    server.spoil = spoil
    watcher.want(CONFIG_MAPS)
    watcher.until(answered.is_set)
    server.put("a")
    watcher.until(lambda: watcher.data("a") is not None)
    assert watcher.doubts() == {}


def test_a_subscriber_that_fails_does_not_end_the_watch(server: FakeKube, watcher: Watcher) -> None:
    def broken(event: Event) -> None:
        raise RuntimeError(event.key)

    watcher.cache.subscribe(broken)
    watcher.want(CONFIG_MAPS)
    server.wait_streams(1)
    server.put("a")
    server.put("b")
    watcher.until(lambda: len(watcher.events) == 2)


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
