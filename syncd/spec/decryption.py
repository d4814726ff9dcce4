"""Encrypted files."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field, model_validator

from syncd.spec.base import Model, SecretRef, rules


class Decryption(Model):
    """Keys for files that are encrypted with SOPS; they are decrypted before anything is rendered."""

    model_config = ConfigDict(
        json_schema_extra=rules(("has(self.secretRef)", "give secretRef"))  # a server has no secretFile
    )

    provider: Literal["sops"] = "sops"
    """How the files are encrypted."""
    secret_ref: SecretRef | None = None
    """A Secret in the Sync's own namespace. Keys that end in `.agekey` hold age identities, one a line; keys that end
    in `.asc` armored OpenPGP private keys without a passphrase. Read at each reconcile."""
    secret_file: str | None = Field(default=None, min_length=1)
    """The same beside the daemon: a folder with a file for each key, as Kubernetes mounts a Secret, or a YAML file with
    a Secret."""

    @model_validator(mode="after")
    def _one_secret(self) -> Decryption:
        if (self.secret_ref is None) == (self.secret_file is None):
            raise ValueError("give secretRef or secretFile")
        return self
