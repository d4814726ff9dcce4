from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from syncd.cluster import Cluster
from syncd.engine.deadline import Deadline
from syncd.engine.memory import Memory
from syncd.engine.reconcile import Reconciler
from syncd.engine.sources import Sources
from syncd.model import ObjectKey
from syncd.render import Renderer
from syncd.source import Repositories
from syncd.spec import parse_sync
from tests.support.clusters import Sandbox
from tests.support.daemon import sync_document
from tests.support.repository import Repository

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from syncd.model import Write

SETTINGS = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {colour: %s}\n"
KEY = ObjectKey("default", "", "ConfigMap", "settings")


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[Sandbox]:
    running = Sandbox(tmp_path)
    yield running
    running.server.stop()


def test_what_somebody_changes_between_our_read_and_our_patch_is_not_taken_for_settled(
    sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = Repository(tmp_path / "r.git")
    repository.commit({"a.yaml": SETTINGS % "blue"})
    sync = parse_sync(sync_document("shop", repository.url))
    memory, deadline = Memory(), Deadline.after(60)
    with Cluster.connect(sandbox.kubeconfig) as cluster, ThreadPoolExecutor(2) as pool:
        reconciler = Reconciler(cluster, Sources(Repositories(tmp_path / "mirrors"), Renderer()), pool)
        reconciler.reconcile(sync, reconciler.resolve(sync, deadline), memory, deadline)
        repository.commit({"a.yaml": SETTINGS % "green"})
        patch = cluster.client.patch
        meddled: list[str] = []

        def meddling(resource: Any, namespace: str, name: str, write: Write, **more: Any) -> Any:
            if name == "settings" and not meddled:
                owner = "kubectl.kubernetes.io/apply-owner-"
                meddled.append(sandbox.kubectl("annotate", "configmap", name, "-n", namespace, owner))
            return patch(resource, namespace, name, write, **more)

        monkeypatch.setattr(cluster.client, "patch", meddling)
        reconciler.reconcile(sync, reconciler.resolve(sync, deadline), memory, deadline)
        assert meddled
        live = sandbox.kubectl.get("configmap", "settings", "default")
        assert live is not None
        assert live["data"] == {"colour": "green"}
        assert "kubectl.kubernetes.io/apply-owner" in live["metadata"]["annotations"]
        assert memory.settled[KEY].resource_version == live["metadata"]["resourceVersion"]
