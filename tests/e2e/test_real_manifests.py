"""Manifests that real projects ship converge from empty, stay quiet, and are pruned file by file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import yaml

from tests.support.clusters import by_verb
from tests.support.daemon import DaemonProcess, sync_document

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.clusters import ClusterUnderTest
    from tests.support.repository import Repository

pytestmark = [pytest.mark.corpus, pytest.mark.slow]

TREES = {
    "microservices-demo/release": ("release", "kubernetes-manifests.yaml"),
    "microservices-demo/kustomize": ("kustomize/base", "frontend.yaml"),
    "kube-prometheus/manifests": (".", "prometheus-roleSpecificNamespaces.yaml"),
}


@pytest.mark.parametrize("tree", TREES)
def test_a_real_tree_converges_stays_quiet_and_is_pruned_by_file(
    cluster: ClusterUnderTest, repository: Repository, tmp_path: Path, shared: Path, tree: str
) -> None:
    folder = shared / "corpus" / tree
    repository.add_folder(folder)
    some = next(name for name in repository.files if name.endswith(TREES[tree][1]))
    sync = sync_document("real", repository.url, target={"namespace": "real", "createNamespace": True})
    sync["spec"]["prune"] = {"budget": {"objects": 100, "percent": 100}}  # one of the trees is one large file
    # Istio's and the Gateway API's definitions are not part of the tree that uses them.
    commit = repository.commit({".syncdignore": "istio-manifests.yaml\n"})
    with DaemonProcess(tmp_path, cluster.kubeconfig, sync) as daemon:
        status = daemon.wait_synced("real", commit)
        assert status["inventorySize"] == len(status["objects"]) > 10
        _assert_quiet(cluster, daemon)
        removed = repository.files[some]
        keys = _keys(removed)
        before = {_key(item) for item in status["objects"]}
        if "kustomize" in tree:
            kustomization = repository.files["base/kustomization.yaml"].decode()
            without = "\n".join(line for line in kustomization.splitlines() if "frontend.yaml" not in line)
            commit = repository.commit({some: None, "base/kustomization.yaml": without})
        else:
            commit = repository.commit({some: None, "more.yaml": _filler()})
        status = daemon.wait_synced("real", commit)
        left = {_key(item) for item in status["objects"] if item["action"] != "prune"}
        assert before - left == keys
        restored = {some: removed}
        if "kustomize" in tree:
            restored["base/kustomization.yaml"] = kustomization.encode()
        status = daemon.wait_synced("real", repository.commit(restored))
        assert {_key(item) for item in status["objects"]} >= before


def _filler() -> str:
    return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: filler}\n"


def _assert_quiet(cluster: ClusterUnderTest, daemon: DaemonProcess) -> None:
    """Reconciles that change nothing ask for no object and write nothing."""
    seen = daemon.status("real")["lastAttempt"]
    seen = daemon.wait_for("real", "goes on", lambda status: status["lastAttempt"] != seen)["lastAttempt"]
    mark = cluster.mark()
    daemon.wait_for("real", "goes on", lambda status: status["lastAttempt"] != seen)
    requests = cluster.since(mark)
    assert not [request for request in requests if request.writes], by_verb(requests)
    assert {request.name for request in requests if request.verb == "get"} <= {"real"}, by_verb(requests)


def _keys(data: bytes) -> set[tuple[str, str]]:
    """Kind and name of every object in a file, lists taken apart."""
    documents = [document for document in yaml.safe_load_all(data) if document]
    items = [item for document in documents for item in document.get("items", [document])]
    return {(item["kind"], item["metadata"]["name"]) for item in items}


def _key(item: dict[str, str]) -> tuple[str, str]:
    return item["kind"], item["name"]
