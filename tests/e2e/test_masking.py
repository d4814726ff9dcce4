"""Values of Secrets that variables put into other kinds are shown nowhere: in no plan, drift, page, error or log."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

from tests.support.daemon import DaemonProcess, eventually, sync_document

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.clusters import ClusterUnderTest
    from tests.support.repository import Repository

MAP = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: default}
data:
  url: postgres://me:${password}@db
  colour: blue
"""
SERVICE = """\
apiVersion: v1
kind: Service
metadata: {name: web, namespace: default}
spec: {type: '${type}', ports: [{port: 80}]}
"""


def test_values_of_secrets_are_shown_nowhere(cluster: ClusterUnderTest, repository: Repository, tmp_path: Path) -> None:
    kubectl = cluster.kubectl
    seen: list[str] = []

    def url() -> str:
        return str(((kubectl.get("configmap", "settings", "default") or {}).get("data") or {}).get("url"))

    def edit(text: str) -> None:
        patch = json.dumps({"data": {"url": text, "colour": "red"}})
        kubectl("patch", "configmap", "settings", "-n", "default", "--type=merge", "--patch", patch)

    def plan() -> str:
        command = [sys.executable, "-m", "syncd.cli", "plan", "--config", str(tmp_path / "syncs.yaml")]
        command += ["--kubeconfig", str(cluster.kubeconfig), "--data-dir", str(tmp_path / "data")]
        texts = [
            subprocess.run([*command, "--output", form], capture_output=True, text=True, check=False, timeout=60).stdout
            for form in ("text", "json")
        ]
        seen.extend(texts)
        return texts[0]

    kubectl("create", "namespace", "syncd")
    kubectl(
        "create",
        "secret",
        "generic",
        "s",
        "-n",
        "syncd",
        "--from-literal=password=hunter2",
        "--from-literal=type=hunter3",
    )
    spec = {"substitute": {"from": [{"kind": "Secret", "name": "s"}]}, "drift": {"action": "Report"}}
    document = sync_document("shop", repository.url, **spec)
    commit = repository.commit({"a.yaml": MAP})
    with DaemonProcess(tmp_path, cluster.kubeconfig, document) as daemon:
        daemon.wait_synced("shop", commit)
        assert url() == "postgres://me:hunter2@db"

        edit("postgres://me:hunter4@other")
        status = daemon.wait_for("shop", "drift is told", lambda status: "data.url" in json.dumps(status))
        assert "*** (before)" in json.dumps(status)
        assert "data.url" in plan()
        seen += [json.dumps(status), daemon.get("/"), daemon.get("/syncs/syncd/shop"), daemon.get("/metrics")]

        patch = json.dumps({"stringData": {"password": "hunter5"}})
        kubectl("patch", "secret", "s", "-n", "syncd", "--patch", patch)
        eventually("the new password is live", lambda: url() == "postgres://me:hunter5@db")

        repository.commit({"a.yaml": MAP, "b.yaml": SERVICE})
        # A new object that was refused is tried again, though drift is only reported: it was never there to drift.
        status = daemon.wait_for("shop", "the Service is refused twice", lambda status: status["failures"] > 1)
        assert status["reason"] == "ApplyFailed"
        assert 'Unsupported value: \\"***\\"' in json.dumps(status)
        seen += [json.dumps(status), daemon.get("/syncs/syncd/shop"), kubectl("get", "events", "-A", "-o", "json")]
        assert not [line for text in seen for line in text.splitlines() if "hunter" in line]
    assert "hunter" not in daemon.log.read_text()
