"""Every refusal that a client may act on, or shows to a person, word for word."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from tests.contract import golden
from tests.contract.client import APPLY, JSON_PATCH, MERGE, STRATEGIC, path
from tests.contract.differences import differs
from tests.contract.servers import Server, new_namespace

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.contract.client import Client

MAPS, MAP = ("configmaps",), ("configmaps", "there")
WEB = ("deployments", "web")
BACKEND = {"service": {"name": "web", "port": {"number": 80}}}
POD: dict[str, Any] = {
    "metadata": {"labels": {"app": "web"}},
    "spec": {"containers": [{"name": "web", "image": "web:1"}]},
}
SPEC = {"selector": {"matchLabels": {"app": "web"}}, "template": POD}


class Refused(NamedTuple):
    """A request that is refused; the place is a resource and perhaps a name, and a subresource."""

    method: str
    place: tuple[str, ...]
    body: Any = None
    content_type: str = "application/json"
    query: tuple[tuple[str, Any], ...] = ()


def a_deployment(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "new"}, "spec": {**SPEC, **spec}}


def containers(*found: dict[str, Any], **pod: Any) -> dict[str, Any]:
    return {"template": {**POD, "spec": {"containers": list(found), **pod}}}


REFUSED = {
    "get-not-found": Refused("GET", ("configmaps", "missing")),
    "get-not-found-in-group": Refused("GET", ("deployments", "missing")),
    "delete-not-found": Refused("DELETE", ("configmaps", "missing")),
    "patch-not-found": Refused("PATCH", ("configmaps", "missing"), {}, MERGE),
    "replace-not-found": Refused("PUT", ("configmaps", "missing"), {"metadata": {"name": "missing"}}),
    "unknown-resource": Refused("GET", ("gadgets",)),
    "unknown-version": Refused("GET", ("gadgets.apps/v9",)),
    "unknown-subresource": Refused("GET", ("configmaps", "there", "scale")),
    "create-exists": Refused("POST", MAPS, {"metadata": {"name": "there"}}),
    "create-exists-in-group": Refused("POST", ("deployments",), {"metadata": {"name": "web"}, "spec": SPEC}),
    "create-without-name": Refused("POST", MAPS, {"metadata": {}}),
    "create-with-bad-name": Refused("POST", MAPS, {"metadata": {"name": "A_b"}}),
    "create-in-other-namespace": Refused("POST", MAPS, {"metadata": {"name": "new", "namespace": "elsewhere"}}),
    "create-other-kind": Refused("POST", MAPS, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "new"}}),
    "create-other-version": Refused("POST", MAPS, {"apiVersion": "v2", "kind": "ConfigMap"}),
    "create-with-version": Refused("POST", MAPS, {"metadata": {"name": "new", "resourceVersion": "7"}}),
    "create-wrong-type": Refused("POST", MAPS, {"metadata": {"name": "new"}, "data": {"a": 1}}),
    "create-bad-label": Refused("POST", MAPS, {"metadata": {"name": "new", "labels": {"a b": "c/d"}}}),
    "create-bad-annotation": Refused("POST", MAPS, {"metadata": {"name": "new", "annotations": {"a b": ""}}}),
    "create-bad-owner": Refused("POST", MAPS, {"metadata": {"name": "new", "ownerReferences": [{"kind": "Pod"}]}}),
    "create-bad-data-key": Refused("POST", MAPS, {"metadata": {"name": "new"}, "data": {"a b": "c"}}),
    "create-unreadable-media": Refused("POST", MAPS, "hello", "text/plain"),
    "strict-unknown-field": Refused(
        "POST", MAPS, {"metadata": {"name": "new"}, "dta": {}}, query=(("fieldValidation", "Strict"),)
    ),
    "strict-duplicate-field": Refused(
        "POST", MAPS, '{"metadata":{"name":"new"},"data":{"a":"1","a":"2"}}', query=(("fieldValidation", "Strict"),)
    ),
    "strict-nested-fields": Refused(
        "POST",
        ("deployments",),
        a_deployment(**containers({"name": "web", "image": "web:1", "imag": "x"}, nodes={}), replica=1),
        query=(("fieldValidation", "Strict"),),
    ),
    "bad-field-validation": Refused("POST", MAPS, {}, query=(("fieldValidation", "Hard"),)),
    "bad-dry-run": Refused("POST", MAPS, {"metadata": {"name": "new"}}, query=(("dryRun", "Some"),)),
    "long-field-manager": Refused("POST", MAPS, {"metadata": {"name": "new"}}, query=(("fieldManager", "a" * 129),)),
    "replace-stale": Refused("PUT", MAP, {"metadata": {"name": "there", "resourceVersion": "1"}}),
    "replace-other-name": Refused("PUT", MAP, {"metadata": {"name": "other"}}),
    "replace-other-uid": Refused("PUT", MAP, {"metadata": {"name": "there", "uid": "1234"}}),
    "replace-immutable": Refused("PUT", ("configmaps", "fixed"), {"metadata": {"name": "fixed"}, "data": {"a": "2"}}),
    "patch-stale": Refused("PATCH", MAP, {"metadata": {"resourceVersion": "1"}}, MERGE),
    "patch-name": Refused("PATCH", MAP, {"metadata": {"name": "other"}}, MERGE),
    "patch-namespace": Refused("PATCH", MAP, {"metadata": {"namespace": "elsewhere"}}, MERGE),
    "patch-immutable": Refused("PATCH", ("configmaps", "fixed"), {"data": {"a": "2"}}, MERGE),
    "patch-no-type": Refused("PATCH", MAP, {}, "application/json"),
    "merge-wrong-type": Refused("PATCH", MAP, {"data": {"a": 1}}, MERGE),
    "strategic-wrong-type": Refused("PATCH", MAP, {"data": {"a": 1}}, STRATEGIC),
    "strategic-wrong-list": Refused("PATCH", WEB, {"spec": {"template": {"spec": {"containers": {}}}}}, STRATEGIC),
    "strategic-no-merge-key": Refused(
        "PATCH", WEB, {"spec": {"template": {"spec": {"containers": [{"image": "x"}]}}}}, STRATEGIC
    ),
    "json-patch-test-fails": Refused("PATCH", MAP, [{"op": "test", "path": "/data/a", "value": "2"}], JSON_PATCH),
    "json-patch-no-such-path": Refused("PATCH", MAP, [{"op": "remove", "path": "/data/b"}], JSON_PATCH),
    "force-without-apply": Refused("PATCH", MAP, {}, MERGE, (("force", "true"),)),
    "apply-without-manager": Refused("PATCH", MAP, {"apiVersion": "v1", "kind": "ConfigMap"}, APPLY),
    "apply-without-type": Refused("PATCH", MAP, {"metadata": {"name": "there"}}, APPLY, (("fieldManager", "one"),)),
    "apply-with-managed-fields": Refused(
        "PATCH",
        MAP,
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"managedFields": [{"manager": "x"}]}},
        APPLY,
        (("fieldManager", "one"),),
    ),
    "apply-conflict": Refused(
        "PATCH", MAP, {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "2"}}, APPLY, (("fieldManager", "one"),)
    ),
    "apply-conflicts": Refused(
        "PATCH",
        WEB,
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "spec": {
                "replicas": 3,
                "template": {"spec": {"containers": [{"name": "web", "image": "web:2"}]}},
            },
        },
        APPLY,
        (("fieldManager", "one"),),
    ),
    "apply-unknown-field": Refused(
        "PATCH", MAP, {"apiVersion": "v1", "kind": "ConfigMap", "dta": {}}, APPLY, (("fieldManager", "one"),)
    ),
    "delete-other-uid": Refused("DELETE", MAP, {"preconditions": {"uid": "1234"}}),
    "delete-other-version": Refused("DELETE", MAP, {"preconditions": {"resourceVersion": "1"}}),
    "delete-bad-propagation": Refused("DELETE", MAP, {"propagationPolicy": "Sideways"}),
    "delete-orphans-twice": Refused("DELETE", MAP, {"propagationPolicy": "Orphan", "orphanDependents": True}),
    "put-collection": Refused("PUT", MAPS, {}),
    "post-object": Refused("POST", MAP, {}),
    "list-bad-label-selector": Refused("GET", MAPS, query=(("labelSelector", "a in (b"),)),
    "list-bad-field": Refused("GET", MAPS, query=(("fieldSelector", "data.a=1"),)),
    "list-bad-field-selector": Refused("GET", MAPS, query=(("fieldSelector", "metadata.name"),)),
    "list-bad-continue": Refused("GET", MAPS, query=(("limit", 1), ("continue", "nonsense"))),
    "list-bad-limit": Refused("GET", MAPS, query=(("limit", "some"),)),
    "list-bad-version": Refused("GET", MAPS, query=(("resourceVersion", "newest"),)),
    "list-match-without-version": Refused("GET", MAPS, query=(("resourceVersionMatch", "Exact"),)),
    "list-bad-match": Refused("GET", MAPS, query=(("resourceVersion", "1"), ("resourceVersionMatch", "About"))),
    "watch-initial-events-alone": Refused("GET", MAPS, query=(("watch", "1"), ("sendInitialEvents", "true"))),
    "watch-bad-version": Refused("GET", MAPS, query=(("watch", "1"), ("resourceVersion", "newest"))),
    "deployment-empty": Refused("POST", ("deployments",), {"metadata": {"name": "new"}}),
    "deployment-no-spec": Refused("POST", ("deployments",), {"metadata": {"name": "new"}, "spec": {}}),
    "deployment-other-labels": Refused(
        "POST", ("deployments",), a_deployment(selector={"matchLabels": {"app": "other"}})
    ),
    "deployment-negative": Refused("POST", ("deployments",), a_deployment(replicas=-1)),
    "deployment-text-for-number": Refused("POST", ("deployments",), a_deployment(replicas="3")),
    "deployment-no-image": Refused("POST", ("deployments",), a_deployment(**containers({"name": "web"}))),
    "deployment-bad-container-name": Refused(
        "POST", ("deployments",), a_deployment(**containers({"name": "Web", "image": "web:1"}))
    ),
    "deployment-same-containers": Refused(
        "POST",
        ("deployments",),
        a_deployment(**containers({"name": "web", "image": "web:1"}, {"name": "web", "image": "web:2"})),
    ),
    "deployment-bad-restart-policy": Refused(
        "POST", ("deployments",), a_deployment(**containers({"name": "web", "image": "web:1"}, restartPolicy="Never"))
    ),
    "deployment-bad-quantity": Refused(
        "POST",
        ("deployments",),
        a_deployment(**containers({"name": "web", "image": "web:1", "resources": {"limits": {"cpu": "much"}}})),
    ),
    "deployment-mount-without-volume": Refused(
        "POST",
        ("deployments",),
        a_deployment(
            **containers({"name": "web", "image": "web:1", "volumeMounts": [{"name": "data", "mountPath": "/data"}]})
        ),
    ),
    "deployment-selector-changed": Refused(
        "PATCH",
        WEB,
        {
            "spec": {
                "selector": {"matchLabels": {"app": "new"}},
                "template": {"metadata": {"labels": {"app": "new"}}},
            }
        },
        MERGE,
    ),
    "service-no-ports": Refused("POST", ("services",), {"metadata": {"name": "new"}, "spec": {}}),
    "service-bad-port": Refused(
        "POST", ("services",), {"metadata": {"name": "new"}, "spec": {"ports": [{"port": 70000}]}}
    ),
    "service-unnamed-ports": Refused(
        "POST", ("services",), {"metadata": {"name": "new"}, "spec": {"ports": [{"port": 80}, {"port": 81}]}}
    ),
    "service-bad-type": Refused(
        "POST", ("services",), {"metadata": {"name": "new"}, "spec": {"type": "Magic", "ports": [{"port": 80}]}}
    ),
    "service-bad-name": Refused(
        "POST", ("services",), {"metadata": {"name": "1.new"}, "spec": {"ports": [{"port": 80}]}}
    ),
    "service-address-changed": Refused("PATCH", ("services", "web"), {"spec": {"clusterIP": "10.96.200.7"}}, MERGE),
    "secret-bad-base64": Refused("POST", ("secrets",), {"metadata": {"name": "new"}, "data": {"a": "%"}}),
    "secret-type-changed": Refused("PATCH", ("secrets", "key"), {"type": "other"}, MERGE),
    "job-template-changed": Refused(
        "PATCH",
        ("jobs", "once"),
        {"spec": {"template": {"spec": {"containers": [{"name": "once", "image": "once:2"}]}}}},
        MERGE,
    ),
    "job-bad-restart-policy": Refused("POST", ("jobs",), {"metadata": {"name": "new"}, "spec": {"template": POD}}),
    "cronjob-bad-schedule": Refused(
        "POST",
        ("cronjobs",),
        {
            "metadata": {"name": "new"},
            "spec": {
                "schedule": "now",
                "jobTemplate": {
                    "spec": {"template": {"spec": {**POD["spec"], "restartPolicy": "Never"}}},
                },
            },
        },
    ),
    "stateful-set-changed": Refused("PATCH", ("statefulsets", "db"), {"spec": {"serviceName": "other"}}, MERGE),
    "claim-changed": Refused("PATCH", ("persistentvolumeclaims", "disk"), {"spec": {"accessModes": []}}, MERGE),
    "role-binding-role-changed": Refused("PATCH", ("rolebindings", "reads"), {"roleRef": {"name": "other"}}, MERGE),
    "ingress-no-path-type": Refused(
        "POST",
        ("ingresses",),
        {
            "metadata": {"name": "new"},
            "spec": {
                "rules": [
                    {
                        "http": {
                            "paths": [{"path": "/", "backend": {"service": {"name": "web", "port": {"number": 80}}}}]
                        }
                    }
                ]
            },
        },
    ),
    "scaler-without-target": Refused(
        "POST", ("horizontalpodautoscalers",), {"metadata": {"name": "new"}, "spec": {"maxReplicas": 0}}
    ),
    "network-policy-bad-type": Refused(
        "POST", ("networkpolicies",), {"metadata": {"name": "new"}, "spec": {"policyTypes": ["Sideways"]}}
    ),
    "budget-both": Refused(
        "POST",
        ("poddisruptionbudgets",),
        {"metadata": {"name": "new"}, "spec": {"minAvailable": 1, "maxUnavailable": 1}},
    ),
    "namespace-bad-name": Refused("POST", ("/namespaces",), {"metadata": {"name": "a.b"}}),
    "definition-bad-name": Refused(
        "POST",
        ("/customresourcedefinitions",),
        {
            "metadata": {"name": "gadgets.example.com"},
            "spec": {
                "group": "example.com",
                "scope": "Namespaced",
                "names": {"plural": "widgets", "kind": "Widget"},
                "versions": [{"name": "v1", "served": True, "storage": True}],
            },
        },
    ),
}
"""Places that begin with a slash are in no namespace."""


IN_OTHER_WORDS = {
    "list-bad-label-selector": "selector-words",
    "list-bad-continue": "selector-words",
    "strategic-wrong-type": "strategic-words",
    "strategic-wrong-list": "strategic-words",
    "strategic-no-merge-key": "strategic-words",
    "merge-wrong-type": "merged-order",
    "job-template-changed": "go-values",
    "claim-changed": "go-values",
}
"""What the sandbox refuses in words of its own, and the difference that says why."""


def name_with_difference(name: str) -> Any:
    difference = IN_OTHER_WORDS.get(name)
    return pytest.param(name, marks=differs(difference)) if difference else name


def prepare(client: Client, namespace: str) -> None:
    """Make what the requests are about."""
    once = {**POD, "spec": {**POD["spec"], "restartPolicy": "Never"}}
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}
    for resource, body in (
        ("configmaps", {"metadata": {"name": "there"}, "data": {"a": "1"}}),
        ("configmaps", {"metadata": {"name": "fixed"}, "data": {"a": "1"}, "immutable": True}),
        ("deployments", {"metadata": {"name": "web"}, "spec": {**SPEC, "replicas": 0}}),
        ("services", {"metadata": {"name": "web"}, "spec": {"ports": [{"port": 80}]}}),
        ("secrets", {"metadata": {"name": "key"}, "data": {"a": "MQ=="}}),
        ("jobs", {"metadata": {"name": "once"}, "spec": {"template": once, "suspend": True}}),
        ("statefulsets", {"metadata": {"name": "db"}, "spec": {**SPEC, "serviceName": "db", "replicas": 0}}),
        ("persistentvolumeclaims", {"metadata": {"name": "disk"}, "spec": claim}),
        ("rolebindings", {"metadata": {"name": "reads"}, "roleRef": role}),
    ):
        client.made(path(resource, namespace), body)


@pytest.fixture(scope="session")
def prepared() -> Callable[[Server], str]:
    """Gives the namespace with what the requests are about; one for all, as nothing that is refused changes it."""

    namespaces: dict[Server, str] = {}

    def prepare_once(server: Server) -> str:
        if server not in namespaces:
            namespaces[server] = new_namespace(server)
            prepare(server.client, namespaces[server])
        return namespaces[server]

    return prepare_once


def ask(client: Client, namespace: str, refused: Refused) -> Any:
    resource, *rest = refused.place
    where = path(resource.removeprefix("/"), "" if resource.startswith("/") else namespace, *rest)
    headers = {"Content-Type": refused.content_type}
    answer = client.ask(refused.method, where, refused.body, headers=headers, **dict(refused.query))
    assert answer.status >= 400, answer.data
    assert answer.headers["Content-Type"] == "application/json"
    return golden.stable(answer.body, namespace)


@pytest.mark.parametrize("name", [name_with_difference(name) for name in REFUSED])
def test_a_refusal_reads_the_same(server: Server, prepared: Callable[[Server], str], name: str) -> None:
    answer = ask(server.client, prepared(server), REFUSED[name])
    golden.check(f"refusals/{name}", answer, real=server.real)


@pytest.mark.parametrize("name", IN_OTHER_WORDS)
def test_a_refusal_in_other_words_has_the_same_code_reason_and_fields(
    sandbox_server: Server, prepared: Callable[[Server], str], name: str
) -> None:
    answer = ask(sandbox_server.client, prepared(sandbox_server), REFUSED[name])
    assert essence(answer) == essence(golden.read(f"refusals/{name}"))


def essence(status: Any) -> Any:
    causes = (status.get("details") or {}).get("causes", [])
    return status["code"], status.get("reason"), [(cause.get("field"), cause.get("reason")) for cause in causes]
