"""What all parts of a Sync document share: the model class, durations, and the forms of names."""

from __future__ import annotations

import re
from typing import Annotated, Any, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel

DNS_SUBDOMAIN: Final = r"^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$"
DNS_LABEL: Final = r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"

_DURATION_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")


def parse_duration(value: object) -> object:
    """Read a Go duration (``90s``, ``1m30s``, ``1h``) as seconds.

    Raises:
        ValueError: It is not such a text.
    """
    parts = _DURATION.findall(value) if isinstance(value, str) else []
    if not parts or "".join(number + unit for number, unit in parts) != value:
        raise ValueError("not a duration; write it like 30s, 5m or 1h30m")
    return sum(float(number) * _DURATION_UNITS[unit] for number, unit in parts)


def at_most_one(*names: str) -> tuple[str, str]:
    """The rule for :func:`rules` that only one of these fields may be there."""
    given = ", ".join(f"has(self.{name})" for name in names)
    return f"[{given}].filter(x, x).size() <= 1", f"give one of {', '.join(names[:-1])} and {names[-1]}"


def rules(*pairs: tuple[str, str], secret: bool = False) -> dict[str, Any]:
    """What an API server has to check besides types, as ``json_schema_extra`` of a model or a field.

    Args:
        pairs: A rule in CEL, in which ``self`` is the value, and what to say where it does not hold.
        secret: Whether the value may hold a secret, and is not to be quoted where a rule does not hold.
    """
    more = {"reason": "FieldValueForbidden"} if secret else {}
    return {"x-kubernetes-validations": [{"rule": rule, "message": message, **more} for rule, message in pairs]}


Seconds = Annotated[float, BeforeValidator(parse_duration)]


class Model(BaseModel):
    """The base of all parts of a Sync: frozen, camelCase outside, no unknown fields, no silent conversions.

    The text below a field is its description for users, in the reference page and the schema.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        populate_by_name=True,
        strict=True,
        use_attribute_docstrings=True,
    )


class SecretRef(Model):
    """A Secret in the Sync's own namespace."""

    name: str = Field(pattern=DNS_SUBDOMAIN)
    """Its name."""
