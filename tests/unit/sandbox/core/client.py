"""The plainest of clients for a sandbox, and objects to send."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import orjson
import urllib3

if TYPE_CHECKING:
    from collections.abc import Iterator

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"


class Answer(NamedTuple):
    status: int
    data: Any
    headers: urllib3.HTTPHeaderDict

    @property
    def message(self) -> str:
        return str(self.data["message"])

    @property
    def version(self) -> str:
        return str(self.data["metadata"]["resourceVersion"])


class Http:
    """Requests to one server, by path."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.pool = urllib3.PoolManager(retries=False)

    def __call__(
        self, method: str, path: str, body: Any = None, content_type: str = "application/json", **headers: str
    ) -> Answer:
        data = body if isinstance(body, bytes) or body is None else orjson.dumps(body)
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if data is not None:
            sent["content-type"] = content_type
        response = self.pool.request(method, self.url + path, body=data, headers=sent, timeout=30)
        json = response.headers.get("content-type", "").startswith("application/json")
        return Answer(
            response.status, orjson.loads(response.data) if json and response.data else response.data, response.headers
        )

    def get(self, path: str, **headers: str) -> Answer:
        return self("GET", path, **headers)

    def post(self, path: str, body: Any, **headers: str) -> Answer:
        return self("POST", path, body, **headers)

    def put(self, path: str, body: Any) -> Answer:
        return self("PUT", path, body)

    def patch(self, path: str, body: Any, content_type: str = MERGE) -> Answer:
        return self("PATCH", path, body, content_type)

    def delete(self, path: str, body: Any = None) -> Answer:
        return self("DELETE", path, body)

    def watch(self, path: str) -> Iterator[dict[str, Any]]:
        """Open a watch; its events, until it ends or the caller closes the iterator."""
        response = self.pool.request("GET", self.url + path, preload_content=False, timeout=30)
        assert response.status == 200, response.data
        return _lines(response)


def _lines(response: urllib3.BaseHTTPResponse) -> Iterator[dict[str, Any]]:
    rest = b""
    try:
        for chunk in response.stream(amt=None):
            *lines, rest = (rest + chunk).split(b"\n")
            yield from (orjson.loads(line) for line in lines)
    finally:
        response.close()
        response.release_conn()


def config_map(name: str = "a", **fields: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}} | fields


def deployment(name: str = "web", replicas: int = 1) -> dict[str, Any]:
    labels = {"app": name}
    container = {"name": "main", "image": "nginx:1"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }


def definition(**version: Any) -> dict[str, Any]:
    """A CustomResourceDefinition ``widgets.example.com``."""
    schema = {
        "type": "object",
        "properties": {
            "spec": {"type": "object", "properties": {"size": {"type": "integer"}, "replicas": {"type": "integer"}}},
            "status": {"type": "object", "properties": {"replicas": {"type": "integer"}, "phase": {"type": "string"}}},
        },
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"kind": "Widget", "listKind": "WidgetList", "plural": "widgets", "singular": "widget"},
            "versions": [
                {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}} | version
            ],
        },
    }
