from __future__ import annotations

from typing import Any

from syncd.merge.managed import owned


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
