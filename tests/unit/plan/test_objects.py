from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any, NamedTuple

import pytest

from syncd.inventory import ApplyConfig, Owner, names
from syncd.merge import last_applied
from syncd.merge.schema import bundled
from syncd.model import ABSENT, ActionType, DriftReason, FieldChange, Manifest, ObjectKey, Origin, WriteMethod
from syncd.plan.build import build
from syncd.plan.desired import DesiredSet, digest, live_digest
from syncd.plan.managers import managed_paths
from syncd.plan.mask import mask_changes
from syncd.plan.objects import plan_object
from syncd.plan.settings import Desired, Observation, Policy, Settled
from syncd.spec import DriftPolicy, FieldRule, Prune

OWNER = Owner("uid-1", "syncd/shop")
KEY = ObjectKey("shop", "apps", "Deployment", "web")
BODY: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "web", "image": "web:1"}]},
        },
    },
}


class Seen(NamedTuple):
    """A live object as a test gives it."""

    document: dict[str, Any]

    @property
    def uid(self) -> str:
        return str(self.document["metadata"]["uid"])

    @property
    def resource_version(self) -> str:
        return str(self.document["metadata"]["resourceVersion"])

    def parse(self) -> dict[str, Any]:
        return self.document


def schema_for(api_version: str, kind: str) -> Any:
    group, _, version = api_version.rpartition("/")
    return bundled(group, version, kind)


POLICY = Policy(OWNER, DriftPolicy(), Prune(), schema_for)
DESIRED = Desired(Manifest(KEY, "apps/v1", BODY, Origin("repo", "web.yaml", 1, 1)), digest(BODY))


def applied(**spec: Any) -> dict[str, Any]:
    """The object as it is live after syncd applied it, with changes to its spec by somebody else."""
    live = OWNER.mark(last_applied.stamp(BODY))
    metadata = {**live["metadata"], "uid": "live-1", "resourceVersion": "7"}
    return {**live, "metadata": metadata, "spec": {**live["spec"], **spec}, "status": {"readyReplicas": 2}}


def observed(live: dict[str, Any] | None, *, listed: bool = True, **more: Any) -> Observation:
    keys = frozenset({KEY}) if listed else frozenset()
    inventory = ApplyConfig("syncd", "shop", "uid-1", "1", keys, finished=True)
    return Observation(inventory, {KEY: Seen(live)} if live else {}, **more)


