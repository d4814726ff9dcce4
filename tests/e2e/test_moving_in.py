"""What already runs goes on running when syncd takes it over from kubectl, Flux or Argo CD: docs/guide/moving-in.md."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from syncd.inventory import names
from tests.support.daemon import DaemonProcess, eventually, sync_document

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.clusters import ClusterUnderTest
    from tests.support.repository import Repository


class Former(NamedTuple):
    """How another tool leaves what it has applied."""

    apply: tuple[str, ...]
    """How it applies, in the words of kubectl."""
    labels: dict[str, str]
    annotations: dict[str, str]
    """What it marks its objects with."""
    remembers: bool = False
    """Whether the marks are in the last-applied annotation, so that the next to apply takes them off."""


FORMER = {
    "kubectl": Former(("apply",), {}, {}),
    "kubectl --server-side": Former(("apply", "--server-side"), {}, {}),
    "Flux": Former(
        ("apply", "--server-side", "--field-manager=kustomize-controller"),
        {"kustomize.toolkit.fluxcd.io/name": "shop", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"},
        {},
    ),
    "Argo CD": Former(
        ("apply", "--field-manager=argocd-controller"),
        {"app.kubernetes.io/instance": "shop"},
        {"argocd.argoproj.io/tracking-id": "shop:apps/Deployment:shop/web"},
        remembers=True,
    ),
    "Argo CD --server-side": Former(
        ("apply", "--server-side", "--field-manager=argocd-controller"),
        {},
        {"argocd.argoproj.io/tracking-id": "shop:apps/Deployment:shop/web"},
    ),
}


def web(former: Former | None = None, **template: Any) -> dict[str, Any]:
    """A Deployment as Git holds it, or as a tool makes it of that."""
    metadata: dict[str, Any] = {"name": "web", "namespace": "shop"}
    if former:
        metadata |= {"labels": former.labels, "annotations": former.annotations}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata,
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "web", "image": "example.com/web:1"}], **template},
            },
        },
    }


@pytest.mark.parametrize("tool", FORMER)
def test_what_another_tool_has_applied_is_adopted_as_it_is(
    tool: str, cluster: ClusterUnderTest, repository: Repository, tmp_path: Path
) -> None:
    former = FORMER[tool]
    cluster.kubectl("create", "namespace", "shop")
    running = tmp_path / "running.json"
    running.write_text(json.dumps(web(former, terminationGracePeriodSeconds=5)))
    cluster.kubectl(*former.apply, "-f", str(running))
    before = eventually("its controller has seen it", lambda: observed(cluster))
    replicas = cluster.kubectl.names("replicasets", "shop")
    assert len(replicas) == 1

    commit = repository.commit({"web.yaml": json.dumps(web(terminationGracePeriodSeconds=5))})
    with DaemonProcess(tmp_path, cluster.kubeconfig, sync_document("shop", repository.url)) as daemon:
        assert daemon.wait_synced("shop", commit)["counts"]["created"] == 0
        after = deployment(cluster)
        assert after["metadata"]["uid"] == before["metadata"]["uid"]
        assert after["spec"] == before["spec"]
        assert cluster.kubectl.names("replicasets", "shop") == replicas, "nothing may be rolled out anew"
        marks = former.labels.keys() | former.annotations.keys()
        left = marks & (after["metadata"]["labels"].keys() | after["metadata"]["annotations"].keys())
        assert left == (set() if former.remembers else marks)
        assert after["metadata"]["annotations"][names.SYNC_ANNOTATION] == "syncd/shop"

        # From now on what leaves Git leaves the cluster, although another field manager had set it.
        daemon.wait_synced("shop", repository.commit({"web.yaml": json.dumps(web())}))
        assert deployment(cluster)["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] == 30
        repository.commit({"web.yaml": None, "other.yaml": json.dumps(other())})
        eventually("the Deployment is pruned", lambda: not cluster.kubectl.get("deployment", "web", "shop"))


def other() -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "other", "namespace": "shop"}}


def deployment(cluster: ClusterUnderTest) -> dict[str, Any]:
    found: dict[str, Any] | None = cluster.kubectl.get("deployment", "web", "shop")
    assert found
    return found


def observed(cluster: ClusterUnderTest) -> dict[str, Any] | None:
    found = deployment(cluster)
    return found if found.get("status", {}).get("observedGeneration") == found["metadata"]["generation"] else None
