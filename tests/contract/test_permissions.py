"""What somebody sees who may not: the refusals of RBAC word for word, access reviews, and impersonation.

A sandbox has one user, so all of this is a documented difference; what holds there is that every review says yes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.contract import golden
from tests.contract.client import APPLY, JSON, MERGE, path
from tests.contract.differences import differs
from tests.support.daemon import eventually

if TYPE_CHECKING:
    from tests.contract.client import Answer, Client
    from tests.contract.servers import Server

STRANGER = "stranger"
MAP: dict[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "there"}}
REVIEW = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"

FORBIDDEN: dict[str, tuple[str, tuple[str, ...], Any, str, dict[str, str]]] = {
    "get": ("GET", ("configmaps", "there"), None, JSON, {}),
    "list": ("GET", ("configmaps",), None, JSON, {}),
    "watch": ("GET", ("configmaps",), None, JSON, {"watch": "true", "timeoutSeconds": "1"}),
    "create": ("POST", ("configmaps",), MAP, JSON, {}),
    "update": ("PUT", ("configmaps", "there"), MAP, JSON, {}),
    "patch": ("PATCH", ("configmaps", "there"), {}, MERGE, {}),
    "apply": ("PATCH", ("configmaps", "there"), MAP, APPLY, {"fieldManager": "one"}),
    "delete": ("DELETE", ("configmaps", "there"), None, JSON, {}),
    "delete-collection": ("DELETE", ("configmaps",), None, JSON, {}),
    "dry-run": ("POST", ("configmaps",), MAP, JSON, {"dryRun": "All"}),
    "get-in-group": ("GET", ("deployments", "web"), None, JSON, {}),
    "patch-subresource": ("PATCH", ("deployments", "web", "scale"), {}, MERGE, {}),
    "get-secret": ("GET", ("secrets", "key"), None, JSON, {}),
    "list-unknown": ("GET", ("gadgets.example.com/v1",), None, JSON, {}),
}


def ask_as(client: Client, user: str, method: str, where: str, body: Any = None, **query: Any) -> Answer:
    headers = {"Impersonate-User": user}
    content = query.pop("content_type", JSON)
    return client.ask(method, where, body, headers={**headers, "Content-Type": content}, **query)


def allow(client: Client, namespace: str, user: str, *rules: dict[str, Any]) -> None:
    """Let a user do something, and wait until the server knows."""
    name = f"of-{user.rpartition(':')[2]}"
    client.made(path("roles", namespace), {"metadata": {"name": name}, "rules": list(rules)})
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name}
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}
    client.made(path("rolebindings", namespace), {"metadata": {"name": name}, "roleRef": role, "subjects": [subject]})
    rule = rules[0]
    asked = {"namespace": namespace, "verb": rule["verbs"][0], "resource": rule["resources"][0]}
    asked["group"], asked["name"] = rule["apiGroups"][0], rule.get("resourceNames", [""])[0]
    eventually("the role counts", lambda: review(client, user, **asked)["allowed"])


def review(client: Client, user: str, **asked: str) -> dict[str, Any]:
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview"}
    answer = ask_as(client, user, "POST", REVIEW, {**body, "spec": {"resourceAttributes": asked}})
    assert answer.status == 201, answer.data
    found: dict[str, Any] = answer.body["status"]
    return found


@differs("users")
@pytest.mark.parametrize("name", FORBIDDEN)
def test_a_refusal_names_user_verb_resource_group_and_namespace(
    server: Server, client: Client, namespace: str, name: str
) -> None:
    method, (resource, *rest), body, content_type, query = FORBIDDEN[name]
    where = path(resource, namespace, *rest)
    answer = ask_as(client, STRANGER, method, where, body, content_type=content_type, **query)
    assert answer.status == 403
    golden.check(f"forbidden/{name}", golden.stable(answer.body, namespace), real=server.real)


@differs("users")
@pytest.mark.parametrize(
    ("name", "where"),
    [("list-everywhere", path("configmaps")), ("get-node", "/api/v1/nodes/node-1"), ("get-path", "/metrics")],
)
def test_a_refusal_without_a_namespace_says_so(server: Server, client: Client, name: str, where: str) -> None:
    answer = ask_as(client, STRANGER, "GET", where)
    assert answer.status == 403
    golden.check(f"forbidden/{name}", golden.stable(answer.body), real=server.real)


@differs("users")
def test_a_role_allows_what_it_says_and_nothing_else(client: Client, namespace: str) -> None:
    client.made(path("configmaps", namespace), MAP)
    allow(client, namespace, "reader", {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]})
    there = path("configmaps", namespace, "there")
    assert ask_as(client, "reader", "GET", there).status == 200
    assert ask_as(client, "reader", "GET", path("configmaps", namespace)).status == 200
    assert ask_as(client, "reader", "GET", path("configmaps", namespace), watch="true", timeoutSeconds=1).status == 403
    assert ask_as(client, "reader", "PATCH", there, {}, content_type=MERGE).status == 403
    assert ask_as(client, "reader", "GET", path("configmaps")).status == 403
    assert ask_as(client, "reader", "GET", path("configmaps", "default")).status == 403


@differs("users")
def test_a_role_may_be_about_one_object(client: Client, namespace: str) -> None:
    rule = {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["there"], "verbs": ["get"]}
    client.made(path("configmaps", namespace), MAP)
    allow(client, namespace, "narrow", rule)
    assert ask_as(client, "narrow", "GET", path("configmaps", namespace, "there")).status == 200
    assert ask_as(client, "narrow", "GET", path("configmaps", namespace, "other")).status == 403


@differs("users")
def test_nobody_grants_more_than_they_have(server: Server, client: Client, namespace: str) -> None:
    allow(
        client,
        namespace,
        "granter",
        {"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles"], "verbs": ["create"]},
    )
    rule = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}
    answer = ask_as(client, "granter", "POST", path("roles", namespace), {"metadata": {"name": "all"}, "rules": [rule]})
    assert answer.status == 403
    golden.check("forbidden/escalation", golden.stable(answer.body, namespace), real=server.real)


@differs("users")
def test_an_access_review_says_no_to_who_may_not(client: Client, namespace: str) -> None:
    assert review(client, STRANGER, namespace=namespace, verb="get", resource="configmaps") == {"allowed": False}


@differs("users")
def test_kubectl_says_what_others_may(server: Server, namespace: str) -> None:
    done = server.kubectl.try_run("auth", "can-i", "get", "configmaps", "-n", namespace, "--as", STRANGER)
    assert (done.stdout, done.returncode) == ("no\n", 1)


@differs("users")
def test_kubectl_shows_a_refusal(server: Server, namespace: str) -> None:
    done = server.kubectl.try_run("get", "configmaps", "-n", namespace, "--as", STRANGER)
    assert done.stderr == (
        'Error from server (Forbidden): configmaps is forbidden: User "stranger" cannot list resource "configmaps" in '
        f'API group "" in the namespace "{namespace}"\n'
    )


@differs("users")
def test_a_service_account_that_is_impersonated_has_its_groups(client: Client, namespace: str) -> None:
    user = f"system:serviceaccount:{namespace}:default"
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    answer = ask_as(client, user, "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", body)
    told = answer.body["status"]["userInfo"]
    groups = {"system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated"}
    assert (told["username"], set(told["groups"])) == (user, groups)


def test_a_review_says_yes_to_who_may_do_everything(client: Client, namespace: str) -> None:
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview"}
    asked = {"namespace": namespace, "verb": "delete", "resource": "configmaps"}
    answer = client.create(REVIEW, {**body, "spec": {"resourceAttributes": asked}})
    assert (answer.status, answer.body["status"]["allowed"]) == (201, True)
    assert answer.body["spec"] == {"resourceAttributes": asked}
