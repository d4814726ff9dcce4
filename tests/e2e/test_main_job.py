"""The daemon as a process follows Git and keeps a cluster equal to it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from syncd.model import OutcomeStatus
from tests.support.clusters import by_verb
from tests.support.daemon import DaemonProcess, eventually, metric, sync_document
from tests.support.instance import Git, Instance, config_map, namespace, sync

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.clusters import ClusterUnderTest
    from tests.support.repository import Repository

NAMESPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n"
SETTINGS = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: shop}\ndata: {colour: blue}\n"
WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: registry.example.com/web:1
        envFrom: [{configMapRef: {name: settings}}]
"""
CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "carts.shop.example.com"},
    "spec": {
        "group": "shop.example.com",
        "names": {"kind": "Cart", "plural": "carts"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}
CART = "apiVersion: shop.example.com/v1\nkind: Cart\nmetadata: {name: one, namespace: shop}\nspec: {size: 3}\n"
MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a%s}\n"
SHOP = {"namespace.yaml": NAMESPACE, "settings.yaml": SETTINGS, "web.yaml": WEB}


@pytest.fixture
def daemon(tmp_path: Path, cluster: ClusterUnderTest, repository: Repository) -> DaemonProcess:
    """One Sync of the repository; not started yet."""
    return DaemonProcess(tmp_path, cluster.kubeconfig, sync_document("shop", repository.url))


def colour(cluster: ClusterUnderTest) -> str:
    found = cluster.kubectl.get("configmap", "settings", "shop")
    return found["data"]["colour"] if found else ""


def test_what_is_written_into_its_configuration_is_followed_without_a_restart(
    cluster: ClusterUnderTest, repository: Repository, daemon: DaemonProcess
) -> None:
    commit = repository.commit(SHOP)
    with daemon:
        daemon.wait_synced("shop", commit)
        config = daemon.folder / "syncs.yaml"
        config.write_text(json.dumps(sync_document("shop", repository.url, suspend=True)))
        daemon.wait_for("shop", "is suspended", lambda status: status["suspended"])
        config.write_text(json.dumps(sync_document("other", repository.url)))

        def names() -> list[str]:
            return [item["name"] for item in json.loads(daemon.get("/api/v1/syncs"))["items"]]

        eventually("one Sync has taken the other's place", lambda: names() == ["other"])
        assert colour(cluster) == "blue"


def wait_for_next(daemon: DaemonProcess, seen: str) -> str:
    """Wait until another reconcile than the one seen has ended, and say when."""
    status = daemon.wait_for("shop", "is reconciled again", lambda status: status["lastAttempt"] != seen)
    return str(status["lastAttempt"])


def test_it_converges_from_empty_and_rolls_out(
    cluster: ClusterUnderTest, repository: Repository, daemon: DaemonProcess
) -> None:
    commit = repository.commit(SHOP)
    with daemon:
        status = daemon.wait_synced("shop", commit)
        assert status["inventorySize"] == 3
        cluster.kubectl("rollout", "status", "deployment/web", "-n", "shop", "--timeout=90s")
        daemon.wait_for("shop", "is healthy", lambda status: status["health"] == "Healthy")
        assert daemon.stop() == 0


def test_a_commit_is_applied_and_a_deletion_pruned(
    cluster: ClusterUnderTest, repository: Repository, daemon: DaemonProcess
) -> None:
    repository.commit(SHOP)
    with daemon:
        daemon.wait_synced("shop", repository.commit({"settings.yaml": SETTINGS.replace("blue", "green")}))
        assert colour(cluster) == "green"
        daemon.wait_synced("shop", repository.commit({"web.yaml": None}))
        assert cluster.kubectl.get("deployment", "web", "shop") is None
        assert colour(cluster) == "green"
        daemon.wait_synced("shop", repository.commit({"web.yaml": WEB}))
        assert cluster.kubectl.get("deployment", "web", "shop") is not None


def test_a_live_edit_is_put_right_and_told(
    cluster: ClusterUnderTest, repository: Repository, daemon: DaemonProcess
) -> None:
    commit = repository.commit(SHOP)
    with daemon:
        daemon.wait_synced("shop", commit)
        cluster.kubectl(
            "patch", "configmap", "settings", "-n", "shop", "--type=merge", "-p", '{"data":{"colour":"red"}}'
        )
        eventually("the colour is blue again", lambda: colour(cluster) == "blue")
        status = daemon.wait_for("shop", "says what drifted", lambda status: status["drift"])
        (drift,) = status["drift"]
        assert drift["reason"] == "changed"
        assert drift["manager"] == "kubectl-patch"
        assert drift["correctedAt"]
        assert [change["path"] for change in drift["changes"]] == ["data.colour"]


def test_a_deleted_object_comes_back(cluster: ClusterUnderTest, repository: Repository, daemon: DaemonProcess) -> None:
    commit = repository.commit(SHOP)
    with daemon:
        daemon.wait_synced("shop", commit)
        cluster.kubectl("delete", "configmap", "settings", "-n", "shop")
        eventually("it is there again", lambda: colour(cluster) == "blue")
        status = daemon.wait_for("shop", "says what drifted", lambda status: status["drift"])
        assert status["drift"][0]["reason"] == "missing"


