"""A commit that comes while an older one is being applied, on a real API server that is slow."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

import pytest

from syncd.engine.perform import PARALLEL_WRITES
from tests.support.clusters import RealCluster
from tests.support.daemon import PATIENCE, DaemonProcess, eventually, metric, sync_document
from tests.support.faultproxy import FaultProxy

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from syncd.sandbox.app import Fault
    from tests.controlplane.fixtures import NewNamespace
    from tests.controlplane.server import ControlPlane
    from tests.support.faultproxy import Call
    from tests.support.repository import Repository

pytestmark = pytest.mark.controlplane

OBJECTS = 5 * PARALLEL_WRITES


class Gate:
    """Holds requests that create objects in one namespace until it is opened."""

    def __init__(self, namespace: str) -> None:
        self.held = 0
        self._path = f"/api/v1/namespaces/{namespace}/configmaps"
        self._open = threading.Event()
        self._lock = threading.Lock()

    def pass_through(self, call: Call) -> Fault | None:
        """Let a request go on, in the end."""
        if (call.verb, call.path) == ("create", self._path):
            with self._lock:
                self.held += 1
            self._open.wait(PATIENCE)
        return None

    def open(self) -> None:
        """Hold nothing any more."""
        self._open.set()


@pytest.fixture
def proxy(control_plane: ControlPlane) -> Iterator[FaultProxy]:
    """A way to the API server on which requests can be held."""
    made = FaultProxy(control_plane)
    yield made
    made.close()


def commit(repository: Repository, namespace: str, revision: str) -> str:
    """Commit objects that have the revision in their names, and one that has it as its value."""

    def config_map(name: str) -> dict[str, Any]:
        metadata = {"name": name, "namespace": namespace}
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"revision": revision}}

    names = ["z-both", *(f"{revision}-{number:02}" for number in range(OBJECTS))]
    return repository.commit({"all.yaml": "---\n".join(json.dumps(config_map(name)) + "\n" for name in names)})


def polls(daemon: DaemonProcess) -> float:
    """How often the repository was asked whether there is something new."""
    return metric(daemon, "syncd_git_requests_total", operation="ls-remote", result="success") or 0.0


def test_what_an_older_commit_still_had_to_apply_is_never_applied_once_there_is_a_newer_one(
    control_plane: ControlPlane,
    proxy: FaultProxy,
    repository: Repository,
    namespace_factory: NewNamespace,
    tmp_path: Path,
) -> None:
    namespace = namespace_factory()
    gate = Gate(namespace)
    proxy.fault = gate.pass_through
    cluster = RealCluster(control_plane)
    begin = cluster.mark()
    commit(repository, namespace, "old")
    generous = {"budget": {"objects": 1000, "percent": 100}}
    sync = sync_document(namespace, repository.url, prune=generous)
    with DaemonProcess(tmp_path, proxy.write_kubeconfig(tmp_path / "kubeconfig"), sync) as daemon:
        eventually("as many requests are under way as may be", lambda: gate.held >= PARALLEL_WRITES)
        newest = commit(repository, namespace, "new")
        seen = polls(daemon)
        eventually("the newer commit is seen", lambda: polls(daemon) >= seen + 2)
        gate.open()
        daemon.wait_synced(namespace, newest)
        log = [json.loads(line) for line in daemon.log.read_text().splitlines()]
    created = {asked.name for asked in cluster.since(begin) if (asked.verb, asked.resource) == ("create", "configmaps")}
    assert len({name for name in created if name.startswith("old-")}) <= PARALLEL_WRITES
    found = control_plane.api.get(f"/api/v1/namespaces/{namespace}/configmaps")["items"]
    values = {
        item["metadata"]["name"]: item["data"]["revision"] for item in found if "revision" in item.get("data", {})
    }
    assert values == {"z-both": "new", **{f"new-{number:02}": "new" for number in range(OBJECTS)}}
    assert [line["reason"] for line in log if line["event"] == "reconciled"][:2] == ["Superseded", "Succeeded"]
