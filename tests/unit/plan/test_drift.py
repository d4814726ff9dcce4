from __future__ import annotations

from typing import Any

import pytest

from syncd.model import ABSENT, DriftReason, FieldChange
from syncd.plan.drift import Writer, describe, last_writer


def entry(manager: str, time: str, fields: dict[str, Any], **more: str) -> dict[str, Any]:
    return {"manager": manager, "operation": "Update", "time": time, "fieldsV1": fields, **more}


def live(*entries: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"name": "web", "managedFields": list(entries)}}


REPLICAS: dict[str, Any] = {"f:spec": {"f:replicas": {}}}
IMAGE: dict[str, Any] = {"f:spec": {"f:template": {"f:spec": {"f:containers": {'k:{"name":"web"}': {"f:image": {}}}}}}}
LABEL: dict[str, Any] = {"f:metadata": {"f:labels": {"f:app.kubernetes.io/name": {}}}}


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        (REPLICAS, "spec.replicas"),
        (IMAGE, "spec.template.spec.containers[name=web].image"),
        (LABEL, "metadata.labels[app.kubernetes.io/name]"),
    ],
)
def test_the_manager_of_a_field_is_its_writer(fields: dict[str, Any], path: str) -> None:
    found = last_writer(live(entry("syncd", "2026-01-03", fields), entry("alice", "2026-01-02", fields)), path)
    assert found == Writer("alice", "Update")


def test_the_scale_subresource_writes_the_spec_and_status_does_not() -> None:
    scaled = entry("kubectl", "2026-01-01", REPLICAS, subresource="scale")
    status = entry("kube-controller-manager", "2026-01-02", REPLICAS, subresource="status")
    assert last_writer(live(scaled, status), "spec.replicas") == Writer("kubectl", "Update")


def test_of_two_writers_the_newest_with_the_whole_path_counts() -> None:
    above = entry("above", "2026-01-03", {"f:spec": {}})
    older, newer = entry("older", "2026-01-01", REPLICAS), entry("newer", "2026-01-02", REPLICAS)
    assert last_writer(live(above, older, newer), "spec.replicas") == Writer("newer", "Update")


def test_nobody_but_syncd_is_nobody() -> None:
    assert last_writer(live(entry("syncd", "2026-01-01", REPLICAS)), "spec.replicas") is None
    assert last_writer({"metadata": {"name": "web"}}, "spec.replicas") is None


def test_only_extra_fields_make_extra_drift() -> None:
    extra = FieldChange("spec.paused", True, ABSENT)
    changed = FieldChange("spec.replicas", 5, 2)
    assert describe(live(), (extra,)).reason is DriftReason.EXTRA_FIELD
    assert describe(live(), (extra, changed)).reason is DriftReason.CHANGED
