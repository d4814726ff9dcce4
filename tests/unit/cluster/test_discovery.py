from __future__ import annotations

from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from syncd.cluster.discovery import Discovery, Resource
from syncd.cluster.errors import ApiError, MalformedResponseError
from syncd.model import GroupKind
from tests.faults.cluster.fakeapi import Exchange, FakeAPI, transport_to

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Answers = dict[str, Any]


def entry(kind: str, plural: str, scope: str = "Namespaced", verbs: tuple[str, ...] = ("list", "watch")) -> Answers:
    response_kind = {"group": "", "version": "", "kind": kind}
    subresources = [{"subresource": "status", "responseKind": response_kind, "verbs": ["get"]}]
    return {
        "resource": plural,
        "responseKind": response_kind,
        "scope": scope,
        "verbs": list(verbs),
        "subresources": subresources,
    }


Group = tuple[str, list[tuple[str, list[Answers], str]]]


def aggregated(*groups: Group) -> Answers:
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "items": [
            {
                "metadata": {"name": name} if name else {},
                "versions": [
                    {"version": version, "resources": resources, "freshness": freshness}
                    for version, resources, freshness in versions
                ],
            }
            for name, versions in groups
        ],
    }


CORE = aggregated(("", [("v1", [entry("ConfigMap", "configmaps"), entry("Node", "nodes", "Cluster")], "Current")]))
APPS = ("apps", [("v1", [entry("Deployment", "deployments")], "Current")])
NETWORK = (
    "networking.k8s.io",
    [("v1", [entry("Ingress", "ingresses")], "Current"), ("v1beta1", [entry("Ingress", "ingresses")], "Current")],
)


@contextmanager
def discovery_of(answer: Callable[[Exchange], None]) -> Iterator[tuple[Discovery, FakeAPI]]:
    with FakeAPI(answer) as server, closing(transport_to(server.url)) as transport:
        yield Discovery(transport), server


def answers(table: Answers) -> Callable[[Exchange], None]:
    def handler(exchange: Exchange) -> None:
        found = table.get(exchange.request.path)
        if isinstance(found, int):
            exchange.status(found, "ServiceUnavailable")
        elif found is None:
            exchange.status(404, "NotFound")
        else:
            exchange.reply(found)

    return handler


def test_aggregated_discovery_takes_two_requests() -> None:
    with discovery_of(answers({"/api": CORE, "/apis": aggregated(APPS, NETWORK)})) as (discovery, server):
        known = discovery.resources()
        assert discovery.resources() is known
    assert len(server.requests) == 2
    assert "as=APIGroupDiscoveryList" in server.requests[0].headers["Accept"]
    assert known.complete
    deployment = known.find(GroupKind("apps", "Deployment"))
    assert deployment == Resource("apps", "v1", "Deployment", "deployments", True, frozenset({"list", "watch"}))
    node = known.find(GroupKind("", "Node"))
    assert node is not None
    assert not node.namespaced


def test_the_preferred_version_is_found_and_each_version_by_name() -> None:
    with discovery_of(answers({"/api": CORE, "/apis": aggregated(NETWORK)})) as (discovery, _):
        known = discovery.resources()
    preferred = known.find(GroupKind("networking.k8s.io", "Ingress"))
    assert preferred is not None
    assert preferred.version == "v1"
    other = known.find_version("networking.k8s.io", "v1beta1", "Ingress")
    assert other is not None
    assert other.version == "v1beta1"
    assert known.find_version("networking.k8s.io", "v2", "Ingress") is None


def test_a_kind_that_moved_is_found_under_its_other_group_when_asked_so() -> None:
    with discovery_of(answers({"/api": CORE, "/apis": aggregated(NETWORK)})) as (discovery, _):
        known = discovery.resources()
    old = GroupKind("extensions", "Ingress")
    assert known.find(old) is None
    moved = known.find_moved(old)
    assert moved is not None
    assert moved.group == "networking.k8s.io"
    assert known.find_moved(GroupKind("", "ConfigMap")) is None


def test_a_stale_group_makes_discovery_incomplete() -> None:
    stale: Group = ("metrics.k8s.io", [("v1beta1", [], "Stale")])
    with discovery_of(answers({"/api": CORE, "/apis": aggregated(APPS, stale)})) as (discovery, _):
        known = discovery.resources()
    assert not known.complete
    assert known.failed == ("metrics.k8s.io/v1beta1",)
    assert "does not answer" in known.failure("metrics.k8s.io")
    assert known.failure("apps") == ""


