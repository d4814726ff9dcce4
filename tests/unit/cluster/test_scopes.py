from __future__ import annotations

from syncd.cluster.discovery import Resource
from syncd.cluster.scopes import Scope, Wishes
from syncd.model import ObjectKey

MAPS = Resource("", "v1", "ConfigMap", "configmaps", namespaced=True)
NODES = Resource("", "v1", "Node", "nodes", namespaced=False)


def wishes(**clients: tuple[str, ...]) -> Wishes:
    made = Wishes()
    for client, namespaces in clients.items():
        made.put(client, [MAPS], {MAPS.group_kind: frozenset(namespaces)})
    return made


def test_a_kind_is_watched_once_for_all_that_want_it() -> None:
    assert wishes(a=("one", "two"), b=("three",)).needed() == {Scope(MAPS)}


def test_a_kind_that_may_not_be_read_everywhere_is_watched_where_it_is_needed() -> None:
    made = wishes(a=("one", "two"), b=("two", "three"))
    assert made.narrow(MAPS)
    assert made.of("a") == {Scope(MAPS, "one"), Scope(MAPS, "two")}
    assert made.needed() == {Scope(MAPS, "one"), Scope(MAPS, "two"), Scope(MAPS, "three")}
    assert not made.narrow(MAPS)


def test_a_kind_whose_places_nobody_has_named_stays_as_it_is() -> None:
    made = wishes(a=("one",))
    made.put("b", [MAPS], {})
    assert not made.narrow(MAPS)
    assert made.needed() == {Scope(MAPS)}


def test_a_kind_without_namespaces_cannot_be_narrowed() -> None:
    made = Wishes()
    made.put("a", [NODES], {NODES.group_kind: frozenset({""})})
    assert not made.narrow(NODES)


def test_a_kind_that_was_forgotten_begins_wide_again() -> None:
    made = wishes(a=("one",))
    made.narrow(MAPS)
    assert made.put("a", [], {})
    assert made.needed() == set()
    made.put("a", [MAPS], {MAPS.group_kind: frozenset({"one"})})
    assert made.needed() == {Scope(MAPS)}


def test_the_same_wish_again_is_no_news() -> None:
    made = wishes(a=("one",))
    assert not made.put("a", [MAPS], {MAPS.group_kind: frozenset({"one"})})
    assert made.put("a", [MAPS], {MAPS.group_kind: frozenset({"two"})})


def test_a_scope_covers_its_namespace() -> None:
    key = ObjectKey("one", "", "ConfigMap", "a")
    assert Scope(MAPS).covers(key)
    assert Scope(MAPS, "one").covers(key)
    assert not Scope(MAPS, "two").covers(key)
