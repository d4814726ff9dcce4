from __future__ import annotations

import pytest

from syncd.cluster.target import Target, target_of


@pytest.mark.parametrize(
    ("method", "path", "query", "expected"),
    [
        ("GET", "/api/v1/namespaces/shop/configmaps/web", {}, Target("get", "", "configmaps")),
        ("GET", "/api/v1/configmaps", {"limit": "500"}, Target("list", "", "configmaps")),
        ("GET", "/apis/apps/v1/deployments", {"watch": "true"}, Target("watch", "apps", "deployments")),
        ("PATCH", "/apis/apps/v1/namespaces/a/deployments/b", {}, Target("patch", "apps", "deployments")),
        ("POST", "/api/v1/namespaces", {}, Target("create", "", "namespaces")),
        ("GET", "/api/v1/namespaces/shop", {}, Target("get", "", "namespaces")),
        ("PUT", "/api/v1/namespaces/shop/finalize", {}, Target("update", "", "namespaces")),
        ("DELETE", "/api/v1/namespaces/shop/secrets/db", {}, Target("delete", "", "secrets")),
        ("GET", "/apis", {}, Target("get", "", "apis")),
        ("GET", "/apis/apps/v1", {}, Target("get", "", "apis")),
        ("GET", "/openapi/v3/apis/apps/v1", {"hash": "x"}, Target("get", "", "openapi")),
        ("GET", "/version", {}, Target("get", "", "version")),
    ],
)
def test_the_target_is_read_from_the_path(method: str, path: str, query: dict[str, str], expected: Target) -> None:
    assert target_of(method, path, query) == expected


@pytest.mark.parametrize(
    ("path", "secret"),
    [
        ("/api/v1/namespaces/shop/secrets/db", True),
        ("/api/v1/secrets", True),
        ("/api/v1/namespaces/secrets", False),
        ("/api/v1/namespaces/secrets/configmaps/a", False),
        ("/apis/example.com/v1/secrets", False),
    ],
)
def test_secrets_are_known_by_their_path(path: str, *, secret: bool) -> None:
    assert target_of("GET", path, {}).secret is secret
