"""Secrets that Syncs name: one in their cluster, or a file beside the daemon. Read anew each time, as they are rotated.

What is in a Secret is never in an error, a log or a ``repr``.
"""

from __future__ import annotations

import base64
import binascii
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from syncd.kubeyaml import YAMLError, load_all
from syncd.source.errors import InvalidCredentialsError, SecretNeedsClusterError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from syncd.spec import SecretRef

_SIZE_LIMIT: Final = 1 << 20


class SecretReader(Protocol):
    """Reads Secrets (or ConfigMaps) of the cluster; may be used by several threads."""

    def read(self, namespace: str, name: str) -> Mapping[str, bytes]:
        """The decoded data of one of them, by key.

        Raises:
            SyncdError: It is not there, may not be read, or the cluster does not answer.
        """


class NoCluster:
    """The reader of a command that works without a cluster."""

    def __init__(self, kind: str = "Secret") -> None:
        self._kind = kind

    def read(self, namespace: str, name: str) -> Mapping[str, bytes]:
        """Refuse."""
        instead = ", or secretFile in place of secretRef" if self._kind == "Secret" else ""
        raise SecretNeedsClusterError(
            f"the {self._kind} {namespace}/{name} is in a cluster, and this command works without one; "
            f"use a command that reaches it, such as syncd plan{instead}"
        )


class SecretPlace(NamedTuple):
    """Where one Secret is: in a file (then the others are empty), or in the cluster."""

    file: str = ""
    namespace: str = ""
    name: str = ""

    @classmethod
    def of(cls, secret_file: str | None, secret_ref: SecretRef | None, namespace: str) -> SecretPlace | None:
        """What a Sync in a namespace says with its fields secretFile and secretRef; None if neither is given."""
        if secret_file is not None:
            return cls(file=secret_file)
        return cls(namespace=namespace, name=secret_ref.name) if secret_ref is not None else None

    def __str__(self) -> str:
        return self.file or f"{self.namespace}/{self.name}"

    def read(self, cluster: SecretReader) -> Mapping[str, bytes]:
        """What it holds now, by key.

        Raises:
            InvalidCredentialsError: The file is not there or not a Secret.
            SyncdError: The cluster does not give it.
        """
        return read_file(self.file) if self.file else cluster.read(self.namespace, self.name)


def read_file(place: str) -> dict[str, bytes]:
    """Read a Secret from a folder with one file for each key, as Kubernetes mounts it, or from a YAML file.

    Raises:
        InvalidCredentialsError: It is not there or not a Secret.
    """
    path = Path(place)
    try:
        if path.is_dir():
            return {file.name: _read(file) for file in path.iterdir() if file.is_file() and file.name[0] != "."}
        return _of_document(_read(path), place)
    except OSError as error:
        raise InvalidCredentialsError(f"the Secret in {place} cannot be read: {error.strerror}") from None
    except InvalidCredentialsError as error:
        raise InvalidCredentialsError(f"the Secret in {place}: {error}") from None


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        data = file.read(_SIZE_LIMIT + 1)
    if len(data) > _SIZE_LIMIT:
        raise InvalidCredentialsError(f"{path.name} is too large")
    return data


def _of_document(data: bytes, place: str) -> dict[str, bytes]:
    try:
        values = [document.value for document in load_all(data)]
    except YAMLError as error:
        line = error.origin.line if error.origin else 0
        raise InvalidCredentialsError(f"{place} does not parse at line {line}") from None  # its text could be secret
    if len(values) != 1 or not isinstance(values[0], dict) or values[0].get("kind") != "Secret":
        raise InvalidCredentialsError("the file must hold one Secret")
    found: dict[str, bytes] = {}
    for name, value in (values[0].get("data") or {}).items():
        try:
            found[name] = base64.b64decode(str(value), validate=True)
        except binascii.Error:
            raise InvalidCredentialsError(f"data.{name} is not base64") from None
    found.update({name: str(value).encode() for name, value in (values[0].get("stringData") or {}).items()})
    return found
