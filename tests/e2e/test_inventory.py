"""The apply-config object on the sandbox and on a real control plane: long lists, damage, moved kinds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from syncd.engine.inventory import InventoryStore
from syncd.engine.memory import Memory
from syncd.inventory import names
from syncd.model import ActionType, ObjectKey
from tests.support.instance import Git, Instance, config_map, namespace, sync

if TYPE_CHECKING:
    from tests.support.clusters import ClusterUnderTest

MANY = frozenset(ObjectKey("shop", "apps", "Deployment", f"an-application-with-a-name-{n:05}") for n in range(25_000))


def test_twenty_five_thousand_keys_are_kept_and_a_change_rewrites_one_page(cluster: ClusterUnderTest) -> None:
    with Instance(cluster.kubeconfig, Git()) as life:
        store = InventoryStore(life.cluster, sync())
        deadline = life.deadline()
        written = store.write(store.create(deadline), MANY, MANY, deadline)
        assert store.read(deadline).keys == MANY
        mark = cluster.mark()
        more = MANY | {ObjectKey("shop", "", "ConfigMap", "one-more")}
        written = store.write(written, more, more, deadline)
        writes = sorted(request.verb for request in cluster.since(mark) if request.writes)
        assert writes == ["create", "delete", "patch"]
        found = store.read(deadline)
        assert (found.keys, found.damage, found.finished) == (more, "", True)
        few = frozenset(sorted(MANY)[:10])
        store.write(written, few, few, deadline)
        found = store.read(deadline)
        assert (found.keys, found.damage) == (few, "")
        assert cluster.kubectl.names("configmap", "syncd", names.PAGE_LABEL) == set()


def test_a_missing_page_holds_every_prune_and_no_apply(
    cluster: ClusterUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("syncd.inventory.applyconfig.LIST_LIMIT", 10)
    monkeypatch.setattr("syncd.inventory.pages.PAGE_TARGET", 60)
    git = Git(shop=[namespace("shop"), *(config_map(f"c{number}") for number in range(5))])
    wanted = sync(prune={"budget": {"percent": 100}})
    with Instance(cluster.kubeconfig, git) as life:
        life.settle(wanted)
        page = min(cluster.kubectl.names("configmap", "syncd", names.PAGE_LABEL))
        cluster.kubectl("delete", "configmap", page, "-n", "syncd")
        git.commit("shop", [namespace("shop"), config_map("new")])
        result = life.reconcile(wanted)
        assert "missing" in result.plan.prune_held
        assert not result.plan.of(ActionType.PRUNE)
        assert life.reconcile(wanted).plan.prune_held, "writing the list again made it look sound"
        assert {"c0", "c1", "c2", "c3", "c4", "new"} <= cluster.kubectl.names("configmap", "shop")


def test_a_list_that_did_not_change_is_not_read_again_and_one_that_did_is(
    cluster: ClusterUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("syncd.inventory.applyconfig.LIST_LIMIT", 10)
    monkeypatch.setattr("syncd.inventory.pages.PAGE_TARGET", 60)
    keys = frozenset(ObjectKey("shop", "", "ConfigMap", f"c{number}") for number in range(5))
    with Instance(cluster.kubeconfig, Git()) as life:
        memory, deadline = Memory(), life.deadline()
        writer = InventoryStore(life.cluster, sync(), memory)
        writer.write(writer.create(deadline), keys, keys, deadline)
        first = InventoryStore(life.cluster, sync(), memory).read(deadline)
        assert InventoryStore(life.cluster, sync(), memory).read(deadline) is first
        page = min(cluster.kubectl.names("configmap", "syncd", names.PAGE_LABEL))
        cluster.kubectl("patch", "configmap", page, "-n", "syncd", "-p", '{"data":{"objects":""}}')
        assert "changed" in InventoryStore(life.cluster, sync(), memory).read(deadline).damage
        cluster.kubectl("delete", "configmap", page, "-n", "syncd")
        assert "missing" in InventoryStore(life.cluster, sync(), memory).read(deadline).damage


INGRESS = {
    "apiVersion": "networking.k8s.io/v1",
    "kind": "Ingress",
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {"defaultBackend": {"service": {"name": "web", "port": {"number": 80}}}},
}


@pytest.mark.parametrize("wanted", [True, False], ids=["still in Git", "left Git"])
def test_an_object_that_was_listed_under_a_group_that_is_gone_is_the_same_object(
    cluster: ClusterUnderTest, *, wanted: bool
) -> None:
    others = [namespace("shop"), config_map("a"), config_map("b")]
    git = Git(shop=[*others, INGRESS])
    with Instance(cluster.kubeconfig, git) as life:
        life.settle(sync())
        before = (cluster.kubectl.get("ingress", "web", "shop") or {})["metadata"]["uid"]
        store = InventoryStore(life.cluster, sync())
        listed = store.read(life.deadline())
        ingress = ObjectKey("shop", "networking.k8s.io", "Ingress", "web")
        old = listed.keys - {ingress} | {ingress._replace(group="extensions")}
        store.write(listed, old, old, life.deadline())
        git.commit("shop", [*others, *([INGRESS] if wanted else [])])
        life.settle(sync())
        found = cluster.kubectl.get("ingress", "web", "shop")
        assert (found["metadata"]["uid"] if found else "") == (before if wanted else "")
