"""What happens to one object that Git wants."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from syncd.inventory import Ownership
from syncd.inventory.brought import is_apply_config, without_list
from syncd.inventory.ownership import controller, named_owner
from syncd.merge import engine, json_merge, last_applied
from syncd.merge.errors import MergeError
from syncd.model import (
    Action,
    ActionType,
    Drift,
    DriftReason,
    FieldChange,
    JSONObject,
    Manifest,
    SyncdError,
    Write,
    WriteMethod,
)
from syncd.plan import drift
from syncd.plan.annotations import MUTATION, RELEASE, annotation
from syncd.plan.desired import live_digest
from syncd.plan.fields import RELEASE_PATH, give_way, given_up, leaving, matching_paths, without
from syncd.plan.lists import list_rules
from syncd.plan.managers import managed_paths
from syncd.plan.mask import mask_changes, mask_text

if TYPE_CHECKING:
    from syncd.plan.fields import Release
    from syncd.plan.settings import Desired, Observation, Policy, Settled, Toleration

UP_TO_DATE: Final = "UpToDate"


def plan_object(desired: Desired, observed: Observation, policy: Policy) -> Action:
    """Decide on one desired object from what was observed of the cluster."""
    if observed.unreadable and (problem := observed.unreadable.get(desired.key)) is not None:
        return _blocked(desired.manifest, "Unreadable", problem)
    live = observed.live.get(desired.key)
    if live is None:
        try:
            return _create(desired, observed, policy)
        except SyncdError as error:
            return _failed(desired.manifest, error)
    settled = observed.settled.get(desired.key)
    if settled and settled.desired == desired.digest and settled.resource_version == live.resource_version:
        return _unchanged(desired.manifest)
    return plan_existing(desired, live.parse(), observed, policy)


def plan_existing(desired: Desired, live: JSONObject, observed: Observation, policy: Policy) -> Action:
    """Decide on a desired object from a fresh read of the live one."""
    manifest = desired.manifest
    refusal = _refusal(manifest, live, policy, listed=desired.key in observed.inventory.keys)
    if refusal:
        return refusal
    if "ignore" in (annotation(manifest.body, MUTATION), annotation(live, MUTATION)):
        return replace(_unchanged(manifest), type=ActionType.SKIP, reason="MutationIgnored", live=live)
    if _settled_apart_from_status(desired, live, observed.settled.get(desired.key)):
        return _unchanged(manifest)
    try:
        return _merge(desired, live, observed, policy)
    except SyncdError as error:
        return _failed(manifest, error, live)


def creation(manifest: Manifest, policy: Policy) -> Write:
    """The request that makes the object, with the owner's marks and the last-applied configuration.

    An object too large for that annotation is applied server-side from the start. Nulls are dropped, as kubectl does. A
    field that is given up begins with the value that Git has, but is not remembered as applied.

    Raises:
        MergeError: The manifest cannot be applied.
    """
    release = given_up(policy.release, manifest)
    remembered = without(manifest.body, release.paths)
    modified = policy.owner.mark(last_applied.stamp(manifest.body, remembered))
    if last_applied.fits(modified):
        return Write(WriteMethod.CREATE, json_merge.apply_patch({}, modified))
    return Write(WriteMethod.SERVER_SIDE_APPLY, json_merge.apply_patch({}, last_applied.without(modified)))


def _create(desired: Desired, observed: Observation, policy: Policy) -> Action:
    manifest = desired.manifest
    was_applied = observed.inventory.finished and desired.key in observed.inventory.keys
    if not was_applied:
        message = "it is in Git and not in the cluster"
        return Action(
            ActionType.CREATE, manifest.key, "New", message, write=creation(manifest, policy), manifest=manifest
        )
    missing = Drift(DriftReason.MISSING)
    if toleration := policy.toleration(manifest.key):
        return _reported(manifest, missing, toleration)
    message = "somebody deleted it, or took its owner's label away"
    return Action(
        ActionType.CREATE,
        manifest.key,
        "Missing",
        message,
        write=creation(manifest, policy),
        manifest=manifest,
        drift=missing,
    )


def _merge(desired: Desired, live: JSONObject, observed: Observation, policy: Policy) -> Action:
    """Merge what Git says into live, and name the difference if there is one."""
    manifest = desired.manifest
    release = given_up(policy.release, manifest, live)
    configuration = without(manifest.body, release.paths)
    modified = policy.owner.mark(last_applied.stamp(configuration))
    original = _original(live, modified, configuration)
    release = leaving(release, original)
    if release.is_over:
        modified = _without_mark(modified)
    left = (
        *matching_paths(policy.drift.ignore, manifest.key),
        *managed_paths(live, policy.drift.managers),
        *release.paths,
    )
    merged = engine.merge(
        original=original and give_way(original, live, left),
        modified=give_way(modified, live, left),
        live=live,
        schema=policy.schema_for(manifest.api_version, manifest.key.kind),
        rules=list_rules(policy.merge.rules, manifest.key),
    )
    if merged.write is None:
        return _unchanged(manifest, release.shown)
    changes = mask_changes(manifest, merged.changes)
    found = None
    if not _only_releases(release, changes) and _same_manifest(
        live, modified, desired, observed.settled.get(desired.key)
    ):
        found = _drift(live, changes, policy.owner.judge(live), listed=desired.key in observed.inventory.keys)
    if found and (toleration := policy.toleration(manifest.key)):
        return replace(_reported(manifest, found, toleration), changes=changes, live=live)
    reason, message = _why(live, policy, found, original)
    if reason == "Changed" and _only_releases(release, changes):
        reason, message = "Released", release.message
    return Action(
        ActionType.UPDATE,
        manifest.key,
        reason,
        message,
        changes=changes,
        write=merged.write,
        manifest=manifest,
        drift=found,
        live=live,
        released=release.shown,
    )


def _original(live: JSONObject, modified: JSONObject, configuration: JSONObject) -> JSONObject | None:
    """What was applied last; it need not be read when it is what is applied now."""
    remembered = last_applied.text_of(live)
    if remembered is not None and remembered == last_applied.text_of(modified):
        return configuration
    original = last_applied.read(live)
    if original is not None and is_apply_config(configuration):
        return without_list(original)  # kubectl applied what Git says of the list; to syncd it is no contents
    return original


def _without_mark(modified: JSONObject) -> JSONObject:
    """With a null for the object's own mark, which deletes it; last applied was written before, and knows nothing."""
    metadata = modified["metadata"]
    return {**modified, "metadata": {**metadata, "annotations": {**metadata["annotations"], RELEASE: None}}}


