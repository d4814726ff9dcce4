"""Giving up a field, as a person and as an autoscaler would meet it, on the sandbox and on a real control plane."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from tests.support.daemon import PATIENCE, sync_document
from tests.support.instance import namespace

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.clusters import ClusterUnderTest
    from tests.support.repository import Repository


def deployment(**spec: Any) -> dict[str, Any]:
    labels = {"app": "web"}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "web", "image": "web:1"}]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"selector": {"matchLabels": labels}, "template": pod, **spec},
    }


def test_replicas_go_to_an_autoscaler_and_stay_as_it_sets_them(
    cluster: ClusterUnderTest, repository: Repository, tmp_path: Path
) -> None:
    config = tmp_path / "sync.json"
    config.write_text(json.dumps(sync_document("shop", repository.url)))

    def syncd(*words: str, status: int = 0) -> str:
        command = [sys.executable, "-m", "syncd.cli", *words, "--kubeconfig", str(cluster.kubeconfig)]
        if words[0] != "release":
            command += ["--data-dir", str(tmp_path / "data"), "--config", str(config)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout + done.stderr

    def commit(web: dict[str, Any]) -> None:
        repository.commit(
            {"all.json": json.dumps({"apiVersion": "v1", "kind": "List", "items": [namespace("shop"), web]})}
        )

    def replicas() -> int:
        live = cluster.kubectl.get("deployment", "web", "shop")
        assert live is not None
        return int(live["spec"]["replicas"])

    commit(deployment(replicas=2))
    syncd("sync")
    for words, problem in (
        (("deployment/web", "/spec/paused"), "/spec/paused was not applied by syncd"),
        (("deployments.apps/web", "spec.replicas"), "not a JSON pointer"),
        (("deployment/other", "/spec/replicas"), "not found"),
        (("depl/web", "/spec/replicas"), "no kind depl"),
        (("web", "/spec/replicas"), "names no object"),
    ):
        assert problem in syncd("release", *words, "-n", "shop", status=1)
    assert "Deployment.apps shop/web: /spec/replicas given up" in syncd(
        "release", "deployment/web", "/spec/replicas", "-n", "shop"
    )
    cluster.kubectl("scale", "deployment/web", "-n", "shop", "--replicas=5")
    assert "0 to modify, 2 unmodified" in syncd("plan")  # though Git still has it
    commit(deployment())
    plan = syncd("plan")
    assert "Git no longer has what was given up" in plan
    syncd("sync")
    assert replicas() == 5
    assert "0 to modify, 2 unmodified" in syncd("plan")

    commit(deployment(replicas=3))
    syncd("sync")
    assert replicas() == 3  # it is syncd's again
    config.write_text(json.dumps(sync_document("shop", repository.url, release=[{"paths": ["/spec/replicas"]}])))
    assert "it gives up /spec/replicas" in syncd("plan")
    syncd("sync")
    cluster.kubectl("scale", "deployment/web", "-n", "shop", "--replicas=6")
    assert "/spec/replicas: left to others" in syncd("plan")
    assert json.loads(syncd("sync", "--output", "json"))["items"][0]["counts"]["updated"] == 0
    assert replicas() == 6
