"""What is pruned, what is not, and how objects change hands: on the sandbox and on a real control plane."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from syncd.engine.inventory import InventoryStore
from syncd.inventory import names
from syncd.inventory.keylist import approval_of
from syncd.model import ActionType
from tests.support.daemon import eventually
from tests.support.instance import Git, Instance, config_map, namespace, sync

if TYPE_CHECKING:
    from syncd.engine.result import Reconciliation
    from syncd.model import JSONObject
    from tests.support.clusters import ClusterUnderTest


def web(settings: str) -> JSONObject:
    container = {"name": "web", "image": "example.com/web:1", "envFrom": [{"configMapRef": {"name": settings}}]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container]}},
        },
    }


CLAIM: JSONObject = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "data", "namespace": "shop"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}


def kept(result: Reconciliation) -> dict[str, str]:
    """The reasons for which objects are kept, by their names."""
    return {action.key.name: action.reason for action in result.plan.of(ActionType.KEEP)}


def uid(cluster: ClusterUnderTest, name: str) -> str:
    found = cluster.kubectl.get("configmap", name, "shop")
    return str(found["metadata"]["uid"]) if found else ""


def owner(cluster: ClusterUnderTest, name: str) -> str:
    found = cluster.kubectl.get("configmap", name, "shop") or {"metadata": {}}
    return str((found["metadata"].get("annotations") or {}).get(names.SYNC_ANNOTATION, ""))


def scale_down_old(cluster: ClusterUnderTest) -> None:
    cluster.kubectl("rollout", "status", "deployment/web", "-n", "shop", "--timeout=90s")


def test_a_configmap_is_pruned_only_when_the_rollout_no_longer_uses_it(cluster: ClusterUnderTest) -> None:
    git = Git(shop=[namespace("shop"), config_map("settings-1"), web("settings-1")])
    with Instance(cluster.kubeconfig, git) as life:
        life.settle(sync())
        scale_down_old(cluster)
        git.commit("shop", [namespace("shop"), config_map("settings-2"), web("settings-2")])
        life.reconcile(sync())
        assert uid(cluster, "settings-1"), "it went while Pods used it"
        scale_down_old(cluster)
        life.settle(sync())
        assert not uid(cluster, "settings-1")
        assert uid(cluster, "settings-2")


def test_a_configmap_that_a_pod_of_somebody_else_uses_is_pending_and_not_forgotten(cluster: ClusterUnderTest) -> None:
    git = Git(shop=[namespace("shop"), config_map("settings"), config_map("other")])
    with Instance(cluster.kubeconfig, git) as life:
        life.settle(sync())
        cluster.kubectl("create", "-f", "-", stdin=json.dumps(web("settings")))
        eventually("its Pod is there", lambda: cluster.kubectl.names("pod", "shop"))
        git.commit("shop", [namespace("shop"), config_map("other")])
        assert kept(life.reconcile(sync())) == {"settings": "StillUsed"}
    with Instance(cluster.kubeconfig, git) as life:
        assert kept(life.reconcile(sync())) == {"settings": "StillUsed"}, "a restart forgot it"
        cluster.kubectl("delete", "deployment", "web", "-n", "shop", "--wait=true", "--cascade=foreground")
        life.settle(sync())
        assert not uid(cluster, "settings")


def test_a_claim_is_kept_until_somebody_says_that_its_data_may_go(cluster: ClusterUnderTest) -> None:
    git = Git(shop=[namespace("shop"), CLAIM, config_map("other")])
    with Instance(cluster.kubeconfig, git) as life:
        life.settle(sync())
        git.commit("shop", [namespace("shop"), config_map("other")])
        assert kept(life.settle(sync())) == {"data": "HoldsData"}
        life.settle(sync(prune={"persistentVolumeClaims": "Delete"}))
        eventually("it is gone", lambda: cluster.kubectl.get("pvc", "data", "shop") is None)


def test_an_object_that_moves_to_another_sync_is_never_deleted(cluster: ClusterUnderTest) -> None:
    syncs = sync("one"), sync("two")
    git = Git(one=[namespace("shop"), config_map("moving"), config_map("a")], two=[config_map("b")])
    with Instance(cluster.kubeconfig, git, syncs=syncs) as life:
        for item in syncs:
            life.settle(item)
        before = uid(cluster, "moving")
        git.commit("one", [namespace("shop"), config_map("a")])
        git.commit("two", [config_map("moving", size="9"), config_map("b")])
        assert kept(life.reconcile(syncs[0])) == {"moving": "HandedOver"}
        life.settle(syncs[1])
        assert (uid(cluster, "moving"), owner(cluster, "moving")) == (before, "syncd/two")
        assert not kept(life.settle(syncs[0]))
        assert uid(cluster, "moving") == before


def test_an_object_of_another_sync_is_refused_or_taken_over_as_the_sync_says(cluster: ClusterUnderTest) -> None:
    git = Git(one=[namespace("shop"), config_map("settings")], two=[config_map("settings", size="9")])
    with Instance(cluster.kubeconfig, git) as life:
        life.settle(sync("one"))
        before = uid(cluster, "settings")
        (failure,) = life.reconcile(sync("two")).failures
        assert "syncd/one" in failure.message
        assert "syncd/two" in failure.message
        life.settle(sync("two", adopt={"from": ["syncd/one"]}))
        assert (uid(cluster, "settings"), owner(cluster, "settings")) == (before, "syncd/two")
        git.commit("one", [namespace("shop")])
        assert kept(life.reconcile(sync("one", prune={"budget": {"percent": 100}}))) == {"settings": "OwnedByOther"}
        assert uid(cluster, "settings") == before


def test_an_object_without_owner_is_left_alone_where_the_sync_says_so(cluster: ClusterUnderTest) -> None:
    cluster.kubectl("create", "namespace", "shop")
    cluster.kubectl("create", "configmap", "settings", "-n", "shop", "--from-literal=colour=red")
    with Instance(cluster.kubeconfig, Git(shop=[config_map("settings", colour="blue")])) as life:
        (failure,) = life.reconcile(sync(adopt={"unowned": False})).failures
        assert failure.reason == "NotAdopted"
        (outcome,) = life.reconcile(sync()).outcomes
        assert outcome.action.reason == "Adopted"


def test_a_held_prune_goes_on_once_it_is_approved_and_only_that_one(cluster: ClusterUnderTest) -> None:
    careful = sync(prune={"budget": {"objects": 1}})
    many = [config_map(f"c{number}") for number in range(6)]
    git = Git(shop=[namespace("shop"), *many])
    with Instance(cluster.kubeconfig, git) as life:
        life.settle(careful)
        git.commit("shop", [namespace("shop"), *many[3:]])
        held = life.reconcile(careful)
        assert "budget" in held.plan.prune_held
        deadline = life.deadline()
        InventoryStore(life.cluster, careful).approve(approval_of(held.revision.commit, held.plan.candidates), deadline)
    with Instance(cluster.kubeconfig, git) as life:
        result = life.settle(careful)
        assert not result.plan.prune_held
        assert not uid(cluster, "c0")
        git.commit("shop", [namespace("shop"), *many[5:]])
        assert life.settle(careful).plan.prune_held
        assert uid(cluster, "c3")
        cluster.kubectl(
            "annotate", "configmap", "shop", "-n", "syncd", f"{names.APPROVAL_ANNOTATION}={held.revision.commit}"
        )
        assert life.settle(careful).plan.prune_held, "an approval for another commit counted"
