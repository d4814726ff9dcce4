"""The status of a Sync object: what the daemon writes into the cluster. Every list in it has a bound."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, ValidationError

from syncd.spec.base import Model

NAMES_SHOWN = 20
"""Objects that a list in the status names at most; counts are always of all."""
ERRORS_SHOWN = 10
HISTORY_SHOWN = 5
MESSAGE_LENGTH = 1024
"""Characters of a message at most."""


class StatusModel(Model):
    """The base of all parts of a status. A field of a newer syncd is passed over: an older one may have to read it."""

    model_config = ConfigDict(extra="ignore")


Message = Annotated[str, Field(max_length=MESSAGE_LENGTH)]


class Condition(StatusModel):
    """One thing that is true, false or unknown of a Sync, in the form that all of Kubernetes uses."""

    type: str
    """`Ready`, `Reconciling`, `Stalled` or `Drifted`."""
    status: Literal["True", "False", "Unknown"]
    """Whether it holds."""
    reason: str
    """Why, as one CamelCase word."""
    message: Message = ""
    """Why, as a sentence."""
    last_transition_time: str = Field(json_schema_extra={"format": "date-time"})
    """Since when it is so."""
    observed_generation: int = 0
    """The generation of the Sync that it is about."""


class StatusRevision(StatusModel):
    """A commit, and the tree that it has at the Sync's path."""

    ref: str
    """What was asked for: a branch, tag, range or commit."""
    commit: str
    """The commit's id."""
    tree: str
    """The id of the tree at the path."""


class StatusCounts(StatusModel):
    """How many objects met which fate in one reconcile."""

    created: int = 0
    """Were not there."""
    updated: int = 0
    """Were different."""
    unchanged: int = 0
    """Were right already."""
    pruned: int = 0
    """Left Git, and were deleted."""
    kept: int = 0
    """Left Git, and stay for now."""
    skipped: int = 0
    """Are in Git, and are left alone."""
    failed: int = 0
    """Could not be made right."""


class StatusObjects(StatusModel):
    """How many objects there are, as the last reconcile left them."""

    applied: int = 0
    """Are in Git, and in the cluster as Git says."""
    kept: int = 0
    """Left Git, and stay for now."""
    skipped: int = 0
    """Are in Git, and are left alone."""
    failed: int = 0
    """Could not be made right."""
    inventory: int = 0
    """Are in the inventory: all that the Sync would delete at its end."""


class StatusDrift(StatusModel):
    """One object that somebody else changed."""

    object: str
    """Its key, `namespace:group:kind:name`."""
    reason: str
    """How it differs: `changed`, `missing`, `extra` or `owner-lost`."""
    since: str = Field(json_schema_extra={"format": "date-time"})
    """When it was noticed."""
    manager: str = ""
    """The field manager that wrote it, where the object says."""
    corrected_at: str | None = Field(default=None, json_schema_extra={"format": "date-time"})
    """When it was put right; absent while it is not."""


class StatusDrifts(StatusModel):
    """What others changed."""

    count: int = 0
    """Objects that differ now."""
    since: str | None = Field(default=None, json_schema_extra={"format": "date-time"})
    """Since when the oldest of them does."""
    objects: Annotated[tuple[StatusDrift, ...], Field(strict=False, max_length=NAMES_SHOWN)] = ()
    """Those that differ now, newest first, then those put right lately; not all, if there are many."""


class StatusHeldPrunes(StatusModel):
    """Deletions that wait for a person: `syncd approve` allows them."""

    message: Message
    """Why they are held."""
    count: int
    """How many objects it is about."""
    objects: Annotated[tuple[str, ...], Field(strict=False, max_length=NAMES_SHOWN)] = ()
    """The first of them, as `namespace:group:kind:name`."""
    approval: str = ""
    """What an approval of just these has to say."""


class StatusHistory(StatusModel):
    """One past reconcile that changed something or failed; failures that repeat are one entry."""

    time: str = Field(json_schema_extra={"format": "date-time"})
    """When it ended; of failures that repeat, the first."""
    revision: str = ""
    """What it worked from."""
    counts: StatusCounts = StatusCounts()
    """What it did."""
    error: Message = ""
    """What went wrong; absent if nothing did."""


class SyncObjectStatus(StatusModel):
    """What the daemon makes of a Sync. Written only when something in it has changed."""

    observed_generation: int = 0
    """The generation that all of this is about."""
    conditions: Annotated[tuple[Condition, ...], Field(strict=False, max_length=16)] = Field(
        default=(), json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]}
    )
    """Whether it is Ready, Reconciling, Stalled (nothing helps but another Sync), Drifted."""
    state: str = ""
    """How the cluster compares with Git: `Synced`, `OutOfSync` or `Unknown`."""
    health: str = ""
    """The worst health of its objects: `Healthy`, `Progressing`, `Degraded`, `Suspended`, `Missing` or `Unknown`."""
    revision: str = ""
    """The revision that is applied, in short: `main@0123456789ab`."""
    applied: StatusRevision | None = None
    """The last revision that was applied without an error."""
    attempted: StatusRevision | None = None
    """The revision of the last reconcile."""
    objects: StatusObjects = StatusObjects()
    """How many objects there are."""
    errors: Annotated[tuple[Message, ...], Field(strict=False, max_length=ERRORS_SHOWN)] = ()
    """What went wrong in the last reconcile; the first few."""
    failing_since: str | None = Field(default=None, json_schema_extra={"format": "date-time"})
    """When the present run of failures began."""
    held_prunes: StatusHeldPrunes | None = None
    """Deletions that wait for a person."""
    drift: StatusDrifts = StatusDrifts()
    """What others changed."""
    last_handled_request: str = ""
    """The value of the annotation `syncd.dev/requested-at` that was last acted on."""
    history: Annotated[tuple[StatusHistory, ...], Field(strict=False, max_length=HISTORY_SHOWN)] = ()
    """Past reconciles, newest first."""


def parse_status(written: Any) -> SyncObjectStatus:
    """Read a status as the cluster has it; one that makes no sense counts as empty."""
    try:
        return SyncObjectStatus.model_validate(written or {})
    except ValidationError:
        return SyncObjectStatus()