def test_an_owner_that_was_taken_away_comes_back(
    cluster: ClusterUnderTest, repository: Repository, daemon: DaemonProcess
) -> None:
    commit = repository.commit(SHOP)
    with daemon:
        daemon.wait_synced("shop", commit)
        for what, name in (("label", "apply-id"), ("annotate", "apply-owner")):
            cluster.kubectl(what, "configmap", "settings", "-n", "shop", f"kubectl.kubernetes.io/{name}-")
        eventually(
            "it is owned again",
            lambda: (
                "kubectl.kubernetes.io/apply-owner"
                in (cluster.kubectl.get("configmap", "settings", "shop") or {})["metadata"].get("annotations", {})
            ),
        )


def test_what_others_made_is_left_alone(
    cluster: ClusterUnderTest, repository: Repository, daemon: DaemonProcess
) -> None:
    commit = repository.commit(SHOP)
    with daemon:
        daemon.wait_synced("shop", commit)
        cluster.kubectl("create", "configmap", "foreign", "-n", "shop", "--from-literal=a=b")
        cluster.kubectl("patch", "configmap", "settings", "-n", "shop", "--type=merge", "-p", '{"data":{"extra":"1"}}')
        daemon.wait_synced("shop", repository.commit({"web.yaml": None}))
        assert cluster.kubectl.get("configmap", "foreign", "shop")
        settings = cluster.kubectl.get("configmap", "settings", "shop")
        assert settings is not None
        assert settings["data"] == {"colour": "blue", "extra": "1"}


def test_what_was_there_before_is_adopted_without_losing_anything(
    cluster: ClusterUnderTest, repository: Repository, daemon: DaemonProcess
) -> None:
    cluster.kubectl("create", "namespace", "shop")
    cluster.kubectl(
        "create", "configmap", "settings", "-n", "shop", "--from-literal=colour=red", "--from-literal=size=9"
    )
    commit = repository.commit(SHOP)
    with daemon:
        status = daemon.wait_synced("shop", commit)
        settings = cluster.kubectl.get("configmap", "settings", "shop")
        assert settings is not None
        assert settings["data"] == {"colour": "blue", "size": "9"}
        assert not status["drift"]


def test_an_unchanged_reconcile_asks_for_no_object_and_writes_nothing(
    cluster: ClusterUnderTest, repository: Repository, daemon: DaemonProcess
) -> None:
    many = {f"{number}.yaml": SETTINGS.replace("settings", f"settings-{number}") for number in range(60)}
    commit = repository.commit({**SHOP, **many})
    with daemon:
        daemon.wait_synced("shop", commit)
        daemon.wait_for("shop", "is healthy", lambda status: status["health"] == "Healthy")
        seen = wait_for_next(daemon, daemon.status("shop")["lastAttempt"])
        mark = cluster.mark()
        for _ in range(3):
            seen = wait_for_next(daemon, seen)
        requests = cluster.since(mark)
        assert not [request for request in requests if request.writes]
        assert {request.name for request in requests if request.verb == "get"} <= {"shop"}, by_verb(requests)
        assert len(requests) <= 12, by_verb(requests)


def test_a_restart_needs_no_memory_and_writes_nothing(
    cluster: ClusterUnderTest, repository: Repository, daemon: DaemonProcess
) -> None:
    commit = repository.commit(SHOP)
    with daemon:
        daemon.wait_synced("shop", commit)
        cluster.kubectl("rollout", "status", "deployment/web", "-n", "shop", "--timeout=90s")
        daemon.kill()
        mark = cluster.mark()
        daemon.start()
        daemon.wait_synced("shop", commit)
        assert not [request for request in cluster.since(mark) if request.writes]


def test_a_definition_and_its_instance_in_one_commit_converge(
    cluster: ClusterUnderTest, repository: Repository, daemon: DaemonProcess
) -> None:
    commit = repository.commit({"namespace.yaml": NAMESPACE, "crd.json": json.dumps(CRD), "cart.yaml": CART})
    with daemon:
        status = daemon.wait_synced("shop", commit)
        assert len(status["history"]) == 1, "it took more than one reconcile"
        assert cluster.kubectl.get("carts.shop.example.com", "one", "shop") is not None
        daemon.wait_synced("shop", repository.commit({"cart.yaml": None, "crd.json": None}))
        eventually("the definition is gone", lambda: cluster.kubectl.get("crd", "carts.shop.example.com") is None)


