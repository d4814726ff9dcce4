from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncd.inventory import ApplyConfig, Owner, names
from syncd.inventory.keylist import list_hash
from syncd.model import ActionType, GroupKind, ObjectKey
from syncd.plan.guards import PruneContext, objection
from syncd.plan.prune import PRUNE_OFF, allowance, hold, judge
from syncd.plan.settings import Observation, Policy
from syncd.plan.usage import User
from syncd.spec import DriftPolicy, Prune, PruneBudget

OWNER = Owner("uid-1", "syncd/shop")
KEY = ObjectKey("shop", "", "ConfigMap", "a")
NAMESPACE = ObjectKey("", "", "Namespace", "shop")
CRD = ObjectKey("", "apiextensions.k8s.io", "CustomResourceDefinition", "carts.shop.example")
CLAIM = ObjectKey("shop", "", "PersistentVolumeClaim", "data")
SECRET = ObjectKey("shop", "", "Secret", "a")
CONTEXT = PruneContext(OWNER, homes=frozenset({"syncd"}), contents={NAMESPACE: "", CRD: ""}, users={"shop": {}})


def owned(key: ObjectKey = KEY, owner: str = "uid-1", **metadata: Any) -> dict[str, Any]:
    annotations = {names.OWNER_ANNOTATION: owner, **metadata.pop("annotations", {})}
    return {
        "kind": key.kind,
        "metadata": {"name": key.name, "uid": "live-1", "resourceVersion": "7", "annotations": annotations, **metadata},
        "spec": {"group": "shop.example", "names": {"kind": "Cart"}},
    }


def reason(key: ObjectKey, live: dict[str, Any], context: PruneContext = CONTEXT) -> str:
    keep = objection(key, live, context)
    return keep.reason if keep else ""


@pytest.mark.parametrize("key", [KEY, NAMESPACE, CRD])
def test_what_is_ours_and_holds_nothing_else_may_go(key: ObjectKey) -> None:
    assert reason(key, owned(key)) == ""


def test_what_lost_its_owner_stays() -> None:
    live = owned()
    del live["metadata"]["annotations"][names.OWNER_ANNOTATION]
    assert reason(KEY, live) == "OwnerLost"


def test_what_another_owner_claimed_stays_and_leaves_the_list() -> None:
    keep = objection(KEY, owned(owner="uid-2"), CONTEXT)
    assert keep is not None
    assert (keep.reason, keep.release) == ("OwnedByOther", True)


def test_what_a_controller_made_stays_whatever_marks_it_carries() -> None:
    live = owned(ownerReferences=[{"kind": "Service", "name": "web", "controller": True}])
    assert reason(KEY, live) == "ControlledByOther"


def test_what_git_wants_under_another_key_stays() -> None:
    context = PruneContext(OWNER, homes=frozenset({"syncd"}), desired_uids=frozenset({"live-1"}))
    assert reason(KEY, owned(), context) == "DesiredByAnotherKey"


def test_what_the_apply_config_object_in_git_still_lists_stays() -> None:
    assert reason(KEY, owned(), replace(CONTEXT, declared=frozenset({KEY}))) == "ListedInGit"
    assert reason(KEY, owned(), replace(CONTEXT, declared=frozenset({NAMESPACE}))) == ""


@pytest.mark.parametrize(
    ("annotation", "value", "expected"),
    [
        ("client.lifecycle.config.k8s.io/deletion", "detach", "Detached"),
        ("cli-utils.sigs.k8s.io/on-remove", "keep", "Detached"),
        ("syncd.dev/prune", "disabled", "PruneDisabled"),
        ("syncd.dev/prune", "enabled", ""),
    ],
)
def test_annotations_protect(annotation: str, value: str, expected: str) -> None:
    assert reason(KEY, owned(annotations={annotation: value})) == expected


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public", "kube-node-lease"])
def test_the_clusters_own_namespaces_stay(name: str) -> None:
    key = NAMESPACE._replace(name=name)
    assert reason(key, owned(key)) == "SystemNamespace"


def test_the_namespace_of_the_inventory_stays() -> None:
    key = NAMESPACE._replace(name="syncd")
    assert reason(key, owned(key)) == "InventoryNamespace"


def test_a_namespace_with_objects_that_stay_is_kept() -> None:
    context = PruneContext(OWNER, homes=frozenset({"syncd"}), occupied=frozenset({"shop"}), contents={NAMESPACE: ""})
    assert reason(NAMESPACE, owned(NAMESPACE), context) == "InUse"


def test_a_definition_whose_kind_is_in_use_is_kept() -> None:
    used = frozenset({GroupKind("shop.example", "Cart")})
    context = PruneContext(OWNER, homes=frozenset({"syncd"}), used_kinds=used, contents={CRD: ""})
    assert reason(CRD, owned(CRD), context) == "InUse"


@pytest.mark.parametrize("key", [NAMESPACE, CRD])
def test_what_holds_foreign_objects_is_kept(key: ObjectKey) -> None:
    context = PruneContext(OWNER, homes=frozenset({"syncd"}), contents={key: "2 objects that are not this Sync's"})
    assert reason(key, owned(key), context) == "HoldsForeignObjects"


@pytest.mark.parametrize("key", [NAMESPACE, CRD])
def test_what_could_not_be_looked_into_is_kept(key: ObjectKey) -> None:
    assert reason(key, owned(key), PruneContext(OWNER, homes=frozenset({"syncd"}))) == "ContentsUnknown"


def test_a_claim_stays_with_its_data() -> None:
    assert reason(CLAIM, owned(CLAIM)) == "HoldsData"


