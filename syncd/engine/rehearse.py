"""Asking the API server what updates would come to, without making them: a plan for people says only what is so."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from syncd.cluster.errors import InvalidError
from syncd.engine.kinds import require
from syncd.engine.replace import REPLACED
from syncd.model import Action, ActionType, SyncdError
from syncd.plan.desired import live_digest
from syncd.plan.immutable import Cause, ImmutableFieldError, check_replaceable, immutable_fields
from syncd.plan.mask import mask_text
from syncd.plan.objects import as_it_was

if TYPE_CHECKING:
    from syncd.engine.work import Work
    from syncd.model import Manifest, Plan
    from syncd.plan.settings import Policy


def rehearse(work: Work, plan: Plan, policy: Policy) -> Plan:
    """The plan as the server would have it, at the price of one dry run for each update.

    Updates that it would find nothing to do for are none, and those of fields that cannot change are refused, or say
    that the object will be made anew.
    """
    updates = {action.key: work.pool.submit(_rehearse, work, action, policy) for action in plan.of(ActionType.UPDATE)}
    if not updates:
        return plan
    actions = tuple(updates[action.key].result() if action.key in updates else action for action in plan.actions)
    return replace(plan, actions=actions)


def _rehearse(work: Work, action: Action, policy: Policy) -> Action:
    """The action as it would turn out; as planned if the server cannot be asked, or refuses."""
    if action.write is None or action.live is None or action.manifest is None:
        return action
    try:
        resource = require(work.cluster.discovery, action.manifest.api_version, action.key.kind)
        answer = work.cluster.client.patch(
            resource, action.key.namespace, action.key.name, action.write, dry_run=True, timeout=work.deadline.request
        )
    except InvalidError as error:
        return _immutable(action, action.manifest, error, policy)
    except SyncdError:
        return action
    return as_it_was(action) if live_digest(answer) == live_digest(action.live) else action


def _immutable(action: Action, manifest: Manifest, error: InvalidError, policy: Policy) -> Action:
    """What becomes of an update that the server refuses; as planned if no immutable field is the cause."""
    fields = immutable_fields(Cause(*cause) for cause in error.causes)
    if not fields:
        return action
    try:
        check_replaceable(manifest, action.live, fields, policy)
    except ImmutableFieldError as refusal:
        return replace(
            action,
            type=ActionType.SKIP,
            reason=refusal.reason,
            message=mask_text(str(refusal), manifest.hidden),
            write=None,
            blocking=True,
        )
    message = f"{' and '.join(fields)} cannot be changed, so it will be deleted and created anew"
    return replace(action, reason=REPLACED, message=message)
