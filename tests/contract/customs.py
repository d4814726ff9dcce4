"""Kinds of the tests' own."""

from __future__ import annotations

import secrets
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.contract.client import path
from tests.support.daemon import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.contract.client import Client

DEFINITIONS = path("customresourcedefinitions")

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "required": ["size"],
            "properties": {
                "size": {"type": "integer", "minimum": 1, "maximum": 9},
                "colour": {"type": "string", "enum": ["red", "blue"], "default": "red"},
                "code": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 5},
                "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
                "ports": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["port", "protocol"],
                    "items": {
                        "type": "object",
                        "required": ["port"],
                        "properties": {
                            "port": {"type": "integer"},
                            "protocol": {"type": "string", "default": "TCP"},
                            "name": {"type": "string"},
                        },
                    },
                },
                "plain": {"type": "array", "items": {"type": "integer"}},
                "atom": {
                    "type": "object",
                    "x-kubernetes-map-type": "atomic",
                    "additionalProperties": {"type": "string"},
                },
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "either": {"x-kubernetes-int-or-string": True},
                "maybe": {"type": "string", "nullable": True},
                "fixed": {
                    "type": "string",
                    "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "fixed is fixed"}],
                },
            },
            "x-kubernetes-validations": [
                {"rule": "!has(self.code) || self.size > 1", "message": "a code needs a size above 1"}
            ],
        },
        "status": {
            "type": "object",
            "properties": {"ready": {"type": "boolean"}, "replicas": {"type": "integer"}},
        },
    },
}


class Custom(NamedTuple):
    """A custom kind that is served.

    Attributes:
        group: A group that no other test has.
        plural: Always ``widgets``.
    """

    group: str
    plural: str = "widgets"

    @property
    def api_version(self) -> str:
        """What its objects say."""
        return f"{self.group}/v1"

    @property
    def definition(self) -> str:
        """Where its definition is."""
        return f"{DEFINITIONS}/{self.plural}.{self.group}"

    def path(self, namespace: str, name: str = "", subresource: str = "") -> str:
        """Where its objects are."""
        return path(f"{self.plural}.{self.group}/v1", namespace, name, subresource)

    def manifest(self, name: str = "one", **spec: Any) -> dict[str, Any]:
        """One of its objects."""
        return {
            "apiVersion": self.api_version,
            "kind": "Widget",
            "metadata": {"name": name},
            "spec": {"size": 1, **spec},
        }


def new_custom() -> Custom:
    """A kind that nobody has defined yet."""
    return Custom(f"{secrets.token_hex(4)}.example.com")


def definition(custom: Custom, *, version: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    """The definition of a kind.

    Args:
        custom: The kind.
        version: Fields of its one version to change.
        **spec: Fields of the spec to change.
    """
    first = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": SCHEMA},
        "subresources": {
            "status": {},
            "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.replicas"},
        },
        "additionalPrinterColumns": [
            {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
            {"name": "Colour", "type": "string", "jsonPath": ".spec.colour", "priority": 1},
            {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
        ],
    }
    names = {"plural": custom.plural, "kind": "Widget", "shortNames": ["wg"], "categories": ["things"]}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{custom.plural}.{custom.group}"},
        "spec": {
            "group": custom.group,
            "scope": "Namespaced",
            "names": names,
            "versions": [{**first, **(version or {})}],
            **spec,
        },
    }


def condition(found: dict[str, Any], kind: str) -> str:
    """The status of a condition; "" when it is not there."""
    conditions = found.get("status", {}).get("conditions") or ()
    return next((item["status"] for item in conditions if item["type"] == kind), "")


def wait_served(client: Client, custom: Custom) -> None:
    """Wait until a definition is established and its objects can be made and read."""
    eventually("it is established", lambda: condition(client.get(custom.definition).body, "Established") == "True")
    eventually("it is served", lambda: client.get(custom.path("")).status == 200)


def wait_published(client: Client, custom: Custom) -> None:
    """Wait until a served kind is in the documents that clients like kubectl begin with; they come a little later."""
    everything = {"Accept": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}

    def discovered() -> bool:
        return custom.group in client.ask("GET", "/apis", headers=everything).data.decode()

    def described() -> bool:
        return f"apis/{custom.group}/v1" in client.get("/openapi/v3").body["paths"]

    eventually("it is discovered", discovered)
    eventually("it is described", described)


@contextmanager
def defined(client: Client, **changes: Any) -> Iterator[Custom]:
    """A kind, until the end of the block; nobody waits until it has gone."""
    custom = new_custom()
    client.made(DEFINITIONS, definition(custom, **changes))
    try:
        wait_served(client, custom)
        yield custom
    finally:
        client.delete(custom.definition)
