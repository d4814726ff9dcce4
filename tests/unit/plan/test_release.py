"""Fields that are given up: out of last applied, unchanged in the cluster."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import pytest

from syncd.inventory import ApplyConfig, Owner
from syncd.merge import json_merge, last_applied, strategic
from syncd.merge.errors import TooDeepError
from syncd.merge.schema import bundled
from syncd.model import Action, ActionType, Manifest, ObjectKey, Origin, WriteMethod
from syncd.plan.annotations import RELEASE
from syncd.plan.desired import digest
from syncd.plan.fields import give_way, without
from syncd.plan.objects import plan_object
from syncd.plan.settings import Desired, Observation, Policy
from syncd.spec import DriftPolicy, FieldRule, MergePolicy, MergeRule, Prune

OWNER = Owner("uid-1", "syncd/shop")
KEY = ObjectKey("shop", "apps", "Deployment", "web")
SCHEMA: Any = bundled("apps", "v1", "Deployment")
POLICY = Policy(OWNER, DriftPolicy(), Prune(), lambda _version, _kind: SCHEMA)
REPLICAS = (FieldRule(kind="Deployment", paths=("/spec/replicas",)),)


class Seen(NamedTuple):
    """A live object as a test gives it."""

    document: dict[str, Any]
    uid: str = "live-1"
    resource_version: str = "7"

    def parse(self) -> dict[str, Any]:
        return self.document


def container(name: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "image": f"{name}:1", **fields}


def deployment(*containers: dict[str, Any], annotations: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    pod = {"spec": {"containers": list(containers) or [container("web")]}}
    metadata = {"name": "web", "namespace": "shop", **({"annotations": annotations} if annotations else {})}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": {**spec, "template": pod}}


def applied(body: dict[str, Any], remembered: dict[str, Any] | None = None) -> dict[str, Any]:
    live = OWNER.mark(last_applied.stamp(body, remembered))
    return {**live, "metadata": {**live["metadata"], "uid": "live-1", "resourceVersion": "7"}}


def planned(body: dict[str, Any], live: dict[str, Any] | None, policy: Policy = POLICY) -> Action:
    desired = Desired(Manifest(KEY, "apps/v1", body, Origin("repo", "web.yaml", 1, 1)), digest(body))
    inventory = ApplyConfig("syncd", "shop", "uid-1", "1", frozenset({KEY} if live else ()), finished=True)
    return plan_object(desired, Observation(inventory, {KEY: Seen(live)} if live else {}), policy)


def after(action: Action) -> Any:
    """The live object once the action was carried out."""
    assert action.write is not None
    assert action.write.body is not None
    if action.write.method is WriteMethod.JSON_MERGE_PATCH:
        return json_merge.apply_patch(action.live, action.write.body)
    return strategic.apply_patch(action.live or {}, action.write.body, SCHEMA)


def test_a_listed_field_leaves_last_applied_and_keeps_its_live_value() -> None:
    policy, git = replace(POLICY, release=REPLICAS), deployment(replicas=2)
    action = planned(git, applied(deployment(replicas=2)), policy)
    assert (action.type, action.reason, action.changes) == (ActionType.UPDATE, "Released", ())
    assert action.released == ("/spec/replicas",)
    live = after(action)
    assert live["spec"]["replicas"] == 2
    assert "replicas" not in (last_applied.read(live) or {})["spec"]
    again = planned(git, live, policy)
    assert (again.type, again.released) == (ActionType.UNCHANGED, ("/spec/replicas",))


def test_it_is_nobodys_drift_when_others_then_change_it() -> None:
    policy = replace(POLICY, release=REPLICAS)
    live = applied(deployment(replicas=9), deployment())
    assert planned(deployment(replicas=2), live, policy).type is ActionType.UNCHANGED


def test_giving_up_goes_along_with_a_change_in_git() -> None:
    policy = replace(POLICY, release=REPLICAS)
    live = {**applied(deployment(replicas=2)), "spec": deployment(replicas=9)["spec"]}
    action = planned(deployment(container("web", tty=True), replicas=3), live, policy)
    assert (action.reason, [change.path for change in action.changes]) == (
        "Changed",
        ["spec.template.spec.containers[name=web].tty"],
    )
    assert after(action)["spec"]["replicas"] == 9


def test_once_given_up_it_may_leave_git_and_the_list() -> None:
    live = applied(deployment(replicas=9), deployment())
    assert planned(deployment(), live).type is ActionType.UNCHANGED
    assert planned(deployment(replicas=2), live).reason == "Changed"  # off the list but in Git: it is syncd's again


def test_it_may_leave_git_in_the_same_commit() -> None:
    action = planned(deployment(), applied(deployment(replicas=2)), replace(POLICY, release=REPLICAS))
    assert after(action)["spec"]["replicas"] == 2
    assert planned(deployment(), applied(deployment(replicas=2))).changes[0].path == "spec.replicas"


def test_a_new_object_begins_with_the_value_in_git() -> None:
    action = planned(deployment(replicas=2), None, replace(POLICY, release=REPLICAS))
    assert action.write is not None
    assert action.write.body is not None
    assert action.write.body["spec"]["replicas"] == 2
    assert "replicas" not in (last_applied.read(action.write.body) or {})["spec"]


def test_only_reporting_drift_does_not_hold_a_release() -> None:
    policy = replace(POLICY, release=REPLICAS, drift=DriftPolicy(action="Report"))
    assert planned(deployment(replicas=2), applied(deployment(replicas=2)), policy).reason == "Released"


def test_a_field_of_a_list_item_is_named_by_what_identifies_the_item() -> None:
    path = "/spec/template/spec/containers/[name=web]/resources"
    policy = replace(POLICY, release=(FieldRule(paths=(path,)),))
    git = deployment(container("web", resources={"limits": {"cpu": "1"}}))
    live = applied(git)
    live["spec"] = deployment(container("proxy"), container("web", resources={"limits": {"cpu": "4"}}))["spec"]
    done = after(planned(git, live, policy))
    assert done["spec"] == live["spec"]
    assert (last_applied.read(done) or {})["spec"]["template"]["spec"]["containers"] == [container("web")]
    assert planned(git, done, policy).type is ActionType.UNCHANGED


def test_a_whole_item_can_be_given_up_even_after_it_left_git() -> None:
    policy = replace(POLICY, release=(FieldRule(paths=("/spec/template/spec/containers/[name=proxy]",)),))
    live = applied(deployment(container("proxy"), container("web")))
    for git in (deployment(container("proxy", tty=True), container("web")), deployment(container("web"))):
        done = after(planned(git, live, policy))
        assert done["spec"] == live["spec"]
        assert planned(git, done, policy).type is ActionType.UNCHANGED


def test_a_position_in_a_list_is_refused() -> None:
    policy = replace(POLICY, release=(FieldRule(paths=("/spec/template/spec/containers/0/image",)),))
    action = planned(deployment(), applied(deployment()), policy)
    assert (action.type, action.blocking) == (ActionType.SKIP, True)
    assert "[name=web]" in action.message


def test_paths_of_any_depth_end_in_an_error() -> None:
    nested: dict[str, Any] = {}
    for _ in range(100_000):
        nested = {"a": nested}
    with pytest.raises(TooDeepError):
        without(nested, ["/a" * 100_000])
    with pytest.raises(TooDeepError):
        give_way(nested, nested, ["/a" * 100_000])


def marked(live: dict[str, Any], text: str) -> dict[str, Any]:
    annotations = {**live["metadata"]["annotations"], RELEASE: text}
    return {**live, "metadata": {**live["metadata"], "annotations": annotations}}


def test_the_list_on_the_object_holds_for_as_long_as_git_has_the_field() -> None:
    live = marked(applied(deployment(replicas=9), deployment()), '["/spec/replicas"]')
    assert planned(deployment(replicas=2), live).type is ActionType.UNCHANGED
    action = planned(deployment(), live)
    assert (action.type, action.reason, action.drift) == (ActionType.UPDATE, "Released", None)
    done = after(action)
    assert done["spec"]["replicas"] == 9
    assert RELEASE not in done["metadata"]["annotations"]
    assert planned(deployment(), done).type is ActionType.UNCHANGED


def test_the_list_may_stand_in_the_manifest() -> None:
    git = deployment(replicas=2, annotations={RELEASE: '["/spec/replicas"]'})
    live = applied(git)
    done = after(planned(git, live))
    assert "replicas" not in (last_applied.read(done) or {})["spec"]
    assert planned(git, done).type is ActionType.UNCHANGED
    done["spec"]["replicas"] = 9
    assert planned(git, done).type is ActionType.UNCHANGED


@pytest.mark.parametrize("text", ["/spec/replicas", "{}", "[1]", '["/metadata/name"]', "[" * 1000])
def test_a_list_on_an_object_that_cannot_be_read_fails_that_object(text: str) -> None:
    action = planned(deployment(), marked(applied(deployment()), text))
    assert (action.type, action.blocking) == (ActionType.SKIP, True)
    assert RELEASE in action.message
    assert planned(deployment(annotations={RELEASE: text}), None).blocking


def test_user_rules_say_how_a_list_merges() -> None:
    rules = (MergeRule(kind="Deployment", path="/spec/template/spec/tolerations", type="map", keys=("key",)),)
    mine, theirs = {"key": "mine", "operator": "Exists"}, {"key": "theirs", "operator": "Exists"}
    git = deployment()
    git["spec"]["template"]["spec"]["tolerations"] = [mine]
    live = applied(git)
    live["spec"] = {"template": {"spec": {"containers": [container("web")], "tolerations": [theirs, mine]}}}
    assert planned(git, live, replace(POLICY, merge=MergePolicy(rules=rules))).type is ActionType.UNCHANGED
    assert planned(git, live).reason == "Drift"
