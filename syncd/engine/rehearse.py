"""Asking the API server what updates would come to, without making them: a plan for people says only what is so."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from syncd.engine.kinds import require
from syncd.model import Action, ActionType, SyncdError
from syncd.plan.desired import live_digest
from syncd.plan.objects import as_it_was

if TYPE_CHECKING:
    from syncd.engine.work import Work
    from syncd.model import Plan


def rehearse(work: Work, plan: Plan) -> Plan:
    """The plan without the updates that the server would find nothing to do for; one dry run for each update."""
    updates = {action.key: work.pool.submit(_rehearse, work, action) for action in plan.of(ActionType.UPDATE)}
    if not updates:
        return plan
    actions = tuple(updates[action.key].result() if action.key in updates else action for action in plan.actions)
    return replace(plan, actions=actions)


def _rehearse(work: Work, action: Action) -> Action:
    """The action as it would turn out; as planned if the server cannot be asked, or refuses."""
    if action.write is None or action.live is None or action.manifest is None:
        return action
    try:
        resource = require(work.cluster.discovery, action.manifest.api_version, action.key.kind)
        answer = work.cluster.client.patch(
            resource, action.key.namespace, action.key.name, action.write, dry_run=True, timeout=work.deadline.request
        )
    except SyncdError:
        return action
    return as_it_was(action) if live_digest(answer) == live_digest(action.live) else action
