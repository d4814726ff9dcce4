"""APIServices: available when their Service has endpoints, although what they would serve is not served here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.sandbox.controllers.base import SERVICE, Key, condition, is_kind, key_of, update_status
from syncd.sandbox.controllers.endpoints import ENDPOINTS
from syncd.sandbox.kinds import built_in

if TYPE_CHECKING:
    from collections.abc import Iterable

    from syncd.model import JSONObject
    from syncd.sandbox.kinds import Event, Objects

API_SERVICE = built_in("apiregistration.k8s.io", "APIService")


class ApiServices:
    """Says which aggregated APIs are available."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def keys(self, event: Event) -> Iterable[Key]:
        """The APIService itself, or those of a Service."""
        if is_kind(event, API_SERVICE):
            return (key_of(event.object),)
        if not is_kind(event, SERVICE, ENDPOINTS):
            return ()
        place = key_of(event.object)
        return tuple(key_of(item) for item in self._objects.list(API_SERVICE) if _service(item) == place)

    def reconcile(self, key: Key) -> None:
        """See :class:`~syncd.sandbox.controllers.base.Controller`."""
        api_service = self._objects.find(API_SERVICE, "", key.name)
        if api_service is not None:
            available = condition(api_service, "Available", *self._judged(_service(api_service)))
            update_status(self._objects, API_SERVICE, api_service, {"conditions": [available]}, "kube-apiserver")

    def _judged(self, service: Key | None) -> tuple[str, str, str]:
        if service is None:
            return "True", "Local", "Local APIServices are always available"
        if self._objects.find(SERVICE, *service) is None:
            words = f'service/{service.name} in "{service.namespace}" is not present'
            return "False", "ServiceNotFound", words
        endpoints = self._objects.find(ENDPOINTS, *service) or {}
        if not any(subset.get("addresses") for subset in endpoints.get("subsets") or ()):
            words = f'endpoints for service/{service.name} in "{service.namespace}" have no addresses'
            return "False", "MissingEndpoints", words
        return "True", "Passed", "all checks passed"


def _service(api_service: JSONObject) -> Key | None:
    reference = api_service["spec"].get("service")
    return Key(reference.get("namespace", ""), reference.get("name", "")) if reference is not None else None
