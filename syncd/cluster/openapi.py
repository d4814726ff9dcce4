"""How the lists of each kind merge, by the schemas that the API server itself publishes.

OpenAPI v3 has one document for each group and version, at an address that holds its hash, so a document is fetched once
and again only when it changes. Most of a document is prose for people, and paths; what is left is kept, and shared by
the schemas of all its kinds.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, urlsplit

import structlog

from syncd.merge.schema import bundled, from_openapi_v3
from syncd.model import SyncdError

if TYPE_CHECKING:
    from syncd.cluster.discovery import Resource
    from syncd.cluster.transport import Transport
    from syncd.merge.schema import PatchSchema
    from syncd.model import JSONObject, JSONValue

log = structlog.get_logger("syncd.cluster")

INDEX_AGE: Final = 60.0
"""Seconds for which the list of documents is believed; asked for only when a schema is."""
RETRY_AGE: Final = 5.0
"""Seconds after which a list that lacks a group and version, or could not be had, is asked for again."""
TIMEOUT: Final = 10.0
_PROSE: Final = frozenset({"description", "title", "x-kubernetes-validations"})


class Schemas:
    """The schemas of one API server. Safe to use from many threads; one of them fetches at a time."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._lock = threading.Lock()
        self._index: dict[str, str] = {}
        self._asked_at = float("-inf")
        self._documents: dict[str, JSONObject] = {}
        self._schemas: dict[tuple[str, str], PatchSchema | None] = {}
        """By address (which holds the hash) and kind."""

    def schema_for(self, resource: Resource) -> PatchSchema | None:
        """The schema of a kind: the server's, or else the one bundled with syncd, or else None.

        Never fails: without a schema lists merge by convention, which is better than not at all.
        """
        try:
            with self._lock:
                schema = self._live(resource)
        except SyncdError as error:
            log.warning("no schema from the API server", kind=str(resource.group_kind), error=str(error))
            schema = None
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            log.warning("a schema that makes no sense", kind=str(resource.group_kind), error=repr(error))
            schema = None
        return schema or bundled(resource.group, resource.version, resource.kind)

    def _live(self, resource: Resource) -> PatchSchema | None:
        address = self._address(resource)
        if not address:
            return None
        known = (address, resource.kind)
        if known not in self._schemas:
            self._schemas[known] = from_openapi_v3(
                self._document(address), resource.group, resource.version, resource.kind
            )
        return self._schemas[known]

    def _address(self, resource: Resource) -> str:
        """Where the document of a group and version is now; "" when the server has none."""
        name = f"apis/{resource.api_version}" if resource.group else f"api/{resource.version}"
        age = time.monotonic() - self._asked_at
        if age > INDEX_AGE or (name not in self._index and age > RETRY_AGE):
            self._asked_at = time.monotonic()  # also when it fails: the next object does not wait for it again
            try:
                self._read_index()
            except SyncdError:
                if name not in self._index:
                    raise
        return self._index.get(name, "")

    def _read_index(self) -> None:
        paths = self._transport.request("GET", "/openapi/v3", timeout=TIMEOUT).object()["paths"]
        self._index = {path: str(entry["serverRelativeURL"]) for path, entry in paths.items()}
        self._forget_all_but(set(self._index.values()))

    def _document(self, address: str) -> JSONObject:
        if address not in self._documents:
            parts = urlsplit(address)
            response = self._transport.request("GET", parts.path, query=dict(parse_qsl(parts.query)), timeout=TIMEOUT)
            self._documents[address] = _slim(response.object())
        return self._documents[address]

    def _forget_all_but(self, addresses: set[str]) -> None:
        self._schemas = {known: schema for known, schema in self._schemas.items() if known[0] in addresses}
        for address in self._documents.keys() - addresses:
            del self._documents[address]


def _slim(document: JSONObject) -> JSONObject:
    """What schemas are made of: the definitions without prose, and how each path is patched."""
    definitions = document.get("components", {}).get("schemas", {})
    paths = {path: {"patch": item["patch"]} for path, item in document.get("paths", {}).items() if "patch" in item}
    return {"paths": paths, "components": {"schemas": _without_prose(definitions)}}


def _without_prose(value: JSONValue) -> JSONValue:
    if isinstance(value, list):
        return [_without_prose(item) for item in value]
    if not isinstance(value, dict):
        return value
    # A field may be called "description" too, but then a schema stands there and not a text.
    return {name: _without_prose(item) for name, item in value.items() if name not in _PROSE or isinstance(item, dict)}
