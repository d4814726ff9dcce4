"""When objects of a kind that syncd does not know are healthy."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from syncd.spec.base import Model
from syncd.spec.expressions import Predicate


def _compiled(text: str) -> str:
    Predicate(text)
    return text


Expression = Annotated[str, Field(min_length=1, max_length=2048), AfterValidator(_compiled)]


class HealthCheck(Model):
    """How to tell the health of the objects of one kind: expressions in CEL over the live object.

    They name its fields as they are, such as `status.phase`, or the object as a whole as `self`.
    """

    group: str = Field(default="", max_length=253)
    """The API group, "" for the core group."""
    kind: str = Field(min_length=1, max_length=63)
    """The kind."""
    current: Expression
    """It is healthy."""
    in_progress: Expression | None = None
    """It is on its way; asked first. Without any of the three being true it is on its way, too."""
    failed: Expression | None = None
    """It has failed; asked second."""
