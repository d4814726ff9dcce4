from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from syncd.daemon.dependencies import DependencyCycleError, DependencyNotFoundError, lags_behind, obstacle, standing
from syncd.daemon.status import ObjectStatus, SyncStatus
from syncd.health import Health
from syncd.model import ActionType, ObjectKey, OutcomeStatus, Revision
from syncd.spec import parse_sync

if TYPE_CHECKING:
    from syncd.spec import Sync

ONE = Revision("main", "1" * 40, "a" * 40)
TWO = Revision("main", "2" * 40, "b" * 40)


NOBODY: dict[str, SyncStatus] = {}


def sync(name: str, *depends_on: str, url: str = "") -> Sync:
    source = {"git": {"url": url or f"https://git.example.com/{name}.git"}}
    return parse_sync(
        {"metadata": {"name": name}, "spec": {"source": source, "dependsOn": [{"name": other} for other in depends_on]}}
    )


def applied(wanted: Sync, revision: Revision = ONE, health: Health = Health.HEALTHY) -> SyncStatus:
    key = ObjectKey("shop", "apps", "Deployment", "web")
    item = ObjectStatus(key, ActionType.UNCHANGED, "UpToDate", "", OutcomeStatus.DONE, health=health)
    return SyncStatus(wanted, applied=revision, attempted=revision, reason="Succeeded", objects=(item,))


def board(*statuses: SyncStatus) -> dict[str, SyncStatus]:
    return {status.id: status for status in statuses}


def test_a_sync_may_go_on_once_its_dependencies_are_applied_and_healthy() -> None:
    base, shop = sync("base"), sync("shop", "base")
    assert obstacle(shop, ONE, board(applied(base)).get) == ""
    assert "has not been applied yet" in obstacle(shop, ONE, board(SyncStatus(base)).get)
    assert "Deployment.apps shop/web is Progressing" in obstacle(
        shop, ONE, board(applied(base, health=Health.PROGRESSING)).get
    )
    failed = replace(applied(base), error="the repository is gone", reason="GitFailed")
    assert obstacle(shop, ONE, board(failed).get) == "waits for syncd/base, which failed: the repository is gone"


def test_out_of_one_repository_the_same_commit_is_wanted_of_both() -> None:
    url = "https://git.example.com/platform.git"
    base, shop = sync("base", url=url), sync("shop", "base", url=url)
    behind = board(applied(base, ONE))
    assert obstacle(shop, TWO, behind.get) == "waits for syncd/base to apply commit 222222222222"
    assert lags_behind(shop, TWO, behind.get) == ("syncd/base",)
    assert obstacle(shop, TWO, board(applied(base, TWO)).get) == ""
    assert lags_behind(shop, TWO, board(replace(applied(base, ONE), error="broken")).get) == ()


def test_a_missing_name_is_named() -> None:
    with pytest.raises(DependencyNotFoundError, match="dependsOn names Sync syncd/base, which does not exist"):
        obstacle(sync("shop", "base"), ONE, NOBODY.get)


def test_a_cycle_is_named_on_every_sync_that_is_on_it_and_on_no_other() -> None:
    one, two, three, four = sync("one", "two"), sync("two", "three"), sync("three", "one"), sync("four", "three")
    known = board(*map(applied, (one, two, three, four)))
    with pytest.raises(DependencyCycleError, match="syncd/one -> syncd/two -> syncd/three -> syncd/one"):
        obstacle(one, ONE, known.get)
    assert obstacle(four, ONE, known.get) == ""
    with pytest.raises(DependencyCycleError, match="syncd/self -> syncd/self"):
        obstacle(sync("self", "self"), ONE, NOBODY.get)


def test_texts_alone_make_no_difference_to_who_waits() -> None:
    base, shop = sync("base"), sync("shop", "base")
    seen = standing(shop, ONE, board(applied(base, health=Health.PROGRESSING)).get)
    assert standing(shop, ONE, board(applied(base, health=Health.DEGRADED)).get) == seen
    assert standing(shop, ONE, board(applied(base)).get) != seen
    assert standing(shop, ONE, NOBODY.get).blocked