def _only_releases(release: Release, changes: tuple[FieldChange, ...]) -> bool:
    """Whether nothing is to change but what is remembered of fields that are given up."""
    return bool(release.leaving or release.is_over) and all(change.path == RELEASE_PATH for change in changes)


def _refusal(manifest: Manifest, live: JSONObject, policy: Policy, *, listed: bool) -> Action | None:
    """Why an existing object is not ours to change, if it is not."""
    if live["metadata"].get("deletionTimestamp"):
        message = "it is being deleted; it will be created again once it is gone"
        return _blocked(manifest, "Terminating", message, live)
    owner = policy.owner.judge(live)
    if owner is Ownership.OTHER and named_owner(live) not in policy.adopt.from_:
        message = (
            f"{manifest.origin}: {manifest.key.display()} belongs to {named_owner(live)}, so {policy.owner.sync} "
            "leaves it alone; remove it from one of the two, or take it over with adopt.from"
        )
        return _blocked(manifest, "OwnedByOther", message, live)
    made_by = controller(live)
    if owner is Ownership.NOBODY and made_by:
        message = f"{manifest.origin}: {manifest.key.display()} is made and controlled by {made_by}"
        return _blocked(manifest, "ControlledByOther", message, live)
    if owner is Ownership.NOBODY and not policy.adopt.unowned and not listed:
        message = f"{manifest.origin}: {manifest.key.display()} exists already, and the Sync's adopt.unowned is false"
        return _blocked(manifest, "NotAdopted", message, live)
    return None


def _settled_apart_from_status(desired: Desired, live: JSONObject, settled: Settled | None) -> bool:
    return bool(settled and settled.live and settled.desired == desired.digest and settled.live == live_digest(live))


def _same_manifest(live: JSONObject, modified: JSONObject, desired: Desired, settled: Settled | None) -> bool:
    """Whether live was last applied from this very manifest, so that any difference is somebody else's doing.

    An object too large for its last-applied annotation does not say; then only memory can.
    """
    remembered = annotation(live, last_applied.ANNOTATION)
    if remembered:
        return remembered == annotation(modified, last_applied.ANNOTATION)
    return settled is not None and settled.desired == desired.digest


def _drift(live: JSONObject, changes: tuple[FieldChange, ...], owner: Ownership, *, listed: bool) -> Drift | None:
    """The drift in a difference from an unchanged manifest; None if the object was never ours."""
    if owner in (Ownership.FORMERLY_OURS, Ownership.OTHER):
        return None
    if owner is Ownership.NOBODY:
        return Drift(DriftReason.OWNER_LOST, changes) if listed else None
    return drift.describe(live, changes)


def _why(live: JSONObject, policy: Policy, found: Drift | None, original: JSONObject | None) -> tuple[str, str]:
    if found and found.reason is DriftReason.OWNER_LOST:
        return "OwnerLost", "somebody took its owner's marks away"
    if found:
        by = f" by {found.manager}" if found.manager else ""
        return "Drift", f"it was changed in the cluster{by}"
    owner = policy.owner.judge(live)
    if owner is Ownership.NOBODY:
        how = "was applied by kubectl" if original is not None else "was there already"
        return "Adopted", f"it {how} and had no owner"
    if owner is Ownership.OTHER:
        return "TakenOver", f"it was taken over from {named_owner(live)}"
    if owner is Ownership.FORMERLY_OURS:
        return "Reclaimed", "its apply-config object is another one now"
    return "Changed", "it was changed in Git"


def as_it_was(action: Action) -> Action:
    """The action as it turns out when the server says that the object already is what was to be written.

    Servers fill in defaults inside lists that Git replaces as a whole, where only they can tell a default from an edit.
    """
    return replace(action, type=ActionType.UNCHANGED, reason=UP_TO_DATE, message="", changes=(), write=None, drift=None)


def _unchanged(manifest: Manifest, released: tuple[str, ...] = ()) -> Action:
    # The live object is let go: ten thousand of them, parsed, would fill the memory for nothing.
    return Action(ActionType.UNCHANGED, manifest.key, UP_TO_DATE, manifest=manifest, released=released)


def _blocked(manifest: Manifest, reason: str, message: str, live: JSONObject | None = None) -> Action:
    return Action(ActionType.SKIP, manifest.key, reason, message, manifest=manifest, live=live, blocking=True)


def _failed(manifest: Manifest, error: SyncdError, live: JSONObject | None = None) -> Action:
    if isinstance(error, MergeError) and not error.about:
        error.about = manifest.key.display()
    return _blocked(manifest, error.reason, mask_text(f"{manifest.origin}: {error}", manifest.hidden), live)


def _reported(manifest: Manifest, found: Drift, toleration: Toleration) -> Action:
    return Action(ActionType.SKIP, manifest.key, *toleration, manifest=manifest, drift=found)
