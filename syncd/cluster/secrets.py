"""Secrets of the cluster that Syncs name: credentials for Git, keys for decryption, values."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Final

from syncd.cluster.discovery import Resource
from syncd.cluster.errors import ForbiddenError, NotFoundError, SecretUnavailableError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from syncd.cluster.client import Client

_SECRETS: Final = Resource("", "v1", "Secret", "secrets", namespaced=True)


class ClusterSecrets:
    """Reads Secrets, one request for each question, so that what was rotated is seen. Safe to use from many threads."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def read(self, namespace: str, name: str) -> Mapping[str, bytes]:
        """The decoded data of a Secret, by key.

        Raises:
            SecretUnavailableError: There is no such Secret, or syncd may not read it.
            ApiError: The server does not answer, or not as it should.
        """
        where = f"the Secret {namespace}/{name}"
        try:
            found = self._client.get(_SECRETS, namespace, name)
        except NotFoundError:
            raise SecretUnavailableError(f"{where} does not exist; create it with the keys that are needed") from None
        except ForbiddenError:
            raise SecretUnavailableError(
                f"{where} may not be read: allow syncd's service account to get it (RBAC: verb get on secrets)"
            ) from None
        decoded: dict[str, bytes] = {}
        for key, value in (found.get("data") or {}).items():
            try:
                decoded[key] = base64.b64decode(value, validate=True)
            except (binascii.Error, TypeError, ValueError):
                raise SecretUnavailableError(f"{where}: the value of {key} is not base64") from None
        return decoded
