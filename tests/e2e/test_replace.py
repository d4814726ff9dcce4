"""Fields that cannot change: refused, or the object is made anew where that is allowed; on both servers."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from syncd.cluster.errors import ForbiddenError
from syncd.model import SyncdError
from tests.support.instance import Fuse, Git, Instance, KilledError, config_map, namespace, sync

if TYPE_CHECKING:
    from syncd.model import JSONObject
    from tests.support.clusters import ClusterUnderTest

ALLOWED = {"replace": "WhenImmutable"}


def settings(value: str, **annotations: str) -> JSONObject:
    """A ConfigMap that may not change."""
    body = config_map("settings", value=value)
    return {**body, "immutable": True, "metadata": {**body["metadata"], "annotations": annotations}}


def job(image: str) -> JSONObject:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "m", "image": image}]}}
    metadata = {"name": "migrate", "namespace": "shop", "annotations": {"syncd.dev/replace": "enabled"}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {"template": template}}


def live(cluster: ClusterUnderTest, kind: str = "configmap", name: str = "settings") -> JSONObject:
    found = cluster.kubectl.get(kind, name, "shop")
    assert found is not None
    return found


def test_without_leave_the_change_is_refused_with_the_field_and_what_to_do(cluster: ClusterUnderTest) -> None:
    git = Git(shop=[namespace("shop"), settings("one"), config_map("other", value="one")])
    with Instance(cluster.kubeconfig, git) as life:
        life.settle(sync())
        before = live(cluster)["metadata"]["uid"]
        git.commit("shop", [namespace("shop"), settings("two"), config_map("other", value="two")])
        (failure,) = life.reconcile(sync()).failures
        assert failure.reason == "ImmutableField"
        assert "data cannot be changed once the object exists" in failure.message
        assert "syncd.dev/replace: enabled" in failure.message
        assert live(cluster)["metadata"]["uid"] == before
        assert live(cluster, name="other")["data"] == {"value": "two"}, "it held up others"
        deadline = life.deadline()
        plan = life.reconciler.plan(sync(), git.resolve(sync(), deadline), life.memories["syncd/shop"], deadline).plan
        (action,) = (action for action in plan.actions if action.key.name == "settings")
        assert (action.reason, action.blocking) == ("ImmutableField", True), "a plan should say so beforehand"


def test_with_leave_it_is_deleted_and_made_anew_once(cluster: ClusterUnderTest) -> None:
    git = Git(shop=[namespace("shop"), settings("one"), job("example.com/m:1")])
    with Instance(cluster.kubeconfig, git) as life:
        life.settle(sync(**ALLOWED))
        uids = {live(cluster)["metadata"]["uid"], live(cluster, "job", "migrate")["metadata"]["uid"]}
        git.commit("shop", [namespace("shop"), settings("two"), job("example.com/m:2")])
        result = life.reconcile(sync(**ALLOWED))
        assert not result.failures
        reasons = {outcome.action.key.name: outcome.action.reason for outcome in result.outcomes}
        assert (reasons["settings"], reasons["migrate"]) == ("Replaced", "Replaced")
        assert live(cluster)["data"] == {"value": "two"}
        migrate = live(cluster, "job", "migrate")
        assert migrate["spec"]["template"]["spec"]["containers"][0]["image"] == "example.com/m:2"
        assert uids.isdisjoint({live(cluster)["metadata"]["uid"], migrate["metadata"]["uid"]})
        mark = cluster.mark()
        life.settle(sync(**ALLOWED))
    assert not [request for request in cluster.since(mark) if request.writes]


def test_nothing_is_deleted_when_the_server_would_refuse_the_new_one(cluster: ClusterUnderTest) -> None:
    git = Git(shop=[namespace("shop"), settings("one")])
    with Instance(cluster.kubeconfig, git) as life:
        life.settle(sync(**ALLOWED))
        before = live(cluster)["metadata"]["uid"]
        wrong = settings("two")
        git.commit("shop", [namespace("shop"), {**wrong, "data": {"value": "two", "not a key!": ""}}])
        (failure,) = life.reconcile(sync(**ALLOWED)).failures
        assert failure.reason in ("ReplaceFailed", "Invalid")
        assert live(cluster)["metadata"]["uid"] == before


def test_what_cannot_be_made_anew_is_restored_and_not_tried_again(
    cluster: ClusterUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    git = Git(shop=[namespace("shop"), settings("one")])
    with Instance(cluster.kubeconfig, git) as life:
        life.settle(sync(**ALLOWED))
        create = life.cluster.client.create

        def refuse(resource: Any, body: JSONObject, *, dry_run: bool = False, **options: Any) -> JSONObject:
            if not dry_run and body.get("data") == {"value": "two"}:
                raise ForbiddenError("a quota that was used up in between")
            return create(resource, body, dry_run=dry_run, **options)

        monkeypatch.setattr(life.cluster.client, "create", refuse)
        git.commit("shop", [namespace("shop"), settings("two")])
        (failure,) = life.reconcile(sync(**ALLOWED)).failures
        assert failure.reason == "ReplaceFailed"
        assert "so it was restored: a quota" in failure.message
        restored = live(cluster)
        assert restored["data"] == {"value": "one"}
        (again,) = life.reconcile(sync(**ALLOWED)).failures
        assert "syncd tries again when Git has changed" in again.message
        assert live(cluster)["metadata"]["uid"] == restored["metadata"]["uid"], "it was deleted once more"


@pytest.mark.parametrize("answered", [False, True])
def test_killed_at_any_request_the_next_reconcile_makes_it_anew(cluster: ClusterUnderTest, *, answered: bool) -> None:
    git = Git(shop=[namespace("shop"), settings("0")])
    with Instance(cluster.kubeconfig, git) as life:
        life.settle(sync(**ALLOWED))
    number = 0
    killed = True
    while killed:
        number += 1
        git.commit("shop", [namespace("shop"), settings(str(number))])
        fuse = Fuse(number, answered=answered)
        with Instance(cluster.kubeconfig, git, fuse) as dying, suppress(KilledError, SyncdError):
            dying.reconcile(sync(**ALLOWED))
        killed = fuse.blown.is_set()
        with Instance(cluster.kubeconfig, git) as heir:
            heir.settle(sync(**ALLOWED))
        assert live(cluster)["data"] == {"value": str(number)}
    assert number > 8, "it was killed at hardly any request"
