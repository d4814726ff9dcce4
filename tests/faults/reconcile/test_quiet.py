"""A reconcile looks again only at what has changed, and never misses that there is something to do."""

from __future__ import annotations

import copy
import time
from typing import TYPE_CHECKING, Any

import pytest

from syncd.cluster import store
from syncd.model import ActionType
from syncd.plan.objects import plan_object
from syncd.sandbox.server import SandboxServer
from tests.support.faults import refusal
from tests.support.instance import Git, Instance, config_map, namespace, sync

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from syncd.engine.result import Reconciliation
    from syncd.model import Action, JSONObject
    from syncd.plan.settings import Desired
    from syncd.sandbox.app import Fault
    from syncd.sandbox.requests import Request

OBJECTS = [namespace("shop"), config_map("settings", colour="blue"), config_map("other", size="1")]
SYNC = sync()
PATIENCE = 20.0


class Scene:
    """A Sync that has come to rest, on a sandbox that others may write to."""

    def __init__(
        self, server: SandboxServer, instance: Instance, faults: list[Callable[[Request], Fault | None]]
    ) -> None:
        self.server = server
        self.instance = instance
        self.faults = faults
        instance.settle(SYNC)
        self.quiet = self.reconcile()

    def reconcile(self, wanted: Any = SYNC) -> Reconciliation:
        """Once more."""
        return self.instance.reconcile(wanted)

    def edit(self, change: Callable[[JSONObject], None], name: str = "settings") -> None:
        """Somebody else changes a ConfigMap; ends when the live cache has seen it."""
        version = self.write("shop", name, change)
        self._seen(name, lambda live: live is not None and live.resource_version == version)

    def delete(self, name: str = "settings") -> None:
        """Somebody else deletes a ConfigMap; ends when the live cache has seen it."""
        self.server.objects.delete(self._kind(), "shop", name)
        self._seen(name, lambda live: live is None)

    def write(self, space: str, name: str, change: Callable[[JSONObject], None]) -> str:
        """Somebody else changes a ConfigMap; returns its new resourceVersion."""
        body = copy.deepcopy(self.server.objects.find(self._kind(), space, name))
        assert body is not None
        change(body)
        return str(self.server.objects.update(self._kind(), body, manager="somebody")["metadata"]["resourceVersion"])

    def _seen(self, name: str, condition: Callable[[Any], bool]) -> None:
        key = next(outcome.action.key for outcome in self.quiet.outcomes if outcome.action.key.name == name)
        end = time.monotonic() + PATIENCE
        while not condition(self.instance.cluster.live.get(key)):
            assert time.monotonic() < end, "the live cache has not seen it"
            time.sleep(0.01)

    def _kind(self) -> Any:
        return next(kind for kind in self.server.objects.kinds() if kind.kind == "ConfigMap")


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    """A Sync at rest."""
    faults: list[Callable[[Request], Fault | None]] = []
    server = SandboxServer(intercept=lambda request: next(filter(None, (fault(request) for fault in faults)), None))
    server.start()
    try:
        with Instance(server.write_kubeconfig(tmp_path / "kubeconfig"), Git(shop=OBJECTS)) as instance:
            yield Scene(server, instance, faults)
    finally:
        server.stop()


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the objects that are planned from now on, in order."""
    names: list[str] = []

    def spy(desired: Desired, *arguments: Any) -> Action:
        names.append(desired.key.name)
        return plan_object(desired, *arguments)

    monkeypatch.setattr("syncd.plan.build.plan_object", spy)
    return names


def changed(result: Reconciliation) -> dict[str, ActionType]:
    return {
        outcome.action.key.name: outcome.action.type
        for outcome in result.outcomes
        if outcome.action.type.changes_cluster
    }


def test_nothing_is_compared_again_while_nothing_changes(scene: Scene, looked_at: list[str]) -> None:
    again = scene.reconcile()
    assert again.outcomes is scene.quiet.outcomes
    assert not looked_at


def test_what_the_server_writes_its_own_way_is_not_told_for_ever(scene: Scene) -> None:
    scene.instance.git.commit("shop", [*OBJECTS, config_map("empty")])  # its data are {}, which the server leaves out
    scene.reconcile()
    scene.instance.__exit__()
    with Instance(scene.instance.kubeconfig, scene.instance.git) as restarted:
        scene.instance = restarted
        assert scene.reconcile().plan.changes_cluster, "the server is not asked"
        assert not scene.reconcile().plan.changes_cluster
        assert not scene.reconcile().plan.changes_cluster


def test_a_commit_that_changes_no_manifest_is_named_all_the_same(scene: Scene) -> None:
    before = scene.quiet.revision
    scene.instance.git._commits["shop"] = "f" * 40
    again = scene.reconcile()
    assert again.revision.commit == "f" * 40 != before.commit
    assert again.outcomes is scene.quiet.outcomes


def test_a_live_edit_is_repaired(scene: Scene) -> None:
    scene.edit(lambda body: body["data"].update(colour="red"))
    assert changed(scene.reconcile()) == {"settings": ActionType.UPDATE}
    assert scene.reconcile().plan.changes_cluster is False


def test_only_what_changed_is_looked_at_until_it_is_found_repaired(scene: Scene, looked_at: list[str]) -> None:
    scene.edit(lambda body: body["data"].update(colour="red"))
    repair = scene.reconcile()
    assert [outcome.action.key.name for outcome in repair.outcomes] == ["shop", "other", "settings"]
    assert repair.inventory_size == scene.quiet.inventory_size
    scene.edit(lambda body: body["data"].update(size="9"), "other")
    scene.reconcile()
    after = scene.reconcile()
    assert looked_at == ["settings", "other", "settings", "other"]
    assert {outcome.action.type for outcome in after.outcomes} == {ActionType.UNCHANGED}
    scene.reconcile()
    assert len(looked_at) == 4


@pytest.fixture
def hardly_any_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A live cache that remembers one change."""
    monkeypatch.setattr(store, "LAST_CHANGES", 1)


