"""How lists merge where the user knows better than schema and convention."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from syncd.spec.base import Model, rules
from syncd.spec.fields import Pointer, Selector


class MergeRule(Selector):
    """How one list of the objects that match merges with what is live."""

    model_config = ConfigDict(
        json_schema_extra=rules(("(self.type == 'map') == has(self.keys)", "a map needs keys, other lists have none"))
    )

    path: Pointer
    """The list, as a JSON pointer of field names such as `/spec/routes/match`; lists on the way are passed through."""
    type: Literal["atomic", "set", "map"]
    """`atomic`: Git's list replaces live's. `set`: scalars, to which others may add some. `map`: items merge by their
    keys, and others may add some."""
    keys: Annotated[tuple[str, ...], Field(strict=False, max_length=8)] = ()
    """For a map: the fields that together identify an item."""

    @model_validator(mode="after")
    def _keys_for_maps(self) -> Self:
        if (self.type == "map") != bool(self.keys):
            raise ValueError("keys: a map needs the fields that identify an item, other lists have none")
        return self


class MergePolicy(Model):
    """How what Git says is merged into live objects."""

    rules: Annotated[tuple[MergeRule, ...], Field(strict=False, max_length=256)] = ()
    """Rules for lists, before those of the schema; the first that matches a list decides."""