def without_marks(live: dict[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in live["metadata"]["annotations"].items() if key not in names.MARKS}
    return {**live, "metadata": {**live["metadata"], "annotations": kept, "labels": {}}}


def test_a_new_object_is_created_with_marks_and_memory() -> None:
    action = plan_object(DESIRED, observed(None, listed=False), POLICY)
    assert (action.type, action.reason, action.drift) == (ActionType.CREATE, "New", None)
    assert action.write is not None
    assert action.write.method is WriteMethod.CREATE
    assert action.write.body is not None
    assert OWNER.judge(action.write.body).value == "ours"
    assert last_applied.read(action.write.body) is not None


def test_a_listed_object_that_is_missing_was_deleted_by_somebody() -> None:
    action = plan_object(DESIRED, observed(None), POLICY)
    assert (action.type, action.reason) == (ActionType.CREATE, "Missing")
    assert action.drift is not None
    assert action.drift.reason is DriftReason.MISSING


def test_a_listed_object_of_an_unfinished_reconcile_may_never_have_been_created() -> None:
    observation = observed(None)
    observation = replace(observation, inventory=replace(observation.inventory, finished=False))
    assert plan_object(DESIRED, observation, POLICY).reason == "New"


def test_what_is_as_it_should_be_needs_nothing() -> None:
    action = plan_object(DESIRED, observed(applied()), POLICY)
    assert (action.type, action.write) == (ActionType.UNCHANGED, None)


def test_a_live_edit_is_drift_with_its_author() -> None:
    live = applied(replicas=5)
    live["metadata"]["managedFields"] = [
        {"manager": "syncd", "operation": "Update", "fieldsV1": {"f:spec": {"f:replicas": {}}}, "time": "2026-01-01"},
        {
            "manager": "kubectl-scale",
            "operation": "Update",
            "fieldsV1": {"f:spec": {"f:replicas": {}}},
            "time": "2026-01-02",
        },
    ]
    action = plan_object(DESIRED, observed(live), POLICY)
    assert (action.type, action.reason) == (ActionType.UPDATE, "Drift")
    assert [(change.path, change.before, change.after) for change in action.changes] == [("spec.replicas", 5, 2)]
    assert action.drift is not None
    assert (action.drift.reason, action.drift.manager) == (DriftReason.CHANGED, "kubectl-scale")


def test_a_change_in_git_is_no_drift() -> None:
    body = {**BODY, "spec": {**BODY["spec"], "replicas": 3}}
    desired = Desired(replace(DESIRED.manifest, body=body), digest(body))
    action = plan_object(desired, observed(applied()), POLICY)
    assert (action.type, action.reason, action.drift) == (ActionType.UPDATE, "Changed", None)


def test_reported_drift_is_left_as_it_is() -> None:
    policy = replace(POLICY, drift=DriftPolicy(action="Report"))
    action = plan_object(DESIRED, observed(applied(replicas=5)), policy)
    assert (action.type, action.reason, action.write) == (ActionType.SKIP, "DriftReported", None)
    assert [change.path for change in action.changes] == ["spec.replicas"]
    assert not action.blocking
    missing = plan_object(DESIRED, observed(None), policy)
    assert (missing.type, missing.reason) == (ActionType.SKIP, "DriftReported")


def test_reported_drift_does_not_keep_a_change_in_git_from_being_applied() -> None:
    body = {**BODY, "spec": {**BODY["spec"], "replicas": 3}}
    desired = Desired(replace(DESIRED.manifest, body=body), digest(body))
    policy = replace(POLICY, drift=DriftPolicy(action="Report"))
    assert plan_object(desired, observed(applied(replicas=5)), policy).type is ActionType.UPDATE


def test_ignored_fields_are_left_to_others_even_when_git_changes_them() -> None:
    ignore = (FieldRule(kind="Deployment", paths=("/spec/replicas",)),)
    policy = replace(POLICY, drift=DriftPolicy(ignore=ignore))
    assert plan_object(DESIRED, observed(applied(replicas=5)), policy).type is ActionType.UNCHANGED
    other = replace(POLICY, drift=DriftPolicy(ignore=(replace_kind(ignore[0], "StatefulSet"),)))
    assert plan_object(DESIRED, observed(applied(replicas=5)), other).type is ActionType.UPDATE


def owned_by(manager: str, fields: dict[str, Any], subresource: str = "") -> list[dict[str, Any]]:
    entry = {"manager": manager, "operation": "Update", "subresource": subresource, "fieldsV1": fields}
    return [entry, {"manager": "syncd", "operation": "Update", "fieldsV1": {"f:spec": {"f:template": {}}}}]


REPLICAS: dict[str, Any] = {"f:spec": {"f:replicas": {}}}
IMAGE: dict[str, Any] = {
    "f:spec": {"f:template": {"f:spec": {"f:containers": {'k:{"name":"web"}': {".": {}, "f:image": {}}}}}}
}


def test_what_a_named_manager_has_written_is_left_to_it() -> None:
    policy = replace(POLICY, drift=DriftPolicy(managers=("kube-controller-manager",)))
    scaled = applied(replicas=5)
    scaled["metadata"]["managedFields"] = owned_by("kube-controller-manager", REPLICAS, "scale")
    assert plan_object(DESIRED, observed(scaled), policy).type is ActionType.UNCHANGED
    scaled["metadata"]["managedFields"] = owned_by("somebody-else", REPLICAS)
    assert plan_object(DESIRED, observed(scaled), policy).type is ActionType.UPDATE
    scaled["metadata"]["managedFields"] = owned_by("kube-controller-manager", REPLICAS, "status")
    assert plan_object(DESIRED, observed(scaled), policy).type is ActionType.UPDATE


def test_of_a_list_item_only_the_manager_s_own_fields_are_left_to_it() -> None:
    policy = replace(POLICY, drift=DriftPolicy(managers=("image-updater",)))
    live = copy.deepcopy(applied(minReadySeconds=3))
    live["spec"]["template"]["spec"]["containers"] = [{"name": "web", "image": "web:2"}]
    live["metadata"]["managedFields"] = owned_by("image-updater", IMAGE)
    assert plan_object(DESIRED, observed(live), policy).type is ActionType.UNCHANGED
    live["spec"]["replicas"] = 7
    action = plan_object(DESIRED, observed(live), policy)
    assert [change.path for change in action.changes] == ["spec.replicas"]


def test_what_says_whose_an_object_is_is_left_to_nobody() -> None:
    marks: dict[str, Any] = {
        "f:metadata": {"f:annotations": {f"f:{last_applied.ANNOTATION}": {}}, "f:labels": {"f:team": {}}}
    }
    live = {"metadata": {"managedFields": owned_by("kubectl", marks)}}
    assert managed_paths(live, ["kubectl"]) == ("/metadata/labels/team",)


def replace_kind(rule: FieldRule, kind: str) -> FieldRule:
    return rule.model_copy(update={"kind": kind})


def test_what_has_no_owner_is_adopted_and_loses_nothing() -> None:
    live = without_marks(applied(minReadySeconds=9))
    del live["metadata"]["annotations"][last_applied.ANNOTATION]
    action = plan_object(DESIRED, observed(live, listed=False), POLICY)
    assert (action.type, action.reason, action.drift) == (ActionType.UPDATE, "Adopted", None)
    assert not [change for change in action.changes if change.path == "spec.minReadySeconds"]


def test_a_listed_object_without_marks_had_them_taken_away() -> None:
    action = plan_object(DESIRED, observed(without_marks(applied())), POLICY)
    assert action.type is ActionType.UPDATE
    assert action.drift is not None
    assert action.drift.reason is DriftReason.OWNER_LOST


def test_an_object_of_another_owner_is_refused_with_both_names() -> None:
    live = Owner("uid-2", "syncd/rival").mark(applied())
    action = plan_object(DESIRED, observed(live), POLICY)
    assert (action.type, action.reason, action.blocking) == (ActionType.SKIP, "OwnedByOther", True)
    assert "syncd/rival" in action.message
    assert "syncd/shop" in action.message


def test_an_object_of_our_former_inventory_is_taken_back() -> None:
    live = Owner("uid-0", "syncd/shop").mark(applied())
    action = plan_object(DESIRED, observed(live), POLICY)
    assert (action.type, action.reason, action.drift) == (ActionType.UPDATE, "Reclaimed", None)


def test_an_object_that_a_controller_made_is_never_adopted() -> None:
    live = without_marks(applied())
    live["metadata"]["ownerReferences"] = [{"kind": "Shop", "name": "shop", "controller": True}]
    assert plan_object(DESIRED, observed(live), POLICY).reason == "ControlledByOther"


def test_an_object_that_is_being_deleted_is_waited_for() -> None:
    live = applied()
    live["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    action = plan_object(DESIRED, observed(live), POLICY)
    assert (action.type, action.reason, action.blocking) == (ActionType.SKIP, "Terminating", True)


def test_mutation_ignore_creates_and_then_never_changes() -> None:
    annotations = {"client.lifecycle.config.k8s.io/mutation": "ignore"}
    body = {**BODY, "metadata": {**BODY["metadata"], "annotations": annotations}}
    desired = Desired(replace(DESIRED.manifest, body=body), digest(body))
    assert plan_object(desired, observed(None, listed=False), POLICY).type is ActionType.CREATE
    action = plan_object(desired, observed(applied(replicas=9)), POLICY)
    assert (action.type, action.reason, action.blocking) == (ActionType.SKIP, "MutationIgnored", False)


def test_a_kind_that_cannot_be_read_is_left_alone() -> None:
    action = plan_object(DESIRED, observed(applied(), unreadable={KEY: "forbidden"}), POLICY)
    assert (action.type, action.blocking, action.message) == (ActionType.SKIP, True, "forbidden")


def test_what_was_settled_is_not_even_parsed() -> None:
    class Unparsed(Seen):
        def parse(self) -> dict[str, Any]:
            raise AssertionError("it was parsed")

    settled = {KEY: Settled(DESIRED.digest, "7", b"")}
    observation = replace(observed(None, settled=settled), live={KEY: Unparsed(applied())})
    assert plan_object(DESIRED, observation, POLICY).type is ActionType.UNCHANGED


def test_a_damaged_annotation_is_an_error_that_names_the_object_and_nothing_that_it_holds() -> None:
    live = applied()
    live["metadata"]["annotations"][last_applied.ANNOTATION] = '{"hunter2'
    action = plan_object(DESIRED, observed(live), POLICY)
    assert action.blocking
    assert f"{KEY.display()}: the annotation {last_applied.ANNOTATION} is not a JSON object" in action.message
    assert "hunter2" not in action.message


def test_what_is_unchanged_lets_the_live_object_go() -> None:
    for settled in ({}, {KEY: Settled(DESIRED.digest, "6", live_digest(applied()))}):
        action = plan_object(DESIRED, observed(applied(), settled=settled), POLICY)
        assert (action.type, action.live) == (ActionType.UNCHANGED, None)


def test_what_is_settled_without_an_answer_is_compared_when_it_changes() -> None:
    settled = {KEY: Settled(DESIRED.digest, "6")}
    assert plan_object(DESIRED, observed(applied(), settled=settled), POLICY).type is ActionType.UNCHANGED
    assert plan_object(DESIRED, observed(applied(replicas=5), settled=settled), POLICY).type is ActionType.UPDATE


def test_a_status_that_changed_leaves_an_object_settled() -> None:
    live = applied(paused=True)  # would differ, if it were compared
    settled = {KEY: Settled(DESIRED.digest, "6", live_digest(live))}
    assert plan_object(DESIRED, observed(live, settled=settled), POLICY).type is ActionType.UNCHANGED


@pytest.mark.parametrize("wrong", [Settled(b"other", "7", b""), Settled(DESIRED.digest, "6", b"other")])
def test_what_changed_on_either_side_is_compared_again(wrong: Settled) -> None:
    action = plan_object(DESIRED, observed(applied(replicas=5), settled={KEY: wrong}), POLICY)
    assert action.type is ActionType.UPDATE


def test_a_secret_shows_that_it_changes_but_not_what() -> None:
    key = ObjectKey("shop", "", "Secret", "token")
    body = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "token", "namespace": "shop"},
        "stringData": {"token": "hunter2"},
    }
    desired = Desired(Manifest(key, "v1", body, Origin("repo")), digest(body))
    live = OWNER.mark({**body, "data": {"token": "b2xk"}})
    live["metadata"].update(uid="live-2", resourceVersion="3")
    del live["stringData"]
    inventory = ApplyConfig("syncd", "shop", "uid-1", "1", frozenset({key}), finished=True)
    action = plan_object(desired, Observation(inventory, {key: Seen(live)}), POLICY)
    assert action.type is ActionType.UPDATE
    assert any(change.path == "data.token" for change in action.changes)
    shown = repr(action)
    assert not any(word in shown for word in ("hunter2", "aHVudGVyMg", "b2xk"))