CLASSIC: Answers = {
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/api/v1": {
        "kind": "APIResourceList",
        "resources": [
            {"name": "pods", "kind": "Pod", "namespaced": True, "verbs": ["list"]},
            {"name": "pods/log", "kind": "Pod", "namespaced": True, "verbs": ["get"]},
        ],
    },
    "/apis": {
        "kind": "APIGroupList",
        "groups": [
            {
                "name": "batch",
                "versions": [{"version": "v1beta1"}, {"version": "v1"}],
                "preferredVersion": {"version": "v1"},
            }
        ],
    },
    "/apis/batch/v1": {"resources": [{"name": "jobs", "kind": "Job", "namespaced": True, "verbs": ["list"]}]},
    "/apis/batch/v1beta1": {"resources": [{"name": "jobs", "kind": "Job", "namespaced": True, "verbs": ["list"]}]},
}


def test_an_old_server_is_asked_version_by_version() -> None:
    with discovery_of(answers(CLASSIC)) as (discovery, _):
        known = discovery.resources()
    assert known.complete
    job = known.find(GroupKind("batch", "Job"))
    assert job is not None
    assert job.version == "v1"
    assert [resource.plural for resource in known if resource.kind == "Pod"] == ["pods"]


def test_a_version_that_fails_makes_an_old_servers_discovery_incomplete() -> None:
    with discovery_of(answers({**CLASSIC, "/apis/batch/v1": 503})) as (discovery, _):
        known = discovery.resources()
    assert known.failed == ("batch/v1",)


def test_what_was_known_of_a_version_outlives_its_failure_but_stays_doubtful() -> None:
    table = dict(CLASSIC)
    with discovery_of(answers(table)) as (discovery, _):
        discovery.resources()
        table["/apis/batch/v1"] = 503
        known = discovery.refresh()
    assert known.find(GroupKind("batch", "Job")) is not None
    assert not known.complete


def test_refresh_keeps_to_its_rate() -> None:
    with discovery_of(answers({"/api": CORE, "/apis": aggregated(APPS)})) as (discovery, server):
        discovery.refresh()
        discovery.refresh(min_age=60)
        assert len(server.requests) == 2
        discovery.refresh()
        assert len(server.requests) == 4


def test_an_unchanged_answer_is_not_sent_again() -> None:
    def handler(exchange: Exchange) -> None:
        if exchange.request.headers.get("If-None-Match") == '"1"':
            exchange.reply(b"", 304)
        else:
            body = CORE if exchange.request.path == "/api" else aggregated(APPS)
            exchange.reply(body, headers={"ETag": '"1"'})

    with discovery_of(handler) as (discovery, server):
        first = discovery.resources()
        assert discovery.refresh() == first
    assert len(server.requests) == 4


def test_a_failed_refresh_leaves_what_is_known() -> None:
    table: Answers = {"/api": CORE, "/apis": aggregated(APPS)}
    with discovery_of(answers(table)) as (discovery, _):
        known = discovery.resources()
        table["/apis"] = 503
        with pytest.raises(ApiError):
            discovery.refresh()
        assert discovery.resources() is known


def test_nonsense_is_refused() -> None:
    broken = {"kind": "APIGroupDiscoveryList", "items": [{"versions": [{"version": "v1", "resources": [{}, 3]}]}]}
    with (
        discovery_of(answers({"/api": broken, "/apis": broken})) as (discovery, _),
        pytest.raises(MalformedResponseError),
    ):
        discovery.resources()


def test_paths_name_namespace_and_object_where_they_apply() -> None:
    role = Resource("rbac.authorization.k8s.io", "v1", "Role", "roles", True)
    node = Resource("", "v1", "Node", "nodes", False)
    assert role.path("shop", "system:a/b") == "/apis/rbac.authorization.k8s.io/v1/namespaces/shop/roles/system:a%2Fb"
    assert role.path() == "/apis/rbac.authorization.k8s.io/v1/roles"
    assert node.path("ignored", "n1") == "/api/v1/nodes/n1"
    assert (role.api_version, node.api_version) == ("rbac.authorization.k8s.io/v1", "v1")
