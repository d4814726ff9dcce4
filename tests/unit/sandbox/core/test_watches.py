from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import pytest

from tests.unit.sandbox.core.client import CONFIG_MAPS, Http, config_map

if TYPE_CHECKING:
    from tests.unit.sandbox.core.conftest import Start


def labelled(name: str, tier: str) -> dict[str, Any]:
    return config_map() | {"metadata": {"name": name, "labels": {"tier": tier}}}


def seen(events: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(event["type"], event["object"]["metadata"].get("name", "")) for event in events]


def test_a_watch_begins_with_what_is_there_and_goes_on_with_changes(http: Http) -> None:
    http.post(CONFIG_MAPS, config_map("a"))
    watch = http.watch(f"{CONFIG_MAPS}?watch=1")
    assert seen([next(watch)]) == [("ADDED", "a")]
    http.patch(f"{CONFIG_MAPS}/a", {"data": {"x": "1"}})
    http.post(CONFIG_MAPS, config_map("b"))
    http.delete(f"{CONFIG_MAPS}/a")
    assert seen(list(islice(watch, 3))) == [("MODIFIED", "a"), ("ADDED", "b"), ("DELETED", "a")]


def test_a_watch_resumes_after_a_version(http: Http) -> None:
    listed = http.get(CONFIG_MAPS)
    http.post(CONFIG_MAPS, config_map("a"))
    http.post(CONFIG_MAPS, config_map("b"))
    watch = http.watch(f"{CONFIG_MAPS}?watch=1&resourceVersion={listed.version}")
    first, second = islice(watch, 2)
    assert seen([first, second]) == [("ADDED", "a"), ("ADDED", "b")]
    later = http.watch(f"{CONFIG_MAPS}?watch=1&resourceVersion={first['object']['metadata']['resourceVersion']}")
    assert seen([next(later)]) == [("ADDED", "b")]


def test_a_watch_from_a_forgotten_version_ends_with_410(start: Start) -> None:
    server, http = start()
    listed = http.get(CONFIG_MAPS)
    http.post(CONFIG_MAPS, config_map("a"))
    server.compact()
    (event,) = http.watch(f"{CONFIG_MAPS}?watch=1&resourceVersion={listed.version}")
    assert event["type"] == "ERROR"
    assert (event["object"]["code"], event["object"]["reason"]) == (410, "Expired")
    assert event["object"]["message"].startswith(f"too old resource version: {listed.version} (")


def test_only_as_much_history_is_kept_as_was_asked_for(start: Start) -> None:
    _, http = start(history=3)
    listed = http.get(CONFIG_MAPS)
    for number in range(4):
        http.post(CONFIG_MAPS, config_map(f"a{number}"))
    (event,) = http.watch(f"{CONFIG_MAPS}?watch=1&resourceVersion={listed.version}")
    assert event["object"]["code"] == 410


def test_objects_come_into_sight_and_leave_it(http: Http) -> None:
    http.post(CONFIG_MAPS, labelled("a", "back"))
    watch = http.watch(f"{CONFIG_MAPS}?watch=1&labelSelector=tier%3Dfront")
    http.post(CONFIG_MAPS, labelled("b", "front"))
    http.patch(f"{CONFIG_MAPS}/a", {"metadata": {"labels": {"tier": "front"}}})
    http.patch(f"{CONFIG_MAPS}/b", {"data": {"x": "1"}})
    left = http.patch(f"{CONFIG_MAPS}/a", {"metadata": {"labels": {"tier": "back"}}})
    http.delete(f"{CONFIG_MAPS}/a")
    http.delete(f"{CONFIG_MAPS}/b")
    events = list(islice(watch, 5))
    assert seen(events) == [("ADDED", "b"), ("ADDED", "a"), ("MODIFIED", "b"), ("DELETED", "a"), ("DELETED", "b")]
    assert events[3]["object"]["metadata"]["labels"] == {"tier": "front"}
    assert events[3]["object"]["metadata"]["resourceVersion"] == left.version


def test_an_object_s_own_path_is_read_and_not_watched(http: Http) -> None:
    created = http.post(CONFIG_MAPS, config_map("a"))
    assert http.get(f"{CONFIG_MAPS}/a?watch=1").data == created.data


def test_one_object_and_one_namespace_can_be_watched(http: Http) -> None:
    http.post("/api/v1/namespaces/kube-system/configmaps", config_map("elsewhere"))
    http.post(CONFIG_MAPS, config_map("a"))
    http.post(CONFIG_MAPS, config_map("b"))
    assert seen(list(http.watch(f"{CONFIG_MAPS}?fieldSelector=metadata.name%3Db&watch=1&timeoutSeconds=1"))) == [
        ("ADDED", "b")
    ]
    assert seen(list(http.watch(f"{CONFIG_MAPS}?watch=1&timeoutSeconds=1"))) == [("ADDED", "a"), ("ADDED", "b")]


def test_a_watch_gets_a_bookmark_before_its_timeout(http: Http) -> None:
    version = http.post(CONFIG_MAPS, config_map("a")).version
    path = f"{CONFIG_MAPS}?watch=1&timeoutSeconds=3&allowWatchBookmarks=true&resourceVersion={version}"
    (last,) = http.watch(path)
    assert (last["type"], last["object"]["kind"]) == ("BOOKMARK", "ConfigMap")
    assert last["object"]["metadata"]["resourceVersion"] == http.get(CONFIG_MAPS).version


def test_bookmarks_come_while_nothing_happens(start: Start) -> None:
    _, http = start(bookmark_interval=0.05)
    version = http.get(CONFIG_MAPS).version
    watch = http.watch(f"{CONFIG_MAPS}?watch=1&resourceVersion={version}&allowWatchBookmarks=true")
    assert [event["type"] for event in islice(watch, 2)] == ["BOOKMARK", "BOOKMARK"]


@pytest.mark.parametrize("query", ["", "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"])
def test_what_was_there_ends_with_a_marked_bookmark(http: Http, query: str) -> None:
    http.post(CONFIG_MAPS, config_map("a"))
    path = f"{CONFIG_MAPS}?watch=1&allowWatchBookmarks=true"
    first, mark = islice(http.watch(f"{path}{query}"), 2)
    assert seen([first]) == [("ADDED", "a")]
    assert mark["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert http.get(f"{path}&sendInitialEvents=true").status == 422


@pytest.mark.parametrize("query", ["resourceVersion=x", "labelSelector=a===b"])
def test_a_watch_that_cannot_be_read_is_refused(http: Http, query: str) -> None:
    assert http.get(f"{CONFIG_MAPS}?watch=1&{query}").status in (400, 500)


def test_watches_end_when_the_server_stops(start: Start) -> None:
    server, http = start()
    watch = http.watch(f"{CONFIG_MAPS}?watch=1")
    http.post(CONFIG_MAPS, config_map("a"))
    assert seen([next(watch)]) == [("ADDED", "a")]
    server.stop()
    assert list(watch) == []
