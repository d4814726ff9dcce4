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
    managers: Annotated[
        tuple[Annotated[str, Field(min_length=1, max_length=128)], ...], Field(strict=False, max_length=64)
    ] = ()
    """Field managers, as `metadata.managedFields` names them, whose fields are theirs: what they have written is no
    drift and is not written over, for as long as it is theirs. `kube-controller-manager` stands for an autoscaler's
    replicas."""
