"""Carrying out one deletion, or one release, on the strength of a fresh read."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from syncd.cluster.errors import ConflictError, NotFoundError
from syncd.engine.kinds import require_kind
from syncd.engine.observe import contents, look_for_users
from syncd.engine.users import Users
from syncd.model import Action, ActionType, JSONObject, ObjectKey, Outcome, OutcomeStatus, SyncdError, Write
from syncd.plan.guards.contents import CONTAINERS
from syncd.plan.prune import judge, terminating

if TYPE_CHECKING:
    from collections.abc import Mapping

    from syncd.cluster import Resource
    from syncd.engine.work import Work
    from syncd.plan.guards import PruneContext

_ATTEMPTS = 5


class Pruner:
    """Carries out the prunes of one reconcile; used by many threads at once."""

    def __init__(self, work: Work, context: PruneContext, controllers: Mapping[str, str]) -> None:
        self._cluster = work.cluster
        self._propagation = work.sync.spec.prune.propagation_policy
        self._deadline = work.deadline
        self._context = context
        self._deleted: set[str] = set()
        self._users = Users(
            work.cluster, work.deadline, controllers
        )  # asked anew: what was applied meanwhile may use something

    def carry_out(self, action: Action) -> Outcome:
        """Do one action; never raises for an expected failure.

        The outcome's action says what it came to: a prune that is confirmed is a prune with ``release``; one whose
        object lingers with finalizers is a keep with the reason Terminating.
        """
        try:
            return Outcome(self._prune(action), OutcomeStatus.DONE)
        except SyncdError as error:
            return Outcome(action, OutcomeStatus.FAILED, f"{action.key.display()}: {error}", error.reason)

    def _prune(self, action: Action) -> Action:
        key = action.key
        resource = require_kind(self._cluster.discovery, key.group_kind)
        for _ in range(_ATTEMPTS):
            self._deadline.check(f"pruning {key.display()}")
            try:
                live = self._cluster.client.get(resource, key.namespace, key.name, timeout=self._deadline.request)
                action = self._judge(key, live)
                if action.write is None:
                    return action
                return self._send(resource, action, action.write)
            except NotFoundError:
                self._cluster.live.record_deletion(key, _uid(action))
                return replace(action, type=ActionType.PRUNE, reason="AlreadyGone", message="it is gone", release=True)
            except ConflictError:
                continue  # it changed between the read and the request, so the proofs are not fresh any more
        raise ConflictError(f"somebody else kept changing it: {_ATTEMPTS} deletions were overtaken")

    def _judge(self, key: ObjectKey, live: JSONObject) -> Action:
        context = self._context
        if key.group_kind in CONTAINERS:
            held = contents(self._cluster, key, live, context.owner, self._deadline)
            context = replace(context, contents={} if held is None else {key: held})
        context = replace(context, users=look_for_users(self._users, [key]), going=self._deleted)
        return judge(key, live, context, held=None)

    def _send(self, resource: Resource, action: Action, write: Write) -> Action:
        key, timeout = action.key, self._deadline.request
        if action.type is ActionType.KEEP:
            released = self._cluster.client.patch(resource, key.namespace, key.name, write, timeout=timeout)
            self._cluster.live.record_write(released)
            return action
        answer = self._cluster.client.delete(
            resource, key.namespace, key.name, write, self._propagation, timeout=timeout
        )
        if self._propagation != "Orphan":
            self._deleted.add(write.uid)
        if answer.get("metadata", {}).get("deletionTimestamp"):
            self._cluster.live.record_write(answer)
            return terminating(key, answer)
        self._cluster.live.record_deletion(key, write.uid)
        return replace(action, release=True)


def _uid(action: Action) -> str:
    return action.live["metadata"]["uid"] if action.live else ""