def test_a_secret_that_gets_its_first_annotations_does_not_show_its_last_applied_configuration() -> None:
    key = ObjectKey("shop", "", "Secret", "token")
    body = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "token", "namespace": "shop"},
        "data": {"token": "aHVudGVyMg=="},
    }
    live = copy.deepcopy(body) | {"metadata": {**BODY["metadata"], "name": "token", "uid": "u", "resourceVersion": "3"}}
    desired = Desired(Manifest(key, "v1", body, Origin("repo")), digest(body))
    inventory = ApplyConfig("syncd", "shop", "uid-1", "1", frozenset({key}), finished=True)
    action = plan_object(desired, Observation(inventory, {key: Seen(live)}), POLICY)
    (annotations,) = [change for change in action.changes if change.path == "metadata.annotations"]
    assert annotations.after == {names.OWNER_ANNOTATION: "uid-1", names.SYNC_ANNOTATION: "syncd/shop"}
    assert "aHVudGVyMg" not in repr(action.changes)
    (hidden,) = mask_changes(
        desired.manifest, [FieldChange("metadata.annotations", ABSENT, {last_applied.ANNOTATION: "x"})]
    )
    assert hidden.after == {last_applied.ANNOTATION: "***"}, "whoever says what changes"


def test_an_object_too_large_for_its_memory_is_applied_server_side() -> None:
    key = ObjectKey("shop", "", "ConfigMap", "large")
    body = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "large", "namespace": "shop"},
        "data": {"text": "x" * 300_000},
    }
    desired = Desired(Manifest(key, "v1", body, Origin("repo")), digest(body))
    action = plan_object(desired, observed(None, listed=False), POLICY)
    assert action.write is not None
    assert action.write.method is WriteMethod.SERVER_SIDE_APPLY
    assert action.write.body is not None
    assert last_applied.ANNOTATION not in action.write.body["metadata"]["annotations"]


def test_the_whole_plan_names_every_object_once_in_order() -> None:
    old = ObjectKey("shop", "", "ConfigMap", "old")
    gone = ObjectKey("shop", "gone.example.com", "Thing", "x")
    live_old = OWNER.mark({"kind": "ConfigMap", "metadata": {"name": "old", "uid": "u-old", "resourceVersion": "2"}})
    inventory = ApplyConfig("syncd", "shop", "uid-1", "1", frozenset({KEY, old, gone}), finished=True)
    live = {KEY: Seen(applied()), old: Seen(live_old)}
    observation = Observation(inventory, live, gone=frozenset({gone.group_kind}), users={"shop": {}})
    plan = build(DesiredSet((DESIRED,), ()), observation, POLICY)
    assert [(action.key, action.type) for action in plan.actions] == [
        (old, ActionType.PRUNE),
        (KEY, ActionType.UNCHANGED),
        (gone, ActionType.KEEP),
    ]
    assert plan.of(ActionType.KEEP)[0].release
