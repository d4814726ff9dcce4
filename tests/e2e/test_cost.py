"""What syncd asks of the API server, counted in the audit log of a real one.

Steady state is free: what does not change costs nothing that grows with the number of objects.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.clusters import RealCluster, by_verb
from tests.support.daemon import DaemonProcess, sync_document

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator
    from pathlib import Path

    from tests.controlplane.fixtures import NewNamespace
    from tests.controlplane.server import ControlPlane
    from tests.support.clusters import Asked
    from tests.support.repository import Repository

pytestmark = pytest.mark.controlplane

PAGE = 500
"""Objects in a page of a list."""

KINDS = 2
"""ConfigMaps, and a Deployment without replicas."""


class Scene:
    """A repository with many objects, a Sync of it, and the cluster that counts."""

    def __init__(self, control_plane: ControlPlane, repository: Repository, namespace: str, folder: Path) -> None:
        self.name = namespace
        self._cluster = RealCluster(control_plane)
        self._repository = repository
        self.daemon = DaemonProcess(folder, self._cluster.kubeconfig, sync_document(namespace, repository.url))

    def commit(self, count: int, **changed: str) -> str:
        """Commit so many objects; what is changed has another value."""
        objects = [self._map(number, changed.get(f"map_{number}", "same")) for number in range(count - 1)]
        documents = [json.dumps(body) + "\n" for body in [*objects, self._deployment()]]
        return self._repository.commit({"all.yaml": "---\n".join(documents)})

    def mark(self) -> int:
        """Now."""
        return self._cluster.mark()

    def since(self, mark: int) -> list[Asked]:
        """What syncd has asked since."""
        return self._cluster.since(mark)

    def start_and_sync(self, commit: str) -> None:
        """Start the daemon, and wait until a commit is live."""
        self.daemon.start()
        self.daemon.wait_synced(self.name, commit)

    def reconcile(self, times: int = 1) -> None:
        """Wait until so many more reconciles have ended."""
        for _ in range(times):
            self._reconcile_after(self.daemon.status(self.name)["lastAttempt"])

    def _reconcile_after(self, seen: str) -> None:
        self.daemon.wait_for(self.name, "is reconciled again", lambda status: status["lastAttempt"] != seen)

    def _map(self, number: int, value: str) -> dict[str, Any]:
        metadata = {"name": f"map-{number}", "namespace": self.name}
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"value": value}}

    def _deployment(self) -> dict[str, Any]:
        pod = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": "web:1"}]}}
        spec = {"replicas": 0, "selector": {"matchLabels": {"app": "web"}}, "template": pod}
        metadata = {"name": "web", "namespace": self.name}
        return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


@pytest.fixture
def scene(
    control_plane: ControlPlane, namespace_factory: NewNamespace, repository: Repository, tmp_path: Path
) -> Iterator[Scene]:
    """A Sync of a namespace of its own, not started yet."""
    made = Scene(control_plane, repository, namespace_factory(), tmp_path)
    yield made
    made.daemon.kill()


def writes(requests: list[Asked]) -> Counter[tuple[str, str]]:
    return by_verb([request for request in requests if request.writes])


def verbs(requests: list[Asked], verb: str) -> int:
    return sum(request.verb == verb for request in requests)


def test_an_unchanged_reconcile_reads_the_inventory_and_nothing_else(scene: Scene) -> None:
    scene.start_and_sync(scene.commit(100))
    scene.reconcile(2)
    mark = scene.mark()
    scene.reconcile(5)
    requests = scene.since(mark)
    assert set(by_verb(requests)) <= {("get", "configmaps")}
    assert {request.name for request in requests} == {scene.name}
    assert len(requests) <= 5 + 1  # one may have begun before the first that was waited for


def test_a_restart_costs_one_list_and_one_watch_a_kind_and_a_constant(scene: Scene) -> None:
    commit = scene.commit(1000)
    scene.start_and_sync(commit)
    scene.daemon.kill()
    mark = scene.mark()
    scene.start_and_sync(commit)
    requests = scene.since(mark)
    told = by_verb(requests)
    assert not writes(requests)
    pages = 1000 // PAGE
    assert verbs(requests, "list") <= pages + KINDS, told
    assert verbs(requests, "watch") == KINDS, told
    assert len(requests) <= pages + 2 * KINDS + 12, told


def test_a_changed_object_costs_one_patch(scene: Scene) -> None:
    scene.start_and_sync(scene.commit(100))
    scene.reconcile(2)
    mark = scene.mark()
    scene.daemon.wait_synced(scene.name, scene.commit(100, map_7="other"))
    requests = scene.since(mark)
    assert writes(requests) == {("patch", "configmaps"): 1}
    assert [request.name for request in requests if request.writes] == ["map-7"]
    schemas = [request for request in requests if request.resource.startswith("/openapi/v3")]
    assert len(requests) - len(schemas) <= 8, by_verb(requests)
    assert len(schemas) <= 2, by_verb(requests)


def test_an_object_that_comes_or_goes_costs_one_write_and_at_most_two_of_the_list(scene: Scene) -> None:
    scene.start_and_sync(scene.commit(100))
    scene.reconcile(2)
    mark = scene.mark()
    scene.daemon.wait_synced(scene.name, scene.commit(101))
    assert writes(scene.since(mark)) == {("patch", "configmaps"): 1, ("create", "configmaps"): 1}
    scene.reconcile(2)
    mark = scene.mark()
    scene.daemon.wait_synced(scene.name, scene.commit(100))
    told = writes(scene.since(mark))
    assert told[("delete", "configmaps")] == 1
    assert sum(told.values()) <= 3, told


def test_a_first_apply_costs_one_write_an_object_and_a_constant(scene: Scene) -> None:
    mark = scene.mark()
    scene.start_and_sync(scene.commit(300))
    requests = scene.since(mark)
    told = by_verb(requests)
    assert told[("create", "configmaps")] - 299 in (1, 2), told  # the inventory, and once the daemon's own settings
    assert told[("create", "deployments")] == 1, told
    assert sum(writes(requests).values()) <= 300 + 6, told
    assert len(requests) <= 300 + 6 + 2 * KINDS + 16, told
