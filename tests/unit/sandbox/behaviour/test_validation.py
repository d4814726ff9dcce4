from __future__ import annotations

from typing import Any

import pytest

from syncd.sandbox.defaulting import apply_defaults
from syncd.sandbox.kinds import built_in
from syncd.sandbox.strategies import prepare_create, prepare_update
from syncd.sandbox.validation import validate

RBAC = "rbac.authorization.k8s.io"
LABELS = {"app": "web"}
CONTAINER = {"name": "c", "image": "i:1"}
TEMPLATE = {"metadata": {"labels": LABELS}, "spec": {"containers": [CONTAINER]}}
WORKLOAD = {"selector": {"matchLabels": LABELS}, "template": TEMPLATE}


def made(group: str, kind: str, **fields: Any) -> dict[str, Any]:
    served = built_in(group, kind)
    metadata = {"name": "web", "uid": "u"} | fields.pop("metadata", {})
    obj = {"apiVersion": served.api_version, "kind": kind, "metadata": metadata} | fields
    return prepare_create(served, apply_defaults(served, obj))


def problems(group: str, kind: str, **fields: Any) -> list[tuple[str, str]]:
    causes = validate(built_in(group, kind), made(group, kind, **fields), None)
    return [(cause.field, cause.message) for cause in causes]


def changes(group: str, kind: str, before: dict[str, Any], after: dict[str, Any]) -> list[tuple[str, str]]:
    served = built_in(group, kind)
    old, new = made(group, kind, **before), made(group, kind, **after)
    causes = validate(served, prepare_update(served, new, old), old)
    return [(cause.field, cause.message) for cause in causes]


def deployment(**container: Any) -> list[tuple[str, str]]:
    template = {"metadata": {"labels": LABELS}, "spec": {"containers": [CONTAINER | container]}}
    return problems("apps", "Deployment", spec=WORKLOAD | {"template": template})


@pytest.mark.parametrize(
    ("group", "kind", "spec"),
    [
        ("apps", "Deployment", WORKLOAD),
        ("apps", "StatefulSet", WORKLOAD | {"serviceName": "web"}),
        ("apps", "DaemonSet", WORKLOAD),
        ("apps", "ReplicaSet", WORKLOAD),
        ("", "Pod", {"containers": [CONTAINER]}),
        ("", "Service", {"ports": [{"port": 80}]}),
        ("batch", "Job", {"template": {"spec": {"containers": [CONTAINER], "restartPolicy": "Never"}}}),
    ],
)
def test_good_objects_are_taken(group: str, kind: str, spec: dict[str, Any]) -> None:
    assert problems(group, kind, spec=spec) == []


def test_a_selector_must_choose_the_template() -> None:
    spec = WORKLOAD | {"selector": {"matchLabels": {"app": "other"}}}

    assert problems("apps", "Deployment", spec=spec) == [
        ("spec.template.metadata.labels", 'Invalid value: {"app":"web"}: `selector` does not match template `labels`')
    ]