def test_a_claim_may_go_where_the_sync_or_the_claim_says_so() -> None:
    assert reason(CLAIM, owned(CLAIM), replace(CONTEXT, claims_may_go=True)) == ""
    assert reason(CLAIM, owned(CLAIM, annotations={"syncd.dev/prune": "enabled"})) == ""


@pytest.mark.parametrize("key", [KEY, SECRET])
def test_what_a_pod_still_uses_stays_for_now(key: ObjectKey) -> None:
    keep = objection(key, owned(key), replace(CONTEXT, users={"shop": {key: (User("Pod web-1", "root-1"),)}}))
    assert keep is not None
    assert (keep.reason, keep.release) == ("StillUsed", False)
    assert "Pod web-1" in keep.message


def test_what_only_something_uses_that_goes_as_well_may_go() -> None:
    users = {"shop": {KEY: (User("Pod web-1", "root-1"), User("Pod web-2", "root-2"))}}
    assert reason(KEY, owned(), replace(CONTEXT, users=users, going={"root-1"})) == "StillUsed"
    assert reason(KEY, owned(), replace(CONTEXT, users=users, going={"root-1", "root-2"})) == ""


@pytest.mark.parametrize("key", [KEY, SECRET])
def test_what_may_be_used_for_all_that_is_known_stays(key: ObjectKey) -> None:
    assert reason(key, owned(key), replace(CONTEXT, users={})) == "StillUsed"


def test_what_another_sync_wants_is_handed_over() -> None:
    keep = objection(KEY, owned(), replace(CONTEXT, claimed={KEY: "syncd/other"}))
    assert keep is not None
    assert (keep.reason, keep.release, keep.unmark) == ("HandedOver", True, True)


def test_a_deletion_carries_uid_and_resource_version() -> None:
    action = judge(KEY, owned(), CONTEXT, held=None)
    assert action.type is ActionType.PRUNE
    assert action.write is not None
    assert (action.write.uid, action.write.resource_version) == ("live-1", "7")


def test_detaching_takes_the_marks_off() -> None:
    live = owned(annotations={"client.lifecycle.config.k8s.io/deletion": "detach"})
    action = judge(KEY, live, CONTEXT, held=None)
    assert action.type is ActionType.KEEP
    assert action.release
    assert action.write is not None
    assert action.write.body is not None
    assert action.write.body["metadata"]["annotations"][names.OWNER_ANNOTATION] is None


def test_what_is_being_deleted_is_left_to_it() -> None:
    action = judge(KEY, owned(deletionTimestamp="2026-01-01T00:00:00Z"), CONTEXT, held=None)
    assert (action.type, action.reason, action.release) == (ActionType.KEEP, "Terminating", False)


def keys(count: int) -> set[ObjectKey]:
    return {KEY._replace(name=str(number)) for number in range(count)}


def held(
    candidates: int,
    inventory: int,
    *,
    rendered: int = 5,
    policy: Prune | None = None,
    damage: str = "",
    approval: str = "",
) -> str:
    observed = Observation(ApplyConfig("syncd", "shop", damage=damage, approval=approval), {})
    rules = Policy(OWNER, DriftPolicy(), policy or Prune(), lambda _version, _kind: None, commit="c0ffee1234")
    found = hold(keys(candidates), inventory, rendered=rendered, policy=rules, observed=observed)
    return found.reason if found else ""


def test_nothing_to_prune_holds_nothing() -> None:
    assert held(0, 100, rendered=0, damage="edited") == ""


def test_a_switched_off_prune_is_no_alarm() -> None:
    assert held(1, 100, policy=Prune(enabled=False)) == PRUNE_OFF


def test_doubt_in_the_inventory_holds() -> None:
    assert held(1, 100, damage="edited") == "InventoryInDoubt"


def test_an_empty_render_holds() -> None:
    assert held(1, 100, rendered=0) == "EmptyRender"


@pytest.mark.parametrize("approval", ["c0ffee1234", "c0ffee1", f"0000000/{list_hash(keys(60))}"])
def test_an_approval_counts_for_its_commit_or_its_objects(approval: str) -> None:
    assert held(60, 100, approval=approval) == ""
    assert held(60, 100, approval=approval, rendered=0) == ""


@pytest.mark.parametrize("approval", ["", "c0", "decade1", f"decade1/{list_hash(keys(59))}"])
def test_an_approval_counts_for_nothing_else(approval: str) -> None:
    assert held(60, 100, approval=approval) == "BudgetExceeded"


def test_doubt_cannot_be_approved() -> None:
    assert held(60, 100, approval="c0ffee1234", damage="edited") == "InventoryInDoubt"


@pytest.mark.parametrize(
    ("candidates", "inventory", "expected"),
    [
        (50, 1000, ""),
        (51, 1000, "BudgetExceeded"),
        (30, 100, ""),
        (31, 100, "BudgetExceeded"),
        (9, 10, ""),
        (4, 11, "BudgetExceeded"),
        (3, 11, ""),
    ],
)
def test_the_budget_counts_objects_and_above_ten_percent_too(candidates: int, inventory: int, expected: str) -> None:
    assert held(candidates, inventory, policy=Prune(budget=PruneBudget(objects=50, percent=30))) == expected


@given(objects=st.integers(0, 60), percent=st.integers(0, 100), inventory=st.integers(1, 300))
def test_the_allowance_is_the_largest_number_that_is_not_held(objects: int, percent: int, inventory: int) -> None:
    policy = Prune(budget=PruneBudget(objects=objects, percent=percent))
    allowed = allowance(policy.budget, inventory)
    assert held(allowed, inventory, policy=policy) == ""
    assert held(allowed + 1, inventory, policy=policy) == "BudgetExceeded"
