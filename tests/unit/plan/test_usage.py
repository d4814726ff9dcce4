from __future__ import annotations

from typing import Any

import pytest

from syncd.model import ObjectKey
from syncd.plan.usage import users

SETTINGS = ObjectKey("shop", "", "ConfigMap", "settings")
POD_SPEC = {"containers": [{"name": "web", "envFrom": [{"configMapRef": {"name": "settings"}}]}]}
TEMPLATE = {"template": {"spec": POD_SPEC}}
MAP = {"configMap": {"name": "settings"}}
VALUE = {"valueFrom": {"configMapKeyRef": {"name": "settings"}}}


def thing(kind: str, **fields: Any) -> dict[str, Any]:
    return {"kind": kind, "metadata": {"name": "web-1", "uid": kind, **fields.pop("metadata", {})}, **fields}


def user(*objects: dict[str, Any]) -> str:
    found = users(objects, "shop", {}).get(SETTINGS, ())
    return found[0].name if found else ""


@pytest.mark.parametrize(
    "spec",
    [
        POD_SPEC,
        {"containers": [], "volumes": [{"name": "v", **MAP}]},
        {"containers": [], "volumes": [{"name": "v", "projected": {"sources": [MAP]}}]},
        {"containers": [], "initContainers": [{"name": "i", "env": [{"name": "e", **VALUE}]}]},
    ],
)
def test_a_pod_uses_what_its_spec_names(spec: dict[str, Any]) -> None:
    assert user(thing("Pod", spec=spec)) == "Pod web-1"


@pytest.mark.parametrize(
    "ended",
    [{"status": {"phase": "Succeeded"}}, {"status": {"phase": "Failed"}}, {"metadata": {"deletionTimestamp": "now"}}],
)
def test_a_pod_that_has_ended_uses_nothing(ended: dict[str, Any]) -> None:
    assert user(thing("Pod", spec=POD_SPEC, **ended)) == ""


def test_a_replica_set_counts_while_it_has_or_wants_pods() -> None:
    assert user(thing("ReplicaSet", spec={"replicas": 1, **TEMPLATE}))
    assert user(thing("ReplicaSet", spec={"replicas": 0, **TEMPLATE}, status={"replicas": 1}))
    assert user(thing("ReplicaSet", spec={"replicas": 0, **TEMPLATE})) == ""


def test_a_stateful_sets_revision_counts_while_its_pods_may_be_made_again() -> None:
    revision = thing("ControllerRevision", data={"spec": TEMPLATE})
    assert user(revision) == ""
    assert user(revision, thing("StatefulSet", status={"currentRevision": "web-1", "updateRevision": "web-2"}))
    assert user(revision, thing("StatefulSet", status={"currentRevision": "web-2", "updateRevision": "web-2"})) == ""


def test_a_pod_leads_to_what_made_its_replica_set_even_when_that_has_gone() -> None:
    replica_set = thing("ReplicaSet", metadata={"ownerReferences": [{"uid": "web", "controller": True}]})
    pod = thing("Pod", spec=POD_SPEC, metadata={"ownerReferences": [{"uid": "ReplicaSet", "controller": True}]})
    controllers: dict[str, str] = {}
    users([replica_set], "shop", controllers)
    assert [user.root for user in users([pod], "shop", controllers)[SETTINGS]] == ["web"]
