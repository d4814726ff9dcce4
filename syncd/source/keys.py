"""The public keys that may sign what a Sync follows, as a Secret holds them."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from syncd.source.errors import InvalidCredentialsError

if TYPE_CHECKING:
    from collections.abc import Mapping

_ALLOWED_SIGNERS: Final = ("allowed_signers", ".allowed_signers")
_SSH: Final = ".sshpub"
_OPENPGP: Final = ".asc"
_OPENPGP_BEGIN: Final = b"-----BEGIN PGP PUBLIC KEY BLOCK-----"
_NAME: Final = re.compile(r"^[A-Za-z0-9._-]+$")
_SSH_KEY: Final = re.compile(r"^(?:ssh-|ecdsa-|sk-)[A-Za-z0-9@.-]+ [A-Za-z0-9+/=]+(?: .*)?$")
_SSH_BLOB: Final = re.compile(r"(?:^|\s)(?:ssh-|ecdsa-|sk-)[A-Za-z0-9@.-]+\s+([A-Za-z0-9+/=]+)")


class Keys(NamedTuple):
    """Who may sign."""

    signers: str
    """For ssh: lines of an allowed signers file, as ``ssh-keygen -Y verify`` takes it."""
    openpgp: tuple[bytes, ...]
    """OpenPGP public keys in ASCII armor, each by itself."""

    @classmethod
    def of(cls, secret: Mapping[str, bytes]) -> Keys:
        """Take the keys out of a Secret's data; what has another name is left alone.

        Raises:
            InvalidCredentialsError: There are none, or one is no key.
        """
        lines: list[str] = []
        openpgp: list[bytes] = []
        for name in sorted(secret):
            if name.endswith(_ALLOWED_SIGNERS):
                lines += _text(name, secret[name]).splitlines()
            elif name.endswith(_SSH):
                lines += _as_signers(name, _text(name, secret[name]))
            elif name.endswith(_OPENPGP):
                openpgp += _blocks(name, secret[name])
        lines = [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]
        if not lines and not openpgp:
            raise InvalidCredentialsError(
                "it holds no public key: name OpenPGP keys like alice.asc, ssh keys like alice.sshpub, "
                "and a file of ssh's allowed signers allowed_signers"
            )
        return cls("".join(f"{line}\n" for line in lines), tuple(openpgp))

    @property
    def digest(self) -> str:
        """Equal for equal keys."""
        parts = (self.signers.encode(), *self.openpgp)
        return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()

    def ssh_names(self) -> list[str]:
        """Who may sign with ssh, with the fingerprints of their keys as ssh writes them."""
        names = []
        for line in self.signers.splitlines():
            blob = _SSH_BLOB.search(line)
            try:
                raw = base64.b64decode(blob.group(1), validate=True) if blob else b""
            except binascii.Error:
                raw = b""
            print_ = base64.b64encode(hashlib.sha256(raw).digest()).decode().rstrip("=")
            names.append(f"{line.split()[0]} (SHA256:{print_})" if raw else line.split()[0])
        return names


def _blocks(name: str, data: bytes) -> list[bytes]:
    blocks = data.split(_OPENPGP_BEGIN)[1:]
    if not blocks:
        raise InvalidCredentialsError(f"the key {name} does not hold an OpenPGP public key in ASCII armor")
    return [_OPENPGP_BEGIN + block for block in blocks]


def _as_signers(name: str, text: str) -> list[str]:
    """Lines of an allowed signers file for plain public keys; whose they are is what the key of the Secret says."""
    who = name.removesuffix(_SSH)
    keys = [line.strip() for line in text.splitlines() if line.strip()]
    if not _NAME.match(who) or not keys or not all(_SSH_KEY.match(key) for key in keys):
        raise InvalidCredentialsError(f"the key {name} does not hold a public key of ssh, like the file id_ed25519.pub")
    return [f'{who} namespaces="git" {key}' for key in keys]


def _text(name: str, data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidCredentialsError(f"the key {name} does not hold text") from None
