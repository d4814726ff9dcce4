from __future__ import annotations

import pytest

from syncd.inventory import Owner
from syncd.model import JSONObject, Manifest, Origin
from syncd.plan.immutable import Cause, ImmutableFieldError, check_replaceable, immutable_fields, restorable
from syncd.plan.settings import Policy
from syncd.render.objects import key_of
from syncd.spec import DriftPolicy, Prune

OWNER = Owner("u1", "syncd/shop")
INVALID, FORBIDDEN = "FieldValueInvalid", "FieldValueForbidden"


@pytest.mark.parametrize(
    ("reason", "message"),
    [
        (INVALID, 'Invalid value: {"matchLabels":{"a":"b"}}: field is immutable'),
        (INVALID, 'Invalid value: ["None"]: may not change once set'),
        (INVALID, 'Invalid value: {"Kind":"Role","Name":"r2"}: cannot change roleRef'),
        (INVALID, "Invalid value: (long value): field is immutable"),
        (INVALID, 'Invalid value: "string": the zone is immutable'),
        (FORBIDDEN, "Forbidden: field is immutable when `immutable` is set"),
        (
            FORBIDDEN,
            "Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals' are forbidden",
        ),
        (FORBIDDEN, "Forbidden: may not be changed in an update."),
        (FORBIDDEN, "Forbidden: spec is immutable after creation except resources.requests\n@@ -1,6 +1,6 @@\n {"),
        (FORBIDDEN, "Forbidden: pod updates may not change fields other than `spec.containers[*].image`"),
    ],
)
def test_the_words_of_real_servers_are_recognised(reason: str, message: str) -> None:
    assert immutable_fields([Cause("spec.selector", reason, message)]) == ("spec.selector",)


@pytest.mark.parametrize(
    ("reason", "message"),
    [
        (INVALID, 'Invalid value: "field is immutable": must be a valid image name'),
        (INVALID, "Invalid value: -1: must be greater than or equal to 0"),
        (FORBIDDEN, "Forbidden: field can not be less than status.capacity"),
        ("FieldValueRequired", "Required value: field is immutable"),
    ],
)
def test_no_other_refusal_is_taken_for_one(reason: str, message: str) -> None:
    assert immutable_fields([Cause("spec.x", reason, message)]) == ()


def test_a_refusal_with_another_cause_beside_it_is_none() -> None:
    immutable = Cause("spec", FORBIDDEN, "Forbidden: updates to statefulset spec for fields other than 'replicas'")
    wrong = Cause("spec.replicas", INVALID, "Invalid value: -1: must be greater than or equal to 0")
    assert immutable_fields([immutable, wrong]) == ()


def policy(replace: str = "Never") -> Policy:
    return Policy(OWNER, DriftPolicy(), Prune(), lambda *_: None, replace=replace)  # type: ignore[arg-type]  # a table's text


def check(kind: str, replace: str, annotation: str = "", **live_annotations: str) -> None:
    metadata: JSONObject = {"name": "a", "namespace": "shop"}
    body: JSONObject = {"apiVersion": "v1", "kind": kind, "metadata": metadata}
    live = OWNER.mark({**body, "metadata": {**metadata, "annotations": live_annotations}})
    if annotation:
        body = {**body, "metadata": {**metadata, "annotations": {"syncd.dev/replace": annotation}}}
    manifest = Manifest(key_of(body), "v1", body, Origin(path="a.yaml"))
    check_replaceable(manifest, live, ["spec.x"], policy(replace))


def test_an_object_is_made_anew_where_it_or_its_sync_allows_it() -> None:
    check("ConfigMap", "WhenImmutable")
    check("ConfigMap", "Never", "enabled")
    check("PersistentVolumeClaim", "Never", "enabled")


@pytest.mark.parametrize(
    ("kind", "replace", "annotation"),
    [
        ("ConfigMap", "Never", ""),
        ("ConfigMap", "WhenImmutable", "disabled"),
        ("PersistentVolumeClaim", "WhenImmutable", ""),
        ("Namespace", "WhenImmutable", ""),
    ],
)
def test_else_it_is_refused_with_the_field_and_what_to_do(kind: str, replace: str, annotation: str) -> None:
    with pytest.raises(ImmutableFieldError, match=r"spec\.x cannot be changed .* annotate it with syncd.dev/replace"):
        check(kind, replace, annotation)


def test_what_is_protected_from_deletion_is_not_deleted_for_that() -> None:
    with pytest.raises(ImmutableFieldError, match=r"syncd\.dev/prune is disabled"):
        check("ConfigMap", "WhenImmutable", **{"syncd.dev/prune": "disabled"})


def test_a_restored_job_has_no_trace_of_its_former_uid() -> None:
    labels = {"app": "migrate", "batch.kubernetes.io/controller-uid": "u", "controller-uid": "u"}
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "m", "uid": "u", "resourceVersion": "7", "labels": labels, "annotations": {"a": "b"}},
        "spec": {"selector": {"matchLabels": {"controller-uid": "u"}}, "template": {"metadata": {"labels": labels}}},
        "status": {"succeeded": 1},
    }
    assert restorable(job) == {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "m", "labels": {"app": "migrate"}, "annotations": {"a": "b"}},
        "spec": {"template": {"metadata": {"labels": {"app": "migrate"}}}},
    }
