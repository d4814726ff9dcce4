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
    from syncd.model import JSONObject

_SECRETS: Final = Resource("", "v1", "Secret", "secrets", namespaced=True)
_CONFIG_MAPS: Final = Resource("", "v1", "ConfigMap", "configmaps", namespaced=True)


class ClusterSecrets:
    """Reads Secrets, one request for each question, so that what was rotated is seen. Safe to use from many threads."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def read(self, namespace: str, name: str) -> Mapping[str, bytes]:
        """The decoded data of a Secret, by key.

        Raises:
            SecretMissingError: There is no such Secret.
            SecretUnavailableError: syncd may not read it.
            ApiError: The server does not answer, or not as it should.
        """
        found = _get(self._client, _SECRETS, namespace, name)
        return _decoded(found.get("data"), f"the Secret {namespace}/{name}")


class ClusterConfigMaps:
    """Reads ConfigMaps in the same way."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def read(self, namespace: str, name: str) -> Mapping[str, bytes]:
        """The data of a ConfigMap, by key.

        Raises:
            SecretMissingError: There is no such ConfigMap.
            SecretUnavailableError: syncd may not read it.
            ApiError: The server does not answer, or not as it should.
        """
        found = _get(self._client, _CONFIG_MAPS, namespace, name)
        texts = {key: str(value).encode() for key, value in (found.get("data") or {}).items()}
        return {**texts, **_decoded(found.get("binaryData"), f"the ConfigMap {namespace}/{name}")}


def _get(client: Client, resource: Resource, namespace: str, name: str) -> JSONObject:
    where = f"the {resource.kind} {namespace}/{name}"
    try:
        return client.get(resource, namespace, name)
    except NotFoundError:
        raise SecretMissingError(f"{where} does not exist; create it with the keys that are needed") from None
    except ForbiddenError:
        raise SecretUnavailableError(
            f"{where} may not be read: allow syncd's service account to get it (RBAC: verb get on {resource.plural})"
        ) from None


def _decoded(data: Mapping[str, str] | None, where: str) -> dict[str, bytes]:
    decoded: dict[str, bytes] = {}
    for key, value in (data or {}).items():
        try:
            decoded[key] = base64.b64decode(value, validate=True)
        except (binascii.Error, TypeError, ValueError):
            raise SecretUnavailableError(f"{where}: the value of {key} is not base64") from None
    return decoded
