"""Files that are encrypted with SOPS, decrypted by the real one before anything is rendered.

Only ciphertext and keys are written to disk for it, into a folder that nobody else may enter and that is gone
afterwards; what it decrypts comes through a pipe. Nothing of it is asked from a key service: keys are the Sync's own.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import hashlib
import posixpath
import re
from typing import TYPE_CHECKING, Final, NamedTuple

import orjson

from syncd.kubeyaml import YAMLError, load_all
from syncd.plan.mask import mask_text
from syncd.render.errors import DecryptionFailedError
from syncd.render.runner import ToolFailedError
from syncd.render.workspace import private_folders

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from syncd.model import InvalidInputError, JSONValue, Manifest, Origin
    from syncd.render.runner import Runner
    from syncd.render.tools import Tool

_MARK: Final = b"ENC[AES256_GCM,"
_DOTENV: Final = re.compile(rb"^sops_mac=ENC\[", re.MULTILINE)
_INI: Final = re.compile(rb"^\[sops\]\s*$", re.MULTILINE)
_TEXTUAL: Final = {".yaml": "yaml", ".yml": "yaml", ".json": "json"}
_ARMOR: Final = re.compile(
    r"-----BEGIN PGP PRIVATE KEY BLOCK-----\r?\n(.*?)-----END PGP PRIVATE KEY BLOCK-----", re.DOTALL
)
_NO_KEY: Final = ("Failed to get the data key", "no matching creation rules")


class Keys(NamedTuple):
    """What opens encrypted files."""

    age: bytes
    """Identities, one a line."""
    pgp: bytes
    """A binary keyring."""
    place: str
    """What errors call the Secret."""

    def __repr__(self) -> str:
        return f"Keys({self.place})"

    @classmethod
    def of(cls, data: Mapping[str, bytes], place: str) -> Keys:
        """Take the keys out of a Secret: ``*.agekey`` and ``*.asc``, as for Flux.

        Raises:
            DecryptionFailedError: There are none, or one cannot be read.
        """
        age = [value for name, value in sorted(data.items()) if name.endswith(".agekey")]
        pgp = [_dearmored(value, name, place) for name, value in sorted(data.items()) if name.endswith(".asc")]
        if not age and not pgp:
            problem = f"the Secret {place} has no key that ends in .agekey (for age) or .asc (for OpenPGP)"
            raise DecryptionFailedError(f"{problem}; spec.decryption needs one")
        return cls(b"\n".join(age), b"".join(pgp), place)


def encryption(path: str, data: bytes) -> str:
    """SOPS's name for the format of an encrypted file: ``yaml``, ``json``, ``dotenv``, ``ini`` or ``binary``.

    Returns:
        The format; "" if the file is not encrypted.
    """
    if _MARK not in data:
        return ""
    by_name = _TEXTUAL.get(posixpath.splitext(path)[1].lower(), "")
    if not by_name and (_DOTENV.search(data) or _INI.search(data)):
        return "dotenv" if _DOTENV.search(data) else "ini"
    try:
        documents = [document.value for document in load_all(data)]
    except YAMLError:
        return ""
    encrypted = [value for value in documents if isinstance(value, dict) and _is_metadata(value.get("sops"))]
    if not encrypted or by_name:
        return by_name if encrypted else ""
    return "binary" if encrypted[0].keys() == {"data", "sops"} else "yaml"


class Decryptor:
    """Decrypts the files of one render, each once.

    Args:
        keys: What opens them.
        tool: SOPS.
        runner: Runs it.
        deadline: On ``time.monotonic()``'s clock.
    """

    def __init__(self, keys: Keys, tool: Tool, runner: Runner, deadline: float) -> None:
        self._keys = keys
        self._tool = tool
        self._runner = runner
        self._deadline = deadline
        self._done: dict[tuple[str, bytes], bytes] = {}
        self._secrets: set[str] = set()

    def decrypt(self, data: bytes, origin: Origin) -> bytes:
        """The plain content of a file, which may be one that is not encrypted.

        Raises:
            DecryptionFailedError: It is encrypted, and cannot be decrypted.
            RenderTimeoutError: The deadline passed.
        """
        style = encryption(origin.path, data)
        if not style:
            return data
        key = (origin.path, hashlib.sha256(data).digest())
        if key not in self._done:
            self._done[key] = self._run(style, data, origin)
            self._secrets.update(_secret_texts(style, data, self._done[key]))
        return self._done[key]

    def scrub(self, text: str) -> str:
        """A message without anything that was decrypted."""
        return mask_text(text, self._secrets)

    def _run(self, style: str, data: bytes, origin: Origin) -> bytes:
        with private_folders() as place:
            file = place.files / "encrypted"
            file.write_bytes(data)
            environment: dict[str, str] = {}
            if self._keys.age:
                (place.home / "keys.txt").write_bytes(self._keys.age)
                environment["SOPS_AGE_KEY_FILE"] = str(place.home / "keys.txt")
            ring = place.home / "gnupg"
            ring.mkdir(mode=0o700)
            environment["GNUPGHOME"] = str(ring)
            if self._keys.pgp:
                (ring / "secring.gpg").write_bytes(self._keys.pgp)
            command = [*self._tool.command, f"--input-type={style}", f"--output-type={style}", str(file)]
            try:
                completed = self._runner.run(command, home=place.home, deadline=self._deadline, environment=environment)
            except ToolFailedError as failure:
                raise DecryptionFailedError(self._explained(failure.stderr), origin) from None
        return completed.stdout

    def _explained(self, stderr: str) -> str:
        if any(text in stderr for text in _NO_KEY):
            wanted = re.findall(r"^\s*(age1\w+|[0-9A-F]{40}): FAILED", stderr, re.MULTILINE)
            whom = f"; it is encrypted for {', '.join(dict.fromkeys(wanted))}" if wanted else ""
            return f"no key in the Secret {self._keys.place} decrypts it{whom}"
        if "MAC mismatch" in stderr or "does not match sops' data format" in stderr:
            return "sops: it was changed after it was encrypted, or not all of its documents were encrypted together"
        return f"sops: {(stderr.strip().splitlines() or ['it gave no reason'])[0][:300]}"


def refuse_encrypted(manifests: Iterable[Manifest], errors: list[InvalidInputError], *, configured: bool) -> None:
    """Refuse objects that still hold what SOPS encrypted: they would be applied with ciphertext for values."""
    for manifest in manifests:
        if _is_metadata(manifest.body.get("sops")) or any(map(_is_encrypted, _values(manifest))):
            why = "and was not decrypted: is its file whole?" if configured else "and the Sync has no spec.decryption"
            problem = f"{manifest.key.display()} is encrypted with SOPS, {why}"
            errors.append(DecryptionFailedError(problem, manifest.origin))


def _values(manifest: Manifest) -> Iterator[JSONValue]:
    if manifest.key.kind == "Secret":
        for field in ("data", "stringData"):
            values = manifest.body.get(field)
            yield from values.values() if isinstance(values, dict) else ()


def _is_encrypted(value: JSONValue) -> bool:
    if not isinstance(value, str):
        return False
    try:
        data = base64.b64decode("".join(value.split()), validate=True)
    except (binascii.Error, ValueError):
        data = value.encode()
    return data.startswith(_MARK) or bool(encryption("", data))


def _is_metadata(value: JSONValue) -> bool:
    return isinstance(value, dict) and str(value.get("mac", "")).startswith("ENC[")


def _dearmored(armored: bytes, name: str, place: str) -> bytes:
    """The binary form of OpenPGP keys (RFC 9580, section 6): between headers and checksum, base64."""
    blocks = _ARMOR.findall(armored.decode("ascii", "replace"))
    try:
        found = [_block(block) for block in blocks]
    except (binascii.Error, ValueError):
        found = []
    if not found:
        raise DecryptionFailedError(f"{name} in the Secret {place} is no armored OpenPGP private key")
    return b"".join(found)


def _block(text: str) -> bytes:
    lines = [line.strip() for line in text.splitlines()]
    body = lines[lines.index("") + 1 :] if "" in lines else lines
    return base64.b64decode("".join(line for line in body if not line.startswith("=")), validate=True)


def _secret_texts(style: str, data: bytes, plain: bytes) -> Iterator[str]:
    """The texts in a decrypted file that must not be in a message."""
    if style in ("yaml", "json"):
        with contextlib.suppress(YAMLError):  # whoever reads it for good says what is wrong
            for before, after in zip(load_all(data), load_all(plain), strict=False):
                yield from _differing(before.value, after.value)
            return
    for line in plain.decode("utf-8", "ignore").splitlines():
        yield from (line, line.partition("=")[2].strip())


def _differing(before: JSONValue, after: JSONValue) -> Iterator[str]:
    if isinstance(after, dict) and isinstance(before, dict):
        for key, value in after.items():
            yield from _differing(before.get(key), value)
    elif isinstance(after, list) and isinstance(before, list):
        for old, new in zip(before, after, strict=False):
            yield from _differing(old, new)
    elif after != before:
        text = after if isinstance(after, str) else orjson.dumps(after).decode()
        yield from {text, *text.splitlines()}
