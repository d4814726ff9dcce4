"""Secrets and ConfigMaps of the cluster that Syncs name: credentials for Git, keys for decryption, values."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Final

from syncd.cluster.discovery import Resource
from syncd.cluster.errors import ForbiddenError, NotFoundError, SecretMissingError, SecretUnavailableError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from syncd.cluster.client import Client

_SECRETS: Final = Resource("", "v1", "Secret", "secrets", namespaced=True)
_CONFIG_MAPS: Final = Resource("", "v1", "ConfigMap", "configmaps", namespaced=True)


class ClusterData:
    """Reads Secrets, or ConfigMaps in the same way: one request for each question, so that what was rotated is seen.

    Safe to use from many threads.
    """

    def __init__(self, client: Client, resource: Resource) -> None:
        self._client = client
        self._resource = resource

    @classmethod
    def secrets(cls, client: Client) -> ClusterData:
        """Those of Secrets."""
        return cls(client, _SECRETS)

    @classmethod
    def config_maps(cls, client: Client) -> ClusterData:
        """Those of ConfigMaps."""
        return cls(client, _CONFIG_MAPS)

    def read(self, namespace: str, name: str) -> Mapping[str, bytes]:
        """The data of a Secret or ConfigMap, by key, decoded.

        Raises:
            SecretMissingError: There is none of that name.
            SecretUnavailableError: syncd may not read it.
            ApiError: The server does not answer, or not as it should.
        """
        where = f"the {self._resource.kind} {namespace}/{name}"
        try:
            found = self._client.get(self._resource, namespace, name)
        except NotFoundError:
            raise SecretMissingError(f"{where} does not exist; create it with the keys that are needed") from None
        except ForbiddenError:
            allow = f"allow syncd's service account to get it (RBAC: verb get on {self._resource.plural})"
            raise SecretUnavailableError(f"{where} may not be read: {allow}") from None
        if self._resource is _SECRETS:
            return _decoded(found.get("data"), where)
        texts = {key: str(value).encode() for key, value in (found.get("data") or {}).items()}
        return {**texts, **_decoded(found.get("binaryData"), where)}


def _decoded(data: Mapping[str, str] | None, where: str) -> dict[str, bytes]:
    decoded: dict[str, bytes] = {}
    for key, value in (data or {}).items():
        try:
            decoded[key] = base64.b64decode(value, validate=True)
        except (binascii.Error, TypeError, ValueError):
            raise SecretUnavailableError(f"{where}: the value of {key} is not base64") from None
    return decoded
