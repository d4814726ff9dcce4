"""Which objects a rule is about, and which of their fields."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import AfterValidator, Field, WithJsonSchema

from syncd.spec.base import Model

if TYPE_CHECKING:
    from syncd.model import ObjectKey

_POINTER: Final = re.compile(r"(?:/(?:[^~/]|~[01])+)+")
_IDENTITY: Final = re.compile(
    r"/(?:apiVersion|kind|metadata(?:/(?:name|namespace|labels|annotations))?"
    r"|metadata/(?:labels|annotations)/kubectl\.kubernetes\.io~1.*)"
)


def _checked(path: str) -> str:
    """Give back a JSON pointer to a field that may be left to others.

    Raises:
        ValueError: It is no pointer, or to something that syncd itself cannot do without.
    """
    if not _POINTER.fullmatch(path):
        raise ValueError(f"{path!r} is not a JSON pointer; write it like /spec/replicas")
    if _IDENTITY.fullmatch(path):
        raise ValueError(f"{path} says what the object is and whose, and cannot be left to others")
    return path


Pointer = Annotated[
    str, AfterValidator(_checked), WithJsonSchema({"type": "string", "pattern": f"^{_POINTER.pattern}$"})
]


class Selector(Model):
    """Which objects; a selector that is absent matches everything."""

    group: str | None = None
    """The API group, "" for the core group."""
    kind: str | None = None
    """The kind, such as Deployment."""
    namespace: str | None = None
    """The object's namespace."""
    name: str | None = None
    """The object's name."""

    def matches(self, key: ObjectKey) -> bool:
        """Whether the rule is about this object."""
        pairs = ((self.group, key.group), (self.kind, key.kind), (self.namespace, key.namespace), (self.name, key.name))
        return all(wanted is None or wanted == actual for wanted, actual in pairs)


class FieldRule(Selector):
    """Fields of the objects that match."""

    paths: Annotated[tuple[Pointer, ...], Field(min_length=1, max_length=64, strict=False)]
    """The fields, as JSON pointers (RFC 6901) such as `/spec/replicas`. An item of a list may be named by what
    identifies it: `/spec/template/spec/containers/[name=web]/resources`."""
