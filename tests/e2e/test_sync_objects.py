"""The daemon as a process that follows Sync objects of a cluster, and kubectl beside it."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.daemon import DaemonProcess, eventually, sync_document
from tests.unit.source.gitserver import serving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.support.clusters import ClusterUnderTest
    from tests.support.repository import Repository

DEFINITION = Path(__file__).parents[2] / "deploy" / "crd" / "syncs.syncd.dev.yaml"
MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {colour: %s}\n"
CLAIM = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "data"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}


class Stage:
    """A cluster with the definition, a repository on a server, and Syncs."""

    def __init__(self, cluster: ClusterUnderTest, url: str) -> None:
        self.cluster = cluster
        self.kubectl = cluster.kubectl
        self.url = url
        self.kubectl("apply", "--server-side", "-f", str(DEFINITION))
        self.kubectl("wait", "--for=condition=Established", "crd/syncs.syncd.dev", "--timeout=60s")
        for name in ("syncd", "shop"):
            self.kubectl("create", "namespace", name)

    def document(self, name: str = "shop", **spec: Any) -> dict[str, Any]:
        document = sync_document(name, self.url, target={"namespace": "shop"}, **spec)
        document["metadata"]["namespace"] = "syncd"
        return document

    def apply(self, document: dict[str, Any]) -> None:
        self.kubectl("apply", "-f", "-", stdin=json.dumps(document))

    def patch(self, name: str = "shop", **spec: Any) -> None:
        patch = json.dumps({"spec": spec})
        self.kubectl("patch", "sync", name, "-n", "syncd", "--type=merge", "-p", patch)

    def status(self, name: str = "shop") -> dict[str, Any]:
        found = self.kubectl.get("syncs", name, "syncd")
        assert found is not None
        status: dict[str, Any] = found.get("status") or {}
        conditions = {item["type"]: item for item in status.get("conditions", ())}
        current = status.get("observedGeneration") == found["metadata"]["generation"]
        return {**status, "conditions": conditions, "current": current}

    def wait_for(self, what: str, holds: Callable[[dict[str, Any]], object], name: str = "shop") -> dict[str, Any]:
        def attempt() -> dict[str, Any] | None:
            status = self.status(name)
            return status if holds(status) else None

        return eventually(f"{name}: {what}", attempt)

    def wait_ready(self, name: str = "shop") -> dict[str, Any]:
        return self.wait_for("ready", lambda status: status["current"] and is_true(status, "Ready"), name)

    def maps(self) -> set[str]:
        return self.kubectl.names("configmaps", "shop") - {"kube-root-ca.crt"}

    def events(self) -> list[tuple[str, str, int]]:
        """Kinds and reasons of what syncd has told, and how often."""
        found = json.loads(self.kubectl("get", "events.v1.events.k8s.io", "-A", "-o", "json"))["items"]
        mine = [event for event in found if event.get("reportingController") == "syncd.dev/syncd"]
        return sorted(
            (each["regarding"]["kind"], each["reason"], each.get("series", {}).get("count", 1)) for each in mine
        )


def is_true(status: dict[str, Any], condition: str) -> bool:
    return bool(status["conditions"].get(condition, {}).get("status") == "True")


@pytest.fixture
def stage(cluster: ClusterUnderTest, repository: Repository) -> Iterator[Stage]:
    repository.commit({"one/a.yaml": MAP % ("a", "blue"), "two/b.yaml": MAP % ("b", "blue")})
    with serving(repository.path.parent) as server:
        yield Stage(cluster, f"{server.url}/{repository.path.name}")


def test_syncs_are_followed_as_they_are_made_changed_suspended_and_deleted(tmp_path: Path, stage: Stage) -> None:
    with DaemonProcess(tmp_path, stage.cluster.kubeconfig) as daemon:
        stage.apply(stage.document(path="one"))
        made = stage.wait_ready()
        assert made["objects"] == {"applied": 1, "inventory": 1}
        assert made["revision"].startswith("main@")
        assert stage.maps() == {"a"}
        told = [("ConfigMap", "Created", 1), ("Sync", "Applied", 1)]
        eventually("the changes were told", lambda: stage.events() == told)
        quiet = stage.cluster.mark()
        polled = daemon.status("shop")["lastAttempt"]
        daemon.wait_for("shop", "polled again", lambda status: status["lastAttempt"] > polled)
        assert [asked for asked in stage.cluster.since(quiet) if asked.writes] == []
        assert stage.events() == told

        stage.patch(path="two")
        stage.wait_ready()
        assert stage.maps() == {"b"}

        stage.patch(suspend=True)
        stage.wait_for("suspended", lambda status: status["conditions"]["Reconciling"]["reason"] == "Suspended")
        stage.kubectl("delete", "configmap", "b", "-n", "shop")
        stage.kubectl("annotate", "sync", "shop", "-n", "syncd", "syncd.dev/requested-at=one")
        assert daemon.status("shop")["suspended"]
        assert stage.maps() == set()

        stage.patch(suspend=False)
        resumed = stage.wait_for("resumed", lambda status: status["current"] and status.get("lastHandledRequest"))
        assert resumed["lastHandledRequest"] == "one"
        assert stage.maps() == {"b"}

        stage.patch(source={"git": {"url": f"{stage.url}-away"}})
        failed = stage.wait_for("failing", lambda status: status["current"] and status.get("errors"))
        assert failed["conditions"]["Ready"]["status"] == "False"
        assert failed["applied"]["commit"] == made["applied"]["commit"]
        stage.kubectl("delete", "sync", "shop", "-n", "syncd", "--timeout=60s")
        assert stage.maps() == set()
        assert stage.kubectl.get("configmap", "shop", "syncd") is None
        assert json.loads(daemon.get("/api/v1/syncs"))["items"] == []
        assert "syncd/shop" not in daemon.get("/metrics")


def test_one_that_does_not_hold_is_shown_everywhere_and_disturbs_no_other(tmp_path: Path, stage: Stage) -> None:
    """An API server cannot check everything: what it takes all the same, the daemon refuses."""
    check = {"group": "shop.example.com", "kind": "Till", "current": "1 +"}
    with DaemonProcess(tmp_path, stage.cluster.kubeconfig) as daemon:
        stage.apply(stage.document("bad", path="one", healthChecks=[check]))
        stage.apply(stage.document(path="two"))
        stage.wait_ready()
        assert stage.maps() == {"b"}
        stalled = stage.wait_for("stalled", lambda status: is_true(status, "Stalled"), "bad")
        assert stalled["state"] == "Unknown"
        wrong = "spec.healthChecks.0.current: is not a CEL expression"
        assert wrong in stalled["conditions"]["Ready"]["message"]
        shown = daemon.status("bad")
        assert (shown["reason"], shown["state"], shown["source"]["url"]) == ("InvalidSync", "Unknown", stage.url)
        assert wrong in shown["problems"][0]
        assert 'syncd_sync_failing_since_timestamp_seconds{sync="syncd/bad"}' in daemon.get("/metrics")
        eventually("it is told", lambda: ("Sync", "InvalidSync", 1) in stage.events())
        assert "ok" in daemon.get("/readyz")

        stage.patch("bad", healthChecks=None)
        stage.wait_ready("bad")
        assert stage.maps() == {"a", "b"}
        stage.patch("bad", healthChecks=[check])
        stage.wait_for("stalled again", lambda status: is_true(status, "Stalled"), "bad")
        assert [item["name"] for item in daemon.status("bad")["objects"]] == ["a"]
        stage.kubectl("delete", "sync", "bad", "-n", "syncd", "--timeout=60s")
        assert stage.maps() == {"b"}


def test_what_is_protected_keeps_a_deleted_sync_until_a_person_says_otherwise(
    tmp_path: Path, stage: Stage, repository: Repository
) -> None:
    repository.commit({"kept/claim.yaml": json.dumps(CLAIM)})
    with DaemonProcess(tmp_path, stage.cluster.kubeconfig):
        stage.apply(stage.document(path="kept"))
        stage.wait_for("applied", lambda status: status.get("revision"))
        stage.kubectl("delete", "sync", "shop", "-n", "syncd", "--wait=false")
        waiting = stage.wait_for("waits", lambda status: status.get("errors"))
        assert waiting["conditions"]["Ready"]["reason"] == "Terminating"
        assert "PersistentVolumeClaim shop/data stays" in waiting["errors"][0]
        stage.patch(deletionPolicy="Orphan")
        stage.kubectl("wait", "--for=delete", "sync/shop", "-n", "syncd", "--timeout=60s")
        assert stage.kubectl.get("persistentvolumeclaims", "data", "shop") is not None


def test_a_restart_goes_on_where_it_was(tmp_path: Path, stage: Stage) -> None:
    stage.apply(stage.document(path="one"))
    stage.apply(stage.document("other", path="two", deletionPolicy="Orphan"))
    with DaemonProcess(tmp_path, stage.cluster.kubeconfig) as daemon:
        before = stage.wait_ready()
        stage.wait_ready("other")
        daemon.kill()
        stage.kubectl("delete", "sync", "other", "-n", "syncd", "--wait=false")
        mark = stage.cluster.mark()
        daemon.start()
        daemon.wait_for("shop", "reconciled again", lambda status: status["state"] == "Synced")
        eventually("the other one is gone", lambda: stage.kubectl.names("syncs", "syncd") == {"shop"})
        assert stage.maps() == {"a", "b"}
        assert stage.status() == before
        assert [asked for asked in stage.cluster.since(mark) if asked.writes and asked.name == "shop"] == []


def test_a_definition_that_comes_later_is_noticed_and_one_namespace_may_be_enough(tmp_path: Path, stage: Stage) -> None:
    stage.kubectl("delete", "-f", str(DEFINITION))
    with DaemonProcess(tmp_path, stage.cluster.kubeconfig, options=("--namespace", "syncd")) as daemon:
        stage.kubectl("apply", "--server-side", "-f", str(DEFINITION))
        stage.kubectl("wait", "--for=condition=Established", "crd/syncs.syncd.dev", "--timeout=60s")
        elsewhere = stage.document("elsewhere", path="two")
        elsewhere["metadata"]["namespace"] = "shop"
        stage.apply(elsewhere)
        stage.apply(stage.document(path="one"))
        stage.wait_ready()
        eventually("it is ready", lambda: "ok" in daemon.get("/readyz"))
        assert stage.maps() == {"a"}


def plugin(folder: Path) -> Path:
    """What the installed package puts beside kubectl; here the package is not installed."""
    folder.mkdir()
    script = folder / "kubectl-syncd"
    script.write_text(f"#!{sys.executable}\nfrom syncd.cli.main import main\n\nmain()\n")
    script.chmod(0o755)
    return folder


def test_a_person_asks_with_commands_of_kubectl(tmp_path: Path, stage: Stage, repository: Repository) -> None:
    path = f"{plugin(tmp_path / 'bin')}:{os.environ['PATH']}"
    kubectl = stage.kubectl.with_environment(PATH=path, PYTHONPATH=str(DEFINITION.parents[2]))
    with DaemonProcess(tmp_path, stage.cluster.kubeconfig):
        stage.apply(stage.document(prune={"budget": {"objects": 0}}, interval="1h"))
        stage.wait_ready()
        assert "usage: kubectl syncd get" in kubectl("syncd", "get", "--help").lower()
        (row,) = [line.split() for line in kubectl("syncd", "get").splitlines() if "syncd/shop" in line]
        assert row[:4] == ["syncd/shop", "True", "Synced", "Healthy"]

        assert kubectl("syncd", "suspend", "shop") == "syncd/shop: suspended\n"
        refused = kubectl.try_run("syncd", "sync", "shop")
        assert (refused.returncode, "syncd resume" in refused.stderr) == (1, True)
        assert kubectl("syncd", "resume", "shop", "--namespace", "syncd") == "syncd/shop: resumed\n"

        commit = repository.commit({"one/a.yaml": None})
        held = kubectl.try_run("syncd", "sync", "syncd/shop")
        assert held.returncode == 1
        assert "syncd approve" in held.stderr
        assert stage.maps() == {"a", "b"}
        shown = kubectl("syncd", "approve", "syncd/shop", "--yes")
        assert "ConfigMap shop/a" in shown
        stage.wait_ready()
        assert stage.maps() == {"b"}
        assert kubectl("syncd", "sync", "shop") == f"syncd/shop: applied revision main@{commit[:12]}\n"

        repository.commit({"one/c.yaml": MAP % ("c", "blue")})
        data = f"--data-dir={tmp_path / 'person'}"
        planned = kubectl.try_run("syncd", "plan", "syncd/shop", "--exit-code", data)
        assert (planned.returncode, "+ ConfigMap shop/c" in planned.stdout) == (2, True), planned.stderr
        assert stage.maps() == {"b"}

        stage.kubectl("annotate", "configmap", "b", "-n", "shop", "syncd.dev/prune=disabled")
        kept = kubectl.try_run("syncd", "destroy", "syncd/shop", "--yes")
        assert (kept.returncode, "ConfigMap shop/b stays" in kept.stderr) == (1, True), kept
        stage.kubectl("delete", "configmap", "b", "-n", "shop")
        stage.kubectl("wait", "--for=delete", "sync/shop", "-n", "syncd", "--timeout=60s")
        stage.apply(stage.document("other", path="two"))
        stage.wait_ready("other")
        assert kubectl("syncd", "destroy", "other", "--yes") == "syncd/other: 1 objects deleted.\n"
        assert stage.maps() == set()
        missing = kubectl.try_run("syncd", "get", "nothing")
        assert (missing.returncode, "there is no Sync syncd/nothing" in missing.stderr) == (1, True)
