from __future__ import annotations

from typing import Any

from syncd.merge.last_applied import ANNOTATION
from syncd.merge.managed import migrated, owned


def live(fields: dict[str, Any], **entry: Any) -> dict[str, Any]:
    return {
        "metadata": {
            "name": "a",
            "labels": {"own": "x", "other": "y"},
            "managedFields": [
                {"manager": "kubectl", "operation": "Update", "fieldsV1": {"f:spec": {}}},
                {"manager": "syncd", "operation": "Apply", "fieldsV1": fields, **entry},
            ],
        },
        "spec": {
            "replicas": 2,
            "ports": [{"port": 53, "protocol": "UDP", "x": 1}, {"port": 53, "protocol": "TCP"}],
            "set": ["a", "b"],
            "atomic": [1, 2],
            "list": [{"a": 1, "b": 2}, {"a": 3}],
            "map": {"k": "v"},
        },
    }


def test_fields_items_values_and_indexes() -> None:
    fields = {
        "f:metadata": {"f:labels": {".": {}, "f:own": {}}},
        "f:spec": {
            "f:ports": {'k:{"port":53,"protocol":"UDP"}': {".": {}, "f:port": {}, "f:protocol": {}}},
            "f:set": {'v:"b"': {}},
            "f:atomic": {},
            "f:list": {"i:0": {"f:b": {}}},
            "f:map": {".": {}},
            "f:gone": {},
        },
    }
    assert owned(live(fields), "syncd") == {
        "metadata": {"labels": {"own": "x"}},
        "spec": {
            "ports": [{"port": 53, "protocol": "UDP"}],
            "set": ["b"],
            "atomic": [1, 2],
            "list": [{"b": 2}],
            "map": {},
        },
    }


def test_only_what_was_applied_to_the_object_itself_counts() -> None:
    fields: dict[str, Any] = {"f:spec": {"f:replicas": {}}}
    assert owned(live(fields), "syncd") == {"spec": {"replicas": 2}}
    assert owned(live(fields), "kubectl") is None
    assert owned(live(fields, operation="Update"), "syncd") is None
    assert owned(live(fields, subresource="status"), "syncd") is None
    assert owned({}, "syncd") is None
    assert owned({"metadata": {"managedFields": None}}, "syncd") is None


def test_who_wrote_the_last_applied_annotation_counts_as_one_that_applied() -> None:
    wrote: dict[str, Any] = {"f:metadata": {"f:annotations": {f"f:{ANNOTATION}": {}}}}
    entries = [
        {"manager": "kubectl", "operation": "Update", "apiVersion": "v1", "fieldsV1": {**wrote, "f:data": {"f:a": {}}}},
        {"manager": "syncd", "operation": "Update", "apiVersion": "v1", "fieldsV1": {"f:data": {"f:b": {}}}},
        {"manager": "syncd", "operation": "Apply", "apiVersion": "v1", "fieldsV1": {"f:data": {"f:c": {}}}},
        {"manager": "other", "operation": "Update", "apiVersion": "v1", "fieldsV1": {"f:data": {"f:d": {}}}},
        {"manager": "syncd", "operation": "Update", "apiVersion": "v1", "subresource": "status", "fieldsV1": {}},
        {"manager": "syncd", "operation": "Update", "apiVersion": "v0", "fieldsV1": {"f:data": {"f:e": {}}}},
    ]
    live = {"apiVersion": "v1", "metadata": {"managedFields": entries}}
    found = migrated(live, "syncd")
    assert found is not None
    assert found[0]["fieldsV1"] == {**wrote, "f:data": {"f:a": {}, "f:b": {}, "f:c": {}}}
    assert [(entry["manager"], entry["operation"]) for entry in found] == [
        ("syncd", "Apply"),
        ("other", "Update"),
        ("syncd", "Update"),  # that of the status
    ]
    assert migrated({"apiVersion": "v1", "metadata": {"managedFields": found}}, "syncd") is None
