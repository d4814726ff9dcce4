"""What is rendered may depend on the cluster: keys, values, versions, and limits to what may be applied."""

from __future__ import annotations

import base64
import json
import re
from typing import TYPE_CHECKING

from tests.support.daemon import DaemonProcess, eventually, sync_document
from tests.unit.render.test_helm import needs_helm
from tests.unit.render.test_plain import config_map
from tests.unit.render.test_sops import SECRET, Safe, needs_sops

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.clusters import ClusterUnderTest
    from tests.support.repository import Repository

CHART = {
    "chart/Chart.yaml": b"apiVersion: v2\nname: web\nversion: 1.0.0\n",
    "chart/templates/a.yaml": b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: chart}\ndata:\n"
    b"  version: {{ .Capabilities.KubeVersion.Version }}\n"
    b'  leases: {{ .Capabilities.APIVersions.Has "coordination.k8s.io/v1/Lease" | quote }}\n'
    b'  syncs: {{ .Capabilities.APIVersions.Has "syncd.dev/v1alpha1/Sync" | quote }}\n',
}


@needs_helm
@needs_sops
def test_keys_and_values_come_from_the_cluster_and_limits_hold(
    cluster: ClusterUnderTest, repository: Repository, tmp_path: Path
) -> None:
    kubectl, safe = cluster.kubectl, Safe(tmp_path / "safe")
    encrypted = safe.encrypt(SECRET, f"--age={safe.age()}")
    for name in ("syncd", "shop"):
        kubectl("create", "namespace", name)
    kubectl("create", "secret", "generic", "keys", "-n", "syncd", f"--from-file={safe.folder / 'age.agekey'}")
    kubectl("create", "configmap", "values", "-n", "syncd", "--from-literal=colour=blue")
    text = config_map("settings") + "data: {colour: '${colour}'}\n"
    files = {**CHART, "secret.yaml": encrypted, "settings.yaml": text.encode()}
    commit = repository.commit(files)
    spec = {
        "decryption": {"secretRef": {"name": "keys"}},
        "substitute": {"from": [{"kind": "ConfigMap", "name": "values"}]},
        "overrides": {"namePrefix": "a-"},
        "target": {"namespace": "shop", "allowedNamespaces": ["shop"]},
    }

    def data(name: str) -> dict[str, str]:
        return (kubectl.get("configmap", name, "shop") or {}).get("data") or {}

    with DaemonProcess(tmp_path, cluster.kubeconfig, sync_document("shop", repository.url, **spec)) as daemon:
        daemon.wait_synced("shop", commit)
        told = eventually(
            "the programs are told", lambda: re.search(r'{.*"event":"programs".*}', daemon.log.read_text())
        )
        assert json.loads(told[0]).keys() >= {"git", "kustomize", "helm", "sops"}
        secret = kubectl.get("secret", "a-s", "shop") or {}
        assert base64.b64decode(secret["data"]["password"]) == b"hunter2"
        version = json.loads(kubectl("version", "-o", "json"))["serverVersion"]["gitVersion"]
        assert data("a-chart") == {"version": version, "leases": "true", "syncs": "false"}
        assert data("a-settings") == {"colour": "blue"}

        patch = json.dumps({"data": {"colour": "red"}})
        kubectl("patch", "configmap", "values", "-n", "syncd", "--type=merge", "--patch", patch)
        eventually("the new value is live", lambda: data("a-settings") == {"colour": "red"})

        repository.commit({**files, "more/a.yaml": config_map("x", namespace="kube-system").encode()})
        status = daemon.wait_for("shop", "it is refused", lambda status: status["reason"] == "NotPermitted")
        assert "more/a.yaml" in json.dumps(status)
        assert data("a-settings") == {"colour": "red"}
        assert kubectl.get("configmap", "a-x", "kube-system") is None
    assert "hunter2" not in daemon.log.read_text()
