from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.engine.claims import Claims
from syncd.engine.deadline import Deadline
from syncd.model import ObjectKey
from syncd.spec import parse_sync

if TYPE_CHECKING:
    from syncd.spec import Sync


def sync(name: str) -> Sync:
    source = {"git": {"url": "https://git.example.com/shop.git"}}
    return parse_sync({"metadata": {"name": name}, "spec": {"source": source}})


def key(name: str) -> ObjectKey:
    return ObjectKey("shop", "", "ConfigMap", name)


class Sources:
    """Every Sync wants an object of its own name; notes how old an answer may be."""

    def __init__(self) -> None:
        self.ages: list[float] = []

    def wanted(self, sync: Sync, deadline: Deadline, max_age: float) -> frozenset[ObjectKey]:
        assert not deadline.over
        self.ages.append(max_age)
        return frozenset({key(sync.metadata.name)})


def test_what_others_want_is_asked_of_their_repository_once() -> None:
    sources = Sources()
    claims = Claims(map(sync, "abc"), sources.wanted)
    found = claims.of_others(sync("a"), Deadline.after(60))
    assert found.claimed == {key("b"): "syncd/b", key("c"): "syncd/c"}
    first, second = sources.ages
    assert 0 <= first <= second < 60  # the second may have the answer that the first has just got


def test_a_sync_that_is_new_counts_and_one_that_is_no_more_does_not() -> None:
    claims = Claims(map(sync, "ab"), Sources().wanted)
    claims.follow(sync("c"))
    claims.forget("syncd/b")
    assert claims.of_others(sync("a"), Deadline.after(60)).claimed == {key("c"): "syncd/c"}
