"""Fields that cannot change once they are set: which a refusal names, and whether the object may be made anew."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from syncd.inventory import Ownership
from syncd.model import SERVER_METADATA, GroupKind, SyncdError
from syncd.plan.annotations import REPLACE, annotation
from syncd.plan.guards.contents import CONTAINERS
from syncd.plan.guards.protected import guard_annotations
from syncd.plan.guards.volumes import CLAIM

if TYPE_CHECKING:
    from collections.abc import Iterable

    from syncd.model import JSONObject, Manifest, ObjectKey
    from syncd.plan.settings import Policy

_PRECIOUS: Final = CONTAINERS | {CLAIM, GroupKind("", "PersistentVolume")}
"""Kinds that hold data or other objects: no rule for a whole Sync has them deleted, only their own annotation."""

_FORBIDDEN: Final = re.compile(
    r"Forbidden: (field is immutable\b|[\w.]+ is immutable after creation\b|updates to .* are forbidden"
    r"|updates to \w+ spec for fields other than\b|may not be changed in an update\b"
    r"|pod updates may not change fields\b)"
)
_INVALID: Final = re.compile(r"\bimmutable\b|^may not change once set$|^cannot change roleRef$")
_CONTROLLER_MARKS: Final = ("controller-uid", "batch.kubernetes.io/controller-uid")


class Cause(NamedTuple):
    """One thing that the server says is wrong."""

    field: str
    reason: str
    message: str


class ImmutableFieldError(SyncdError):
    """A change that the server refuses because the field is immutable, of an object that may not be made anew."""

    reason = "ImmutableField"


def immutable_fields(causes: Iterable[Cause]) -> tuple[str, ...]:
    """The immutable fields that a refusal (422) is about; nothing if any of its causes is about something else.

    There is no machine-readable reason for it, so the words of Kubernetes' validation are recognised, and those of
    rules that custom resources bring. A value that is quoted may hold any words, so only what follows it counts.
    """
    found = []
    for cause in causes:
        line = cause.message.split("\n", 1)[0].strip()
        verdict = line.rpartition(": ")[2]
        forbidden = cause.reason == "FieldValueForbidden" and _FORBIDDEN.match(line)
        if not (forbidden or (cause.reason == "FieldValueInvalid" and _INVALID.search(verdict))):
            return ()
        found.append(cause.field or "the object")
    return tuple(found)


def check_replaceable(manifest: Manifest, live: JSONObject | None, fields: Iterable[str], policy: Policy) -> None:
    """See to it that an object may be deleted and made anew.

    Raises:
        ImmutableFieldError: It may not; says what to do.
    """
    names = " and ".join(fields)
    problem = _problem(manifest.key, annotation(manifest.body, REPLACE), live, policy)
    if problem:
        raise ImmutableFieldError(f"{manifest.origin}: {names} cannot be changed once the object exists; {problem}")


def _problem(key: ObjectKey, wish: str, live: JSONObject | None, policy: Policy) -> str:
    """Why an object may not be made anew, and what to do; "" if it may."""
    if wish != "enabled" and (wish == "disabled" or policy.replace == "Never" or key.group_kind in _PRECIOUS):
        return (
            f"undo the change in Git, give the object another name, or annotate it with {REPLACE}: enabled, and syncd "
            "deletes it and makes it anew"
        )
    if live is None:
        return ""
    if policy.owner.judge(live) is not Ownership.OURS:
        return "the object is not this Sync's yet, so it is not deleted for that; delete it, and syncd makes it anew"
    kept = guard_annotations(live)
    return f"it is not deleted for that, since {kept.message}" if kept else ""


def restorable(live: JSONObject) -> JSONObject:
    """A deleted object in a form in which it can be created again: without what only the server writes.

    What identifies a Job's Pods is made of its uid, so that is left out too, unless it was chosen by hand.
    """
    metadata = {key: value for key, value in live["metadata"].items() if key not in SERVER_METADATA}
    body = {**{key: value for key, value in live.items() if key != "status"}, "metadata": metadata}
    spec = body.get("spec")
    if live.get("kind") == "Job" and isinstance(spec, dict) and not spec.get("manualSelector"):
        template = dict(spec.get("template") or {})
        template["metadata"] = _unmarked(template.get("metadata") or {})
        body["metadata"] = _unmarked(metadata)
        body["spec"] = {**{key: value for key, value in spec.items() if key != "selector"}, "template": template}
    return body


def _unmarked(metadata: JSONObject) -> JSONObject:
    labels = {key: value for key, value in (metadata.get("labels") or {}).items() if key not in _CONTROLLER_MARKS}
    return {**metadata, "labels": labels}
