"""What becomes of changes that did not come from Git."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from syncd.spec.base import Model
from syncd.spec.fields import FieldRule


class DriftPolicy(Model):
    """What to do when live differs from desired although Git did not change."""

    action: Literal["Correct", "Report"] = "Correct"
    """Put it right, or only tell."""
    ignore: Annotated[tuple[FieldRule, ...], Field(strict=False)] = ()
    """Fields that are not syncd's business."""
