"""A client that knows HTTP and JSON and nothing else, so that what is tested is the server."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode

import urllib3

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

JSON = "application/json"
JSON_PATCH = "application/json-patch+json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"

SECONDS = 60
"""The deadline of every request; far more than any needs."""

_GROUPS = {
    "deployments": "apps/v1",
    "replicasets": "apps/v1",
    "statefulsets": "apps/v1",
    "daemonsets": "apps/v1",
    "jobs": "batch/v1",
    "cronjobs": "batch/v1",
    "horizontalpodautoscalers": "autoscaling/v2",
    "ingresses": "networking.k8s.io/v1",
    "networkpolicies": "networking.k8s.io/v1",
    "ingressclasses": "networking.k8s.io/v1",
    "poddisruptionbudgets": "policy/v1",
    "roles": "rbac.authorization.k8s.io/v1",
    "rolebindings": "rbac.authorization.k8s.io/v1",
    "clusterroles": "rbac.authorization.k8s.io/v1",
    "clusterrolebindings": "rbac.authorization.k8s.io/v1",
    "priorityclasses": "scheduling.k8s.io/v1",
    "storageclasses": "storage.k8s.io/v1",
    "endpointslices": "discovery.k8s.io/v1",
    "leases": "coordination.k8s.io/v1",
    "customresourcedefinitions": "apiextensions.k8s.io/v1",
    "mutatingwebhookconfigurations": "admissionregistration.k8s.io/v1",
    "validatingwebhookconfigurations": "admissionregistration.k8s.io/v1",
}


def path(resource: str, namespace: str = "", name: str = "", subresource: str = "") -> str:
    """Where objects of a resource are; the group of a custom one follows it: ``widgets.example.com/v1``."""
    plural, _, group = resource.partition(".")
    group = group or _GROUPS.get(plural, "")
    root = f"/apis/{group}" if group else "/api/v1"
    place = f"/namespaces/{namespace}" if namespace else ""
    return f"{root}{place}/{plural}" + "".join(f"/{part}" for part in (name, subresource) if part)


class Answer(NamedTuple):
    """What the server said."""

    status: int
    headers: urllib3.HTTPHeaderDict
    data: bytes

    @property
    def body(self) -> Any:
        """The parsed JSON."""
        return json.loads(self.data)

    @property
    def message(self) -> str:
        """The message of a Status."""
        return str(self.body["message"])

    @property
    def reason(self) -> str:
        """The reason of a Status; "" when there is none."""
        return str(self.body.get("reason", ""))

    @property
    def warnings(self) -> list[str]:
        """The warnings that came with it, sorted."""
        return sorted(self.headers.getlist("Warning"))


class Client:
    """Requests of one user to one server.

    Args:
        server: Its URL.
        authority: The file with its certificate authority, for HTTPS.
        token: A bearer token; none when empty.
    """

    def __init__(self, server: str, authority: Path | None = None, token: str = "") -> None:
        self.server = server
        headers = {"Accept": JSON, "User-Agent": "contract/1"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        self._pool = urllib3.PoolManager(headers=headers, retries=False, ca_certs=str(authority) if authority else None)

    def close(self) -> None:
        """Close the connections."""
        self._pool.clear()

    def ask(
        self,
        method: str,
        where: str,
        body: Any = None,
        *,
        headers: Mapping[str, str] | None = None,
        **query: Any,
    ) -> Answer:
        """Send one request, and give the answer whatever its status.

        Args:
            method: The HTTP method.
            where: The path.
            body: Sent as JSON; bytes and text as they are.
            headers: More headers, such as ``Accept``.
            **query: Parameters of the query.
        """
        response = self._pool.request(
            method,
            self.server + where + (f"?{urlencode(query)}" if query else ""),
            body=_encoded(body),
            headers={**self._pool.headers, "Content-Type": JSON, **(headers or {})},
            timeout=SECONDS,
        )
        return Answer(response.status, response.headers, response.data)

    def get(self, where: str, **query: Any) -> Answer:
        """Read an object or a list."""
        return self.ask("GET", where, **query)

    def create(self, where: str, body: Any, **query: Any) -> Answer:
        """POST an object."""
        return self.ask("POST", where, body, **query)

    def replace(self, where: str, body: Any, **query: Any) -> Answer:
        """PUT an object."""
        return self.ask("PUT", where, body, **query)

    def patch(self, where: str, body: Any, kind: str = MERGE, **query: Any) -> Answer:
        """Send a patch of one of the four types."""
        return self.ask("PATCH", where, body, headers={"Content-Type": kind}, **query)

    def apply(self, where: str, body: Any, manager: str = "one", **query: Any) -> Answer:
        """Send a configuration for server-side apply."""
        return self.patch(where, body, APPLY, fieldManager=manager, **query)

    def delete(self, where: str, body: Any = None, **query: Any) -> Answer:
        """Delete an object or a collection; the body is DeleteOptions."""
        return self.ask("DELETE", where, body, **query)

    def made(self, where: str, body: Any, **query: Any) -> Any:
        """Create an object that must be created, and give it as it was answered."""
        answer = self.create(where, body, **query)
        assert answer.status == 201, answer.data
        return answer.body

    @contextmanager
    def watch(self, where: str, **query: Any) -> Iterator[Iterator[dict[str, Any]]]:
        """Watch a collection: the events, one after the other; ``timeoutSeconds`` is 60 unless it is given."""
        query = {"watch": "true", "timeoutSeconds": SECONDS, **query}
        address = f"{self.server}{where}?{urlencode(query)}"
        response = self._pool.request("GET", address, preload_content=False, timeout=SECONDS * 2)
        try:
            assert response.status == 200, response.read()
            yield _events(response)
        finally:
            response.close()

    def events(self, where: str, count: int, **query: Any) -> list[dict[str, Any]]:
        """The first so many events of a watch."""
        with self.watch(where, **query) as events:
            return [next(events) for _ in range(count)]


def _encoded(body: Any) -> bytes | None:
    if body is None or isinstance(body, bytes):
        return body
    return body.encode() if isinstance(body, str) else json.dumps(body).encode()


def _events(response: urllib3.BaseHTTPResponse) -> Iterator[dict[str, Any]]:
    rest = b""
    for chunk in response.stream(65536):
        *lines, rest = (rest + chunk).split(b"\n")
        yield from (json.loads(line) for line in lines)
