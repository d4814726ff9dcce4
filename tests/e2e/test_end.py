"""The end of a Sync, and a lost inventory: on the sandbox and on a real control plane."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from syncd.engine.inventory import InventoryStore
from syncd.engine.owned import find_owned
from syncd.engine.rebuild import rebuild
from syncd.engine.reconcile import InventoryInDoubtError
from syncd.inventory import Owner, names
from syncd.model import ActionType, ObjectKey
from tests.support.daemon import eventually
from tests.support.instance import Git, Instance, config_map, namespace, sync

if TYPE_CHECKING:
    from tests.support.clusters import ClusterUnderTest

OBJECTS = [namespace("shop"), config_map("a"), config_map("b"), config_map("elsewhere", "default")]


def test_destroying_a_sync_leaves_no_trace_of_it_and_nothing_else_missing(cluster: ClusterUnderTest) -> None:
    cluster.kubectl("create", "configmap", "foreign", "-n", "default")
    with Instance(cluster.kubeconfig, Git(shop=OBJECTS)) as life:
        life.settle(sync())
        mark = cluster.mark()
        assert life.reconciler.destroy(sync(), life.deadline()) == ()
        deleted = [request.name for request in cluster.since(mark) if request.verb == "delete"]
    assert deleted[-2:] == ["shop", "shop"], "the namespace and the apply-config object do not go last"
    assert cluster.kubectl.get("namespace", "shop") is None
    assert cluster.kubectl.get("configmap", "shop", "syncd") is None
    assert "foreign" in cluster.kubectl.names("configmap", "default")
    assert "elsewhere" not in cluster.kubectl.names("configmap", "default")


def test_a_kind_that_has_gone_does_not_keep_a_namespace(cluster: ClusterUnderTest) -> None:
    kind = {"kind": "Promotion", "plural": "promotions", "singular": "promotion"}
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "promotions.shop.example.com"},
        "spec": {
            "group": "shop.example.com",
            "names": kind,
            "scope": "Namespaced",
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }
    with Instance(cluster.kubeconfig, Git(shop=[*OBJECTS, definition])) as life:
        life.settle(sync())
        cluster.kubectl("delete", "crd", "promotions.shop.example.com")
        eventually("the Sync ends", lambda: not life.reconciler.destroy(sync(), life.deadline()))
    assert cluster.kubectl.get("namespace", "shop") is None


def test_destroying_a_sync_twice_is_no_error(cluster: ClusterUnderTest) -> None:
    with Instance(cluster.kubeconfig, Git(shop=OBJECTS)) as life:
        life.settle(sync())
        assert life.reconciler.destroy(sync(), life.deadline()) == ()
        assert life.reconciler.destroy(sync(), life.deadline()) == ()


def test_what_is_protected_outlives_the_sync_and_keeps_its_inventory(cluster: ClusterUnderTest) -> None:
    with Instance(cluster.kubeconfig, Git(shop=OBJECTS)) as life:
        life.settle(sync())
        cluster.kubectl("annotate", "configmap", "a", "-n", "shop", "syncd.dev/prune=disabled")
        kept = life.reconciler.destroy(sync(), life.deadline())
        reasons = {outcome.action.key.name: outcome.action.reason for outcome in kept}
        assert reasons == {"a": "PruneDisabled", "shop": "InUse"}
        listed = InventoryStore(life.cluster, sync()).read(life.deadline()).keys
        assert {key.name for key in listed} == {"a", "shop"}
        cluster.kubectl("annotate", "configmap", "a", "-n", "shop", "syncd.dev/prune-")
        assert life.reconciler.destroy(sync(), life.deadline()) == ()


def test_a_sync_can_end_and_leave_its_objects(cluster: ClusterUnderTest) -> None:
    with Instance(cluster.kubeconfig, Git(shop=OBJECTS, heir=OBJECTS)) as life:
        life.settle(sync())
        before = (cluster.kubectl.get("configmap", "a", "shop") or {})["metadata"]["uid"]
        assert life.reconciler.destroy(sync(deletionPolicy="Orphan"), life.deadline()) == ()
        assert cluster.kubectl.get("configmap", "shop", "syncd") is None
        found = cluster.kubectl.get("configmap", "a", "shop")
        assert found is not None
        assert names.OWNER_ANNOTATION not in found["metadata"]["annotations"]
        reasons = {outcome.action.reason for outcome in life.reconcile(sync("heir")).outcomes}
        assert reasons == {"Adopted"}
        assert (cluster.kubectl.get("configmap", "a", "shop") or {})["metadata"]["uid"] == before


def test_a_deleted_inventory_is_rebuilt_and_prunes_what_left_git_meanwhile(cluster: ClusterUnderTest) -> None:
    git = Git(shop=OBJECTS)
    wanted = sync(prune={"budget": {"percent": 100}})
    with Instance(cluster.kubeconfig, git) as life:
        life.settle(wanted)
        cluster.kubectl("delete", "configmap", "shop", "-n", "syncd")
        git.commit("shop", OBJECTS[:2])
        life.settle(wanted)
        assert cluster.kubectl.get("configmap", "b", "shop"), "what no inventory lists was pruned"
        current = InventoryStore(life.cluster, wanted).read(life.deadline())
        owned = find_owned(life.cluster, Owner(current.uid, wanted.id), life.deadline())
        assert {key.name for key in owned} == {"shop", "a", "b", "elsewhere"}
        rebuild(life.cluster, wanted, current, owned, life.deadline())
    with Instance(cluster.kubeconfig, git) as life:
        result = life.reconcile(wanted)
        assert {action.key.name for action in result.plan.of(ActionType.PRUNE)} == {"b", "elsewhere"}
        life.settle(wanted)
        assert cluster.kubectl.get("configmap", "b", "shop") is None


def test_an_inventory_in_doubt_destroys_nothing_until_it_is_rebuilt(cluster: ClusterUnderTest) -> None:
    with Instance(cluster.kubeconfig, Git(shop=OBJECTS)) as life:
        life.settle(sync())
        forged = f"{names.OBJECTS_ANNOTATION}={ObjectKey('default', '', 'ConfigMap', 'foreign')}"
        cluster.kubectl("annotate", "--overwrite", "configmap", "shop", "-n", "syncd", forged)
        with pytest.raises(InventoryInDoubtError):
            life.reconciler.destroy(sync(), life.deadline())
        current = InventoryStore(life.cluster, sync()).read(life.deadline())
        owned = find_owned(life.cluster, Owner(current.uid, sync().id), life.deadline())
        rebuilt = rebuild(life.cluster, sync(), current, owned, life.deadline())
        assert not rebuilt.damage
        assert {key.name for key in rebuilt.keys} == {"shop", "a", "b", "elsewhere"}
