"""Variables in what was rendered."""

from __future__ import annotations

import re
from typing import Annotated, Final, Literal

from pydantic import Field, field_validator

from syncd.spec.base import DNS_SUBDOMAIN, Model

VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class ValuesFrom(Model):
    """A ConfigMap or Secret in the Sync's own namespace, each key of which is a variable."""

    kind: Literal["ConfigMap", "Secret"]
    """Which of the two."""
    name: str = Field(pattern=DNS_SUBDOMAIN)
    """Its name."""
    optional: bool = False
    """Whether it may be missing."""


class Substitute(Model):
    """Variables `${name}` in everything that was rendered, as in Flux's `postBuild`.

    The forms are `${name}`, `${name:-default}`, `${name:=default}`, `${name=default}`, `${#name}`, `${name^}`,
    `${name^^}`, `${name,}`, `${name,,}`, `${name:offset}`, `${name:offset:length}`, `${name#pattern}`,
    `${name##pattern}`, `${name%pattern}`, `${name%%pattern}`, `${name/text/other}`, `${name//text/other}`,
    `${name/#text/other}` and `${name/%text/other}`. `$$` stands for a `$`. Objects with the label or annotation
    `syncd.dev/substitute: disabled` (or Flux's `kustomize.toolkit.fluxcd.io/substitute: disabled`) stay as they are.
    """

    values: dict[str, str] = Field(default_factory=dict)
    """Variables, which win over those below. Line breaks in a value are left out, as in Flux."""
    from_: Annotated[tuple[ValuesFrom, ...], Field(strict=False)] = Field(default=(), alias="from")
    """More variables, read at each reconcile; a later one wins over an earlier one."""
    missing: Literal["Refuse", "Empty"] = "Refuse"
    """What a variable is that has neither a value nor a default: an error, or an empty text."""

    @field_validator("values")
    @classmethod
    def _names(cls, values: dict[str, str]) -> dict[str, str]:
        for name in values:
            if not VARIABLE.fullmatch(name):
                raise ValueError(f"{name!r} is not the name of a variable (letters, digits, _)")
        return values
