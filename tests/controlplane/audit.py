"""The API server's audit log as a list of requests, so that a test can say how many there may be."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata"}],
}
"""Every request, without bodies: one line when it is answered, and for a watch one more when it ends."""

FLUSH_PATH = "/version?flush="
"""What the log's reader asks for to see its own request in the log; no result of it shows these requests."""

_NEAR_THE_END = 1_000_000


@dataclass(frozen=True)
class Request:
    """One request that the API server got.

    Attributes:
        verb: get, list, watch, create, update, patch, delete, deletecollection; the HTTP method for paths without
            resources, in lower case.
        user: Who asked.
        impersonated: On whose behalf, where that is somebody else; else empty.
        agent: The user agent that the client sent.
        group: API group of the resource; empty for the core group, and for paths without resources.
        resource: Plural name of the resource; empty for paths such as /readyz.
        subresource: Such as status or scale; else empty.
        namespace: Empty for objects in none.
        name: Empty for lists, watches, and creations where the server did not learn it from the path.
        code: The HTTP status.
        path: The path.
        query: What stands after the path's question mark.
        id: The server's own name for this request.
        received: When the server got it, in seconds since 1970.
        answered: When it had answered it (a watch: had begun to), by the same clock.
    """

    verb: str
    user: str
    impersonated: str
    agent: str
    group: str
    resource: str
    subresource: str
    namespace: str
    name: str
    code: int
    path: str
    query: str
    id: str
    received: float = 0.0
    answered: float = 0.0

    @property
    def kind(self) -> str:
        """The resource with its group and subresource, such as "deployments.apps/scale"; or else the path."""
        if not self.resource:
            return self.path
        resource = f"{self.resource}.{self.group}" if self.group else self.resource
        return f"{resource}/{self.subresource}" if self.subresource else resource

    @property
    def writes(self) -> bool:
        """Whether the verb is one that changes objects (a dry run counts: the server cannot tell beforehand)."""
        return self.verb in {"create", "update", "patch", "delete", "deletecollection"}

    @classmethod
    def of_event(cls, event: dict[str, Any]) -> Self:
        """Read one line of the log."""
        target = event.get("objectRef", {})
        path, _, query = event["requestURI"].partition("?")
        return cls(
            verb=event["verb"],
            user=event.get("user", {}).get("username", ""),
            impersonated=event.get("impersonatedUser", {}).get("username", ""),
            agent=event.get("userAgent", ""),
            group=target.get("apiGroup", ""),
            resource=target.get("resource", ""),
            subresource=target.get("subresource", ""),
            namespace=target.get("namespace", ""),
            name=target.get("name", ""),
            code=event.get("responseStatus", {}).get("code", 0),
            path=path,
            query=query,
            id=event["auditID"],
            received=datetime.fromisoformat(event["requestReceivedTimestamp"]).timestamp(),
            answered=datetime.fromisoformat(event["stageTimestamp"]).timestamp(),
        )


class Requests(tuple[Request, ...]):
    """Requests in the order in which the server answered them."""

    __slots__ = ()

    def where(self, *, agent: str | None = None, writes: bool | None = None, **exact: str | int) -> Requests:
        """Return those that match.

        Args:
            agent: A part of the user agent.
            writes: Only those that write, or only those that do not.
            **exact: The value of any attribute of a request: verb="patch", user="alice", kind="deployments.apps".
        """
        return Requests(
            request
            for request in self
            if (agent is None or agent in request.agent)
            and (writes is None or writes == request.writes)
            and all(getattr(request, name) == value for name, value in exact.items())
        )

    def counts(self, *attributes: str) -> Counter[tuple[Any, ...]]:
        """Count by attributes, by default by verb and kind: Counter({("get", "configmaps"): 3})."""
        names = attributes or ("verb", "kind")
        return Counter(tuple(getattr(request, name) for name in names) for request in self)


class AuditLog:
    """One API server's audit log, which grows while a test runs.

    Args:
        path: The file that the API server writes.
        flush: Makes sure that all requests answered so far are in the file, as far as the API server answers.
    """

    def __init__(self, path: Path, flush: Callable[[], None]) -> None:
        self._path = path
        self._flush = flush

    def mark(self) -> int:
        """Return the present end of the log, for `since`."""
        self._flush()
        return self._size()

    def since(self, mark: int) -> Requests:
        """Return the requests since a mark. A watch counts when it starts, all others when they are answered."""
        self._flush()
        return Requests(
            Request.of_event(event)
            for event in _started_or_done(self._events(mark))
            if not event["requestURI"].startswith(FLUSH_PATH)
        )

    def all(self) -> Requests:
        """Return all requests."""
        return self.since(0)

    def holds(self, text: str) -> bool:
        """Tell whether the log has a text near its end, where a fresh request must be."""
        with self._path.open("rb") as file:
            file.seek(max(0, self._size() - _NEAR_THE_END))
            return text.encode() in file.read()

    def _size(self) -> int:
        return self._path.stat().st_size if self._path.exists() else 0

    def _events(self, start: int) -> Iterator[dict[str, Any]]:
        with self._path.open("rb") as file:
            file.seek(start)
            for line in file:
                # The first line may be cut by the start, the last one because it is being written.
                if line.startswith(b"{") and line.endswith(b"}\n"):
                    yield json.loads(line)


def _started_or_done(events: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Leave one event of each request.

    A long-running request has one event when its answer starts and one when it ends; if only its end is here, it
    began before the mark.
    """
    seen = set()
    for event in events:
        ended_watch = event["verb"] == "watch" and event["stage"] == "ResponseComplete"
        if event["auditID"] not in seen and not ended_watch:
            seen.add(event["auditID"])
            yield event