@pytest.mark.parametrize(
    ("container", "field", "message"),
    [
        ({"image": ""}, "image", "Required value"),
        ({"ports": [{"containerPort": 0}]}, "ports[0].containerPort", "Required value"),
        (
            {"ports": [{"containerPort": 99999}]},
            "ports[0].containerPort",
            "Invalid value: 99999: must be between 1 and 65535, inclusive",
        ),
        ({"volumeMounts": [{"name": "v", "mountPath": "/v"}]}, "volumeMounts[0].name", 'Not found: "v"'),
        (
            {"imagePullPolicy": "Maybe"},
            "imagePullPolicy",
            'Unsupported value: "Maybe": supported values: "Always", "IfNotPresent", "Never"',
        ),
        (
            {"resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "2"}}},
            "resources.requests",
            'Invalid value: "2": must be less than or equal to cpu limit of 1',
        ),
        ({"livenessProbe": {}}, "livenessProbe", "Required value: must specify a handler type"),
    ],
)
def test_a_container_that_cannot_run_is_refused(container: dict[str, Any], field: str, message: str) -> None:
    assert deployment(**container) == [(f"spec.template.spec.containers[0].{field}", message)]


@pytest.mark.parametrize("name", ["Web", "-web", "web_1", "", "a" * 254])
def test_a_name_that_is_no_dns_name_is_refused(name: str) -> None:
    found = problems("", "ConfigMap", metadata={"name": name})

    assert [field for field, _ in found] == ["metadata.name"]


def test_rbac_names_may_hold_colons() -> None:
    assert problems(RBAC, "ClusterRole", metadata={"name": "system:auth-delegator"}) == []


def test_annotations_have_a_limit_all_together() -> None:
    found = problems("", "ConfigMap", metadata={"annotations": {"a": "x" * 262144}})

    assert found == [("metadata.annotations", "Too long: may not be more than 262144 bytes")]


@pytest.mark.parametrize(
    ("group", "kind", "before", "after", "expected"),
    [
        (
            "",
            "ConfigMap",
            {"data": {"a": "1"}, "immutable": True},
            {"data": {"a": "2"}, "immutable": True},
            ("data", "Forbidden: field is immutable when `immutable` is set"),
        ),
        ("", "Secret", {"type": "a"}, {"type": "b"}, ("type", 'Invalid value: "b": field is immutable')),
        (
            RBAC,
            "RoleBinding",
            {"roleRef": {"kind": "Role", "name": "a"}},
            {"roleRef": {"kind": "Role", "name": "b"}},
            (
                "roleRef",
                f'Invalid value: {{"APIGroup":"{RBAC}","Kind":"Role","Name":"b"}}: cannot change roleRef',
            ),
        ),
        (
            "",
            "Service",
            {"spec": {"clusterIP": "10.96.0.9", "ports": [{"port": 80}]}},
            {"spec": {"clusterIP": "10.96.0.8", "clusterIPs": ["10.96.0.9"], "ports": [{"port": 80}]}},
            ("spec.clusterIPs[0]", 'Invalid value: ["10.96.0.8"]: may not change once set'),
        ),
        (
            "storage.k8s.io",
            "StorageClass",
            {"provisioner": "p", "parameters": {"a": "b"}},
            {"provisioner": "p", "parameters": {"a": "c"}},
            ("parameters", 'Invalid value: {"a":"c"}: field is immutable'),
        ),
        (
            "scheduling.k8s.io",
            "PriorityClass",
            {"value": 1},
            {"value": 2},
            ("value", "Forbidden: may not be changed in an update."),
        ),
    ],
)
def test_what_may_not_change_is_refused_by_name(
    group: str, kind: str, before: dict[str, Any], after: dict[str, Any], expected: tuple[str, str]
) -> None:
    assert changes(group, kind, before, after) == [expected]


def test_a_stateful_set_may_change_its_template_but_not_its_service() -> None:
    before = {"spec": WORKLOAD | {"serviceName": "a"}}
    template = {"metadata": {"labels": LABELS}, "spec": {"containers": [CONTAINER | {"image": "i:2"}]}}

    assert changes("apps", "StatefulSet", before, {"spec": before["spec"] | {"template": template}}) == []
    ((field, message),) = changes("apps", "StatefulSet", before, {"spec": before["spec"] | {"serviceName": "b"}})
    assert field == "spec"
    assert message.startswith("Forbidden: updates to statefulset spec for fields other than")


def test_a_service_keeps_its_address_when_an_update_leaves_it_out() -> None:
    served = built_in("", "Service")
    old = made("", "Service", spec={"clusterIP": "10.96.0.9", "ports": [{"port": 80}]})
    new = apply_defaults(served, old | {"spec": {"ports": [{"port": 81}]}})

    kept = prepare_update(served, new, old)

    assert kept["spec"]["clusterIPs"] == ["10.96.0.9"]
    assert validate(served, kept, old) == []


def test_a_definition_must_have_the_name_of_its_resource() -> None:
    schema = {"openAPIV3Schema": {"type": "object"}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    names = {"kind": "Widget", "plural": "widgets"}
    spec = {"group": "example.com", "scope": "Cluster", "names": names, "versions": [version]}

    found = problems("apiextensions.k8s.io", "CustomResourceDefinition", spec=spec)

    assert found == [("metadata.name", 'Invalid value: "web": must be spec.names.plural+"."+spec.group')]
