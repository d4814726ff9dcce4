"""What a request is about, read from its path: for metrics, for messages, and to know when Secrets are involved."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

_WRITES = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


class Target(NamedTuple):
    """The verb and the resource of a request, of few different values each."""

    verb: str
    """``get``, ``list``, ``watch``, ``create``, ``update``, ``patch`` or ``delete``."""
    group: str
    resource: str
    """The plural name, or for other paths their first part (``apis``, ``openapi``)."""

    @property
    def secret(self) -> bool:
        """Whether what is sent and answered holds secret data."""
        return not self.group and self.resource == "secrets"


def target_of(method: str, path: str, query: Mapping[str, str]) -> Target:
    """Read the target from a request's method, path (below the server's URL, without query) and query."""
    parts = path.strip("/").split("/")
    if parts[0] == "api" and len(parts) > 2:
        group, rest = "", parts[2:]
    elif parts[0] == "apis" and len(parts) > 3:
        group, rest = parts[1], parts[3:]
    else:
        return Target(_WRITES.get(method, "get"), "", parts[0])
    if rest[0] == "namespaces" and len(rest) > 2 and rest[2] not in ("status", "finalize"):
        rest = rest[2:]
    if method in _WRITES:
        verb = _WRITES[method]
    elif query.get("watch") in ("true", "1"):
        verb = "watch"
    else:
        verb = "get" if len(rest) > 1 else "list"
    return Target(verb, group, rest[0])