def test_a_custom_resource_waits_for_a_definition_that_somebody_else_brings_and_blocks_nothing(
    cluster: ClusterUnderTest, repository: Repository, daemon: DaemonProcess
) -> None:
    repository.commit({**SHOP, "cart.yaml": CART})
    with daemon:
        waiting = daemon.wait_for("shop", "has tried", lambda status: status["problems"])
        assert colour(cluster) == "blue"
        assert "install its CustomResourceDefinition" in waiting["error"]
        newest = repository.commit({"settings.yaml": SETTINGS.replace("blue", "red")})
        eventually("the others are kept up to date", lambda: colour(cluster) == "red")
        cluster.kubectl("create", "--filename", "-", stdin=json.dumps(CRD))
        daemon.wait_synced("shop", newest)
        assert cluster.kubectl.get("carts.shop.example.com", "one", "shop") is not None


def test_one_bad_object_stops_nobody_else(
    cluster: ClusterUnderTest, repository: Repository, daemon: DaemonProcess
) -> None:
    bad = WEB.replace("name: web, ", "name: bad, ").replace("{app: web}}\n  template", "{app: other}}\n  template")
    stray = "apiVersion: nowhere.example.com/v1\nkind: Stray\nmetadata: {name: stray}\n"
    repository.commit({**SHOP, "bad.yaml": bad, "stray.yaml": stray})
    with daemon:
        status = daemon.wait_for("shop", "reports both failures", lambda status: len(status["problems"]) == 2)
        assert status["state"] == "OutOfSync"
        assert colour(cluster) == "blue"
        assert any("Stray" in problem and "stray.yaml" in problem for problem in status["problems"])
        assert any("bad" in problem and "selector" in problem for problem in status["problems"])
        daemon.wait_synced("shop", repository.commit({"bad.yaml": None, "stray.yaml": None}))


def test_a_failing_sync_disturbs_no_other_and_recovers(
    cluster: ClusterUnderTest, repository: Repository, tmp_path: Path
) -> None:
    commit = repository.commit(SHOP)
    missing = tmp_path / "later.git"
    syncs = sync_document("shop", repository.url), sync_document("later", f"file://{missing}")
    with DaemonProcess(tmp_path, cluster.kubeconfig, *syncs) as daemon:
        daemon.wait_synced("shop", commit)
        status = daemon.wait_for("later", "reports its error", lambda status: status["error"])
        assert status["state"] == "Unknown"
        assert str(missing) in status["error"]
        assert metric(daemon, "syncd_sync_failing_since_timestamp_seconds", sync="syncd/later") is not None
        (tmp_path / "copy.git").symlink_to(repository.path)
        missing.symlink_to(repository.path)
        daemon.wait_for("later", "has left its error behind", lambda status: "not found" not in status["error"].lower())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"bad.yaml": "a: [1\n"}, ["bad.yaml", "line"]),
        ({"bad.yaml": "kind: ConfigMap\nkind: Secret\n"}, ["bad.yaml", "line 2", "kind"]),
        ({"bad.yaml": f"---\n{NAMESPACE}---\n{SETTINGS}"}, ["bad.yaml", "settings.yaml", "already"]),
        ({"bad.yaml": f"{MAP % ''}---\n{MAP % ', namespace: default'}"}, ["document 2", "already"]),
        ({"bad.yaml": "apiVersion: v1\nmetadata: {name: a}\n"}, ["bad.yaml", "kind"]),
        ({"bad.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {}\n"}, ["bad.yaml", "name"]),
        ({"kustomization.yaml": "resources: [missing.yaml]\n"}, ["missing.yaml"]),
        (dict.fromkeys(SHOP), ["no Kubernetes object"]),
    ],
)
def test_bad_input_is_one_clear_error_and_nothing_is_lost(
    cluster: ClusterUnderTest,
    repository: Repository,
    daemon: DaemonProcess,
    change: dict[str, str | None],
    words: list[str],
) -> None:
    commit = repository.commit(SHOP)
    with daemon:
        daemon.wait_synced("shop", commit)
        uid = (cluster.kubectl.get("configmap", "settings", "shop") or {})["metadata"]["uid"]
        repository.commit({"keep.txt": "", **change})
        status = daemon.wait_for("shop", "reports it", lambda status: status["error"] or status["pruneHeld"])
        text = " ".join([status["error"], *status["problems"], status["pruneHeld"]])
        assert all(word in text for word in words), text
        settings = cluster.kubectl.get("configmap", "settings", "shop")
        assert settings is not None
        assert settings["metadata"]["uid"] == uid


def test_of_two_hundred_objects_one_that_fails_leaves_the_others_applied(cluster: ClusterUnderTest) -> None:
    objects = [config_map(f"map-{number}", value="one") for number in range(199)]
    broken = {**config_map("broken"), "data": {"not a key!": "value"}}
    with Instance(cluster.kubeconfig, Git(shop=[namespace("shop"), *objects, broken]), width=8) as life:
        result = life.reconcile(sync())
        (failure,) = result.failures
        assert "ConfigMap shop/broken" in failure.message
        assert "not a key!" in failure.message, "the server's words are missing"
        assert sum(outcome.status is OutcomeStatus.DONE for outcome in result.outcomes) == 200
    found = json.loads(cluster.kubectl("get", "configmaps", "-n", "shop", "-o", "json"))
    assert sum(item["metadata"]["name"].startswith("map-") for item in found["items"]) == 199
