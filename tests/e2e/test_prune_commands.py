"""The commands around pruning, as a person types them, on the sandbox and on a real control plane."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

from tests.support.daemon import PATIENCE, sync_document
from tests.support.instance import config_map, namespace

if TYPE_CHECKING:
    from pathlib import Path

    from syncd.model import JSONObject
    from tests.support.clusters import ClusterUnderTest
    from tests.support.repository import Repository


def test_a_sync_from_its_first_objects_to_its_end(
    cluster: ClusterUnderTest, repository: Repository, tmp_path: Path
) -> None:
    config = tmp_path / "sync.json"
    config.write_text(json.dumps(sync_document("shop", repository.url, prune={"budget": {"objects": 1}})))

    def syncd(*words: str, status: int = 0, configured: bool = True) -> str:
        command = [sys.executable, "-m", "syncd.cli", *words]
        command += ["--config", str(config)] if configured else []
        command += ["--kubeconfig", str(cluster.kubeconfig)]
        if words[0] != "inventory":
            command += ["--data-dir", str(tmp_path / "data")]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout + done.stderr

    def commit(*objects: JSONObject) -> None:
        repository.commit({"all.json": json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})})

    commit(namespace("shop"), config_map("a"), config_map("b"), config_map("c"))
    syncd("sync")
    commit(namespace("shop"), config_map("a"))
    assert "syncd approve" in syncd("sync")
    assert "b" in cluster.kubectl.names("configmap", "shop")
    assert "Approved" in syncd("approve", "shop", "--yes")
    assert "2 pruned" in syncd("sync")
    assert "No prune is held" in syncd("approve", "shop", "--yes")

    cluster.kubectl("delete", "configmap", "shop", "-n", "syncd")
    assert "no inventory" in syncd("inventory", "show", "shop")
    assert "2 objects listed" in syncd("inventory", "rebuild", "shop", "--yes")
    shown = json.loads(syncd("inventory", "show", "shop", "--output", "json"))
    assert [(item["name"], item["state"]) for item in shown["objects"]] == [("shop", "live"), ("a", "live")]

    assert syncd("inventory", "show") == syncd("inventory", "show", configured=False) == "syncd/shop: 2 objects\n"
    assert "live        ConfigMap shop/a" in syncd("inventory", "show", "syncd/shop", configured=False)
    assert "NAMESPACE/NAME" in syncd("inventory", "show", "shop", configured=False, status=64)
    document = config.read_text()
    config.write_text(json.dumps(sync_document("another", repository.url)))
    assert "no Sync of the configuration follows it" in syncd("inventory", "show")
    config.write_text(document)

    cluster.kubectl("annotate", "configmap", "a", "-n", "shop", "syncd.dev/prune=disabled")
    assert "a stays" in syncd("destroy", "shop", "--yes", status=1)
    cluster.kubectl("annotate", "configmap", "a", "-n", "shop", "syncd.dev/prune-")
    assert "2 objects deleted" in syncd("destroy", "shop", "--yes")
    assert cluster.kubectl.get("namespace", "shop") is None
