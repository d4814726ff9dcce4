"""Apply-config objects that the rendered output brings along, on the sandbox and on a real control plane."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from syncd.engine.inventory import InventoryStore
from syncd.engine.owned import find_owned
from syncd.engine.rebuild import rebuild
from syncd.inventory import names
from syncd.inventory.applyconfig import ForeignApplyConfigError
from syncd.inventory.keylist import decode
from syncd.model import ActionType, InvalidInputError
from tests.support.instance import Git, Instance, apply_config, config_map, namespace, sync

if TYPE_CHECKING:
    from syncd.model import JSONObject
    from tests.support.clusters import ClusterUnderTest

GENEROUS = {"budget": {"percent": 100}}
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "applications.app.example.com"},
    "spec": {
        "group": "app.example.com",
        "scope": "Namespaced",
        "names": {"kind": "Application", "plural": "applications", "singular": "application"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {"spec": {"type": "object", "properties": {"title": {"type": "string"}}}},
                    }
                },
            }
        ],
    },
}
ORDINARY = [namespace("shop"), config_map("a", size="1"), config_map("b", size="2")]


def application(title: str = "Shop") -> JSONObject:
    metadata = {"name": "shop", "namespace": "shop"}
    return apply_config(
        {"apiVersion": "app.example.com/v1", "kind": "Application", "metadata": metadata, "spec": {"title": title}}
    )


PLACES: dict[str, list[JSONObject]] = {
    "own": [],
    "config map": [apply_config(config_map("list", colour="blue"))],
    "another name": [apply_config(config_map("other"))],
    "custom": [DEFINITION, application()],
    "cluster": [apply_config({**namespace("list-of-shop")})],
}
HOLDERS = {
    "own": ("configmap", "shop", "syncd"),
    "config map": ("configmap", "list", "shop"),
    "another name": ("configmap", "other", "shop"),
    "custom": ("applications.app.example.com", "shop", "shop"),
    "cluster": ("namespace", "list-of-shop", ""),
}


def holder(cluster: ClusterUnderTest, place: str) -> dict[str, Any]:
    found = cluster.kubectl.get(*HOLDERS[place])
    assert found is not None
    return found


def listed(found: dict[str, Any]) -> set[str]:
    return {key.name for key in decode(found["metadata"]["annotations"][names.OBJECTS_ANNOTATION])}


def marks(cluster: ClusterUnderTest, *names_: str) -> set[str]:
    return {
        ((cluster.kubectl.get("configmap", name, "shop") or {})["metadata"]["annotations"])[names.OWNER_ANNOTATION]
        for name in names_
    }


@pytest.mark.parametrize("place", ["config map", "custom", "cluster"])
def test_what_git_brings_along_holds_the_list_and_keeps_its_contents(cluster: ClusterUnderTest, place: str) -> None:
    wanted = sync(prune=GENEROUS)
    with Instance(cluster.kubeconfig, Git(shop=[*ORDINARY, *PLACES[place]])) as life:
        told = {outcome.action.type for outcome in life.reconcile(wanted).outcomes}
        assert told == {ActionType.CREATE}
        life.settle(wanted)
        found = holder(cluster, place)
        expected = {"shop", "a", "b"} | ({"applications.app.example.com"} if place == "custom" else set())
        assert listed(found) == expected
        assert found["metadata"]["labels"][names.APPLY_HASH_LABEL]
        assert marks(cluster, "a", "b") == {found["metadata"]["uid"]}
        own = holder(cluster, "own")
        assert own["metadata"]["labels"][names.APPLY_CFG_LABEL] != "true"
        assert names.OBJECTS_ANNOTATION not in own["metadata"]["annotations"]
        mark = cluster.mark()
        result = life.reconcile(wanted)
        assert not result.plan.changes_cluster
        assert [request.verb for request in cluster.since(mark) if request.verb != "watch"] == ["get", "get"]
        life.git.commit("shop", [*ORDINARY[:2], *PLACES[place]])
        life.settle(wanted)
        assert cluster.kubectl.get("configmap", "b", "shop") is None
        assert listed(holder(cluster, place)) == expected - {"b"}


def test_its_contents_follow_git_and_leave_the_list_alone(cluster: ClusterUnderTest) -> None:
    wanted, git = sync(), Git(shop=[*ORDINARY, DEFINITION, application("Shop")])
    with Instance(cluster.kubeconfig, git) as life:
        life.settle(wanted)
        before = holder(cluster, "custom")
        git.commit("shop", [*ORDINARY, DEFINITION, application("Shop of shops")])
        result = life.reconcile(wanted)
        assert not result.failures
        found = holder(cluster, "custom")
        assert found["spec"]["title"] == "Shop of shops"
        assert listed(found) == listed(before)
        cluster.kubectl("label", *HOLDERS["custom"][:2], "-n", "shop", "hand=made")
        cluster.kubectl(
            "patch", *HOLDERS["custom"][:2], "-n", "shop", "--type=merge", "-p", '{"spec":{"title":"Somebody\'s"}}'
        )
    with Instance(cluster.kubeconfig, git) as life:
        drifted = {action.key.kind: action.changes for action in life.reconcile(wanted).plan.actions if action.drift}
        assert drifted.keys() == {"Application"}
        assert holder(cluster, "custom")["spec"]["title"] == "Shop of shops"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("own", "config map"),
        ("own", "custom"),
        ("config map", "another name"),
        ("config map", "custom"),
        ("custom", "config map"),
        ("custom", "own"),
        ("cluster", "own"),
    ],
)
def test_the_list_moves_and_loses_nothing(cluster: ClusterUnderTest, before: str, after: str) -> None:
    wanted = sync(prune=GENEROUS)
    git = Git(shop=[*ORDINARY, *PLACES[before]])
    with Instance(cluster.kubeconfig, git) as life:
        life.settle(wanted)
        uid = (cluster.kubectl.get("configmap", "a", "shop") or {})["metadata"]["uid"]
        git.commit("shop", [*ORDINARY[:2], *PLACES[after]])
        revision = life.reconciler.resolve(wanted, life.deadline())
        shown = life.reconciler.plan(wanted, revision, life.memories[wanted.id], life.deadline())
        gone = {"b"} | ({HOLDERS[before][1]} if before != "own" else set())
        assert gone <= {action.key.name for action in shown.plan.of(ActionType.PRUNE)}
        life.settle(wanted)
        found = holder(cluster, after)
        assert names.MOVED_ANNOTATION not in found["metadata"]["annotations"]
        assert marks(cluster, "a") == {found["metadata"]["uid"]}
        assert (cluster.kubectl.get("configmap", "a", "shop") or {})["metadata"]["uid"] == uid
        assert cluster.kubectl.get("configmap", "b", "shop") is None
        if before != "own":
            assert cluster.kubectl.try_run("get", *HOLDERS[before][:2], "-n", "shop").returncode
        assert {"shop", "a"} <= listed(found)
        assert HOLDERS[after][1] not in listed(found) - {"shop"}


def test_two_of_them_are_an_error_that_names_both(cluster: ClusterUnderTest) -> None:
    git = Git(shop=[*ORDINARY, *PLACES["config map"], *PLACES["another name"]])
    with Instance(cluster.kubeconfig, git) as life, pytest.raises(InvalidInputError, match=r"other.*list"):
        life.reconcile(sync())


def test_a_list_that_another_tool_wrote_is_taken_over_with_what_it_lists(cluster: ClusterUnderTest) -> None:
    for body in (namespace("shop"), config_map("a"), config_map("old")):
        cluster.kubectl("apply", "-f", "-", stdin=json.dumps(body))
    entries = "".join(f"shop::ConfigMap:{name}\n" for name in ("a", "old"))
    tool = apply_config(config_map("list"), **{names.OBJECTS_ANNOTATION: entries})
    cluster.kubectl("apply", "-f", "-", stdin=json.dumps(tool))
    uid = (cluster.kubectl.get("configmap", "list", "shop") or {})["metadata"]["uid"]
    for name in ("a", "old"):
        cluster.kubectl("annotate", "configmap", name, "-n", "shop", f"{names.OWNER_ANNOTATION}={uid}")
    wanted = sync(prune=GENEROUS)
    git = Git(shop=[namespace("shop"), config_map("a"), apply_config(config_map("list"))])
    with Instance(cluster.kubeconfig, git) as life:
        life.settle(wanted)
    assert cluster.kubectl.get("configmap", "old", "shop") is None, "what the other tool listed was not pruned"
    assert listed(holder(cluster, "config map")) == {"shop", "a"}


def test_the_apply_config_object_of_another_sync_is_refused(cluster: ClusterUnderTest) -> None:
    place = PLACES["config map"]
    git = Git(one=[*ORDINARY, *place], two=[*place, config_map("mine", "default")])
    with Instance(cluster.kubeconfig, git) as life:
        life.settle(sync("one"))
        before = holder(cluster, "config map")
        with pytest.raises(ForeignApplyConfigError, match="syncd/one"):
            life.reconcile(sync("two", adopt={"from": ["syncd/one"]}))
        assert holder(cluster, "config map") == before


@pytest.mark.parametrize("place", ["config map", "custom", "cluster"])
def test_destroying_takes_the_object_that_came_along_with_it(cluster: ClusterUnderTest, place: str) -> None:
    wanted = sync()
    with Instance(cluster.kubeconfig, Git(shop=[*ORDINARY, *PLACES[place]])) as life:
        life.settle(wanted)
        assert life.reconciler.destroy(wanted, life.deadline()) == ()
    assert cluster.kubectl.get("namespace", "shop") is None
    assert cluster.kubectl.get("namespace", "list-of-shop") is None
    assert cluster.kubectl.get("configmap", "shop", "syncd") is None


def test_a_list_that_was_deleted_with_its_object_is_rebuilt(cluster: ClusterUnderTest) -> None:
    wanted = sync(prune=GENEROUS)
    git = Git(shop=[*ORDINARY, *PLACES["config map"]])
    with Instance(cluster.kubeconfig, git) as life:
        life.settle(wanted)
        cluster.kubectl("delete", "configmap", "list", "-n", "shop")
        git.commit("shop", [*ORDINARY[:2], *PLACES["config map"]])
    with Instance(cluster.kubeconfig, git) as life:
        life.settle(wanted)
        assert cluster.kubectl.get("configmap", "b", "shop"), "what no inventory lists was pruned"
        current = InventoryStore(life.cluster, wanted).read(life.deadline())
        owned = find_owned(life.cluster, current.owner(wanted.id), life.deadline())
        rebuild(life.cluster, wanted, current, owned, life.deadline())
        life.settle(wanted)
        assert cluster.kubectl.get("configmap", "b", "shop") is None
        assert listed(holder(cluster, "config map")) == {"shop", "a"}


def test_a_long_list_beside_contents_goes_on_in_pages(
    cluster: ClusterUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = sync(prune=GENEROUS)
    git = Git(shop=[*ORDINARY, *PLACES["config map"]])
    with Instance(cluster.kubeconfig, git) as life, monkeypatch.context() as patch:
        patch.setattr("syncd.inventory.applyconfig.LIST_LIMIT", 10)
        patch.setattr("syncd.inventory.pages.PAGE_TARGET", 40)
        life.settle(wanted)
        pages = cluster.kubectl.names("configmap", "shop", names.PAGE_LABEL)
        assert pages
        git.commit("shop", [*ORDINARY, *PLACES["another name"]])
        life.settle(wanted)
        moved = cluster.kubectl.names("configmap", "shop", names.PAGE_LABEL)
        assert moved
        assert not pages & moved
        found = InventoryStore(life.cluster, wanted).read(life.deadline())
        assert {key.name for key in found.keys} == {"shop", "a", "b"}
        git.commit("shop", ORDINARY)
        life.settle(wanted)
        assert cluster.kubectl.names("configmap", "shop", names.PAGE_LABEL) == set()


def test_the_name_of_syncds_own_config_map_may_be_brought_along_and_not_used_otherwise(
    cluster: ClusterUnderTest,
) -> None:
    wanted = sync(prune=GENEROUS)
    own = config_map("shop", "syncd", colour="blue")
    git = Git(shop=[*ORDINARY, apply_config(own)])
    with Instance(cluster.kubeconfig, git) as life:
        life.settle(wanted)
        found = holder(cluster, "own")
        assert found["data"] == {"colour": "blue"}
        assert listed(found) == {"shop", "a", "b"}
        git.commit("shop", [*ORDINARY, own])
        with pytest.raises(InvalidInputError, match="syncd keeps the inventory"):
            life.reconcile(wanted)
