"""A reconcile that has nothing to do compares nothing, and never misses that there is something to do."""

from __future__ import annotations

import copy
import time
from typing import TYPE_CHECKING, Any

import pytest

from syncd.model import ActionType
from syncd.sandbox.server import SandboxServer
from tests.support.instance import Git, Instance, config_map, namespace, sync

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from syncd.engine.result import Reconciliation
    from syncd.model import JSONObject

OBJECTS = [namespace("shop"), config_map("settings", colour="blue"), config_map("other", size="1")]
SYNC = sync()
PATIENCE = 20.0


class Scene:
    """A Sync that has come to rest, on a sandbox that others may write to."""

    def __init__(self, server: SandboxServer, instance: Instance) -> None:
        self.server = server
        self.instance = instance
        instance.settle(SYNC)
        self.quiet = self.reconcile()

    def reconcile(self, wanted: Any = SYNC) -> Reconciliation:
        """Once more."""
        return self.instance.reconcile(wanted)

    def edit(self, change: Callable[[JSONObject], None], name: str = "settings") -> None:
        """Somebody else changes a ConfigMap; ends when the live cache has seen it."""
        version = self.write("shop", name, change)
        self._seen(lambda live: live is not None and live.resource_version == version)

    def delete(self, name: str = "settings") -> None:
        """Somebody else deletes a ConfigMap; ends when the live cache has seen it."""
        self.server.objects.delete(self._kind(), "shop", name)
        self._seen(lambda live: live is None)

    def write(self, space: str, name: str, change: Callable[[JSONObject], None]) -> str:
        """Somebody else changes a ConfigMap; returns its new resourceVersion."""
        body = copy.deepcopy(self.server.objects.find(self._kind(), space, name))
        assert body is not None
        change(body)
        return str(self.server.objects.update(self._kind(), body, manager="somebody")["metadata"]["resourceVersion"])

    def _seen(self, condition: Callable[[Any], bool]) -> None:
        key = next(outcome.action.key for outcome in self.quiet.outcomes if outcome.action.key.name == "settings")
        end = time.monotonic() + PATIENCE
        while not condition(self.instance.cluster.live.get(key)):
            assert time.monotonic() < end, "the live cache has not seen it"
            time.sleep(0.01)

    def _kind(self) -> Any:
        return next(kind for kind in self.server.objects.kinds() if kind.kind == "ConfigMap")


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    """A Sync at rest."""
    server = SandboxServer()
    server.start()
    try:
        with Instance(server.write_kubeconfig(tmp_path / "kubeconfig"), Git(shop=OBJECTS)) as instance:
            yield Scene(server, instance)
    finally:
        server.stop()


def changed(result: Reconciliation) -> dict[str, ActionType]:
    return {
        outcome.action.key.name: outcome.action.type
        for outcome in result.outcomes
        if outcome.action.type.changes_cluster
    }


def test_nothing_is_compared_again_while_nothing_changes(scene: Scene) -> None:
    again = scene.reconcile()
    assert again.outcomes is scene.quiet.outcomes
    assert again.plan is scene.quiet.plan
    assert again.durations.keys() <= {"observe", "render"}


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
