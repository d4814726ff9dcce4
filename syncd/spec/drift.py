"""What becomes of changes that did not come from Git."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, WithJsonSchema, field_validator

from syncd.spec.base import Model

_Pointer = Annotated[str, WithJsonSchema({"type": "string", "pattern": "^/"})]


class IgnoreRule(Model):
    """Fields that are not syncd's business on matching objects; a selector that is absent matches everything."""

    group: str | None = None
    """The API group, "" for the core group."""
    kind: str | None = None
    """The kind, such as Deployment."""
    namespace: str | None = None
    """The object's namespace."""
    name: str | None = None
    """The object's name."""
    paths: tuple[_Pointer, ...] = Field(min_length=1, max_length=64)
    """The fields, as JSON pointers (RFC 6901) such as `/spec/replicas`."""

    @field_validator("paths", mode="before")
    @classmethod
    def _pointers(cls, paths: object) -> object:
        if not isinstance(paths, list | tuple):
            return paths
        for path in paths:
            if not isinstance(path, str) or not path.startswith("/"):
                raise ValueError(f"{path!r} is not a JSON pointer; write it like /spec/replicas")
        return tuple(paths)


class DriftPolicy(Model):
    """What to do when live differs from desired although Git did not change."""

    action: Literal["Correct", "Report"] = "Correct"
    """Put it right, or only tell."""
    ignore: Annotated[tuple[IgnoreRule, ...], Field(strict=False)] = ()
    """Fields that are not syncd's business."""