@pytest.mark.usefixtures("hardly_any_memory")
def test_after_more_changes_than_are_remembered_everything_is_looked_at(scene: Scene, looked_at: list[str]) -> None:
    scene.edit(lambda body: body["data"].update(colour="red"))
    scene.edit(lambda body: body["data"].update(size="9"), "other")
    assert changed(scene.reconcile()) == {"settings": ActionType.UPDATE, "other": ActionType.UPDATE}
    assert sorted(looked_at) == ["other", "settings", "shop"]


def test_what_failed_is_tried_again_though_nothing_has_changed(scene: Scene, looked_at: list[str]) -> None:
    def refuse(request: Request) -> Fault | None:
        return refusal(500) if request.verb == "patch" else None

    scene.faults.append(refuse)
    scene.edit(lambda body: body["data"].update(colour="red"))
    for _ in range(2):
        assert [outcome.action.key.name for outcome in scene.reconcile().failures] == ["settings"]
    scene.faults.clear()
    assert changed(scene.reconcile()) == {"settings": ActionType.UPDATE}
    assert looked_at == ["settings"] * 3


def test_a_deletion_is_repaired(scene: Scene) -> None:
    scene.delete()
    assert changed(scene.reconcile()) == {"settings": ActionType.CREATE}


def test_an_owner_mark_that_is_taken_off_is_put_back(scene: Scene) -> None:
    def take_off(body: JSONObject) -> None:
        body["metadata"]["annotations"].clear()

    scene.edit(take_off)
    assert changed(scene.reconcile()) == {"settings": ActionType.UPDATE}


def test_a_commit_is_applied(scene: Scene) -> None:
    scene.instance.git.commit("shop", [*OBJECTS[:2], config_map("new")])
    assert changed(scene.reconcile()) == {"new": ActionType.CREATE, "other": ActionType.PRUNE}


def test_a_rule_that_changes_is_heard(scene: Scene) -> None:
    ignoring = sync(drift={"ignore": [{"kind": "ConfigMap", "paths": ["/data"]}]})
    assert scene.reconcile(ignoring).outcomes is not scene.quiet.outcomes


def test_an_inventory_that_somebody_wrote_is_looked_at(scene: Scene) -> None:
    scene.write("syncd", "shop", lambda body: body["metadata"]["annotations"].update(note="somebody was here"))
    assert scene.reconcile().outcomes is not scene.quiet.outcomes


def test_drift_that_is_only_reported_is_reported_each_time(scene: Scene) -> None:
    reporting = sync(drift={"action": "Report"})
    scene.reconcile(reporting)
    scene.edit(lambda body: body["data"].update(colour="red"))
    for _ in range(3):
        drifting = [outcome for outcome in scene.reconcile(reporting).outcomes if outcome.action.drift]
        assert [outcome.action.key.name for outcome in drifting] == ["settings"]
