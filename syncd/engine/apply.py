"""Carrying out one create or update, whatever the object turns out to be by then."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from syncd.cluster.errors import AlreadyExistsError, ApiError, ConflictError, InvalidError, NotFoundError
from syncd.engine.established import await_established
from syncd.engine.kinds import require
from syncd.engine.replace import Replacer
from syncd.model import Action, ActionType, JSONObject, Outcome, OutcomeStatus, SyncdError, WriteMethod
from syncd.plan.desired import live_digest
from syncd.plan.guards.contents import CRD
from syncd.plan.mask import mask_text
from syncd.plan.objects import as_it_was, creation, plan_existing
from syncd.plan.settings import Settled

if TYPE_CHECKING:
    from collections.abc import Mapping

    from syncd.cluster import Resource
    from syncd.engine.work import Work
    from syncd.model import ObjectKey, Write
    from syncd.plan.settings import Desired, Observation, Policy

_ATTEMPTS = 5
"""How often one object is read and merged again when somebody else writes to it at the same time (kubectl's number)."""


class Applier:
    """Carries out creates and updates of one reconcile; used by many threads at once."""

    def __init__(self, work: Work, desired: Mapping[ObjectKey, Desired], observed: Observation, policy: Policy) -> None:
        self._cluster = work.cluster
        self._memory = work.memory
        self._deadline = work.deadline
        self._desired = desired
        self._observed = observed
        self._policy = policy
        self._replacer = Replacer(work, desired, policy)

    def carry_out(self, action: Action) -> Outcome:
        """Do one action; never raises for an expected failure."""
        try:
            done = self._apply(action)
        except SyncdError as error:
            hidden = action.manifest.hidden if action.manifest is not None else ()
            message = mask_text(f"{action.key.display()}: {error}", hidden)
            return Outcome(action, OutcomeStatus.FAILED, message, error.reason)
        if done.blocking:
            return Outcome(done, OutcomeStatus.FAILED, done.message, done.reason)
        return Outcome(done, OutcomeStatus.DONE)

    def _apply(self, action: Action) -> Action:
        resource = self._resource(action)
        done: Action | None = None
        for _ in range(_ATTEMPTS):
            self._deadline.check(f"applying {action.key.display()}")
            if action.write is None:
                return action if done is None or action.blocking else done
            try:
                answer = self._send(resource, action, action.write)
            except InvalidError as error:
                action, answer = self._replacer.replace(resource, action, error)
            except (AlreadyExistsError, ConflictError, NotFoundError) as error:
                action = self._again(resource, action, error)
                continue
            if action.key.group_kind == CRD:
                await_established(self._cluster, resource, answer, self._deadline)
            done = done or (as_it_was(action) if _is_unmoved(action, answer) else action)
            rest = self._rest(action, answer)
            if rest is None:
                return done
            action = rest
        if done is not None:
            return done  # it is not remembered as settled, so the next reconcile looks at it again
        raise ConflictError(f"somebody else kept changing it: {_ATTEMPTS} attempts to merge were overtaken")

    def _rest(self, action: Action, answer: JSONObject) -> Action | None:
        """What is still to be done after a write; None if nothing is, and then the object counts as settled.

        A patch has no precondition, so somebody may have changed the object between our read and our write: then the
        answer is not yet what it should be, though our request was carried out. What the server leaves as it is when
        it is asked once more, it writes its own way (``1000m`` as ``1``), and means the same by it.
        """
        self._cluster.live.record_write(answer)
        if action.type is ActionType.UPDATE and not _is_unmoved(action, answer):
            rest = plan_existing(self._desired[action.key], answer, self._observed, self._policy)
            if rest.type is not ActionType.UNCHANGED:
                return rest
        self._memory.settled[action.key] = Settled(
            self._desired[action.key].digest, answer["metadata"]["resourceVersion"], live_digest(answer)
        )
        return None

    def _resource(self, action: Action) -> Resource:
        """How the object's kind is served now; a definition that came a moment ago may have brought it."""
        assert action.manifest is not None  # noqa: S101 - creates and updates come from a manifest
        return require(self._cluster.discovery, action.manifest.api_version, action.key.kind)

    def _send(self, resource: Resource, action: Action, write: Write) -> JSONObject:
        """Send the request, and give what the server says that the object is now."""
        client, key = self._cluster.client, action.key
        timeout = self._deadline.request
        if write.method is WriteMethod.CREATE:
            return client.create(resource, write.body or {}, timeout=timeout)
        if action.type is ActionType.CREATE:
            self._refuse_existing(resource, key)
        return client.patch(resource, key.namespace, key.name, write, timeout=timeout)

    def _refuse_existing(self, resource: Resource, key: ObjectKey) -> None:
        """Before a server-side apply that is meant to create: it would take an existing object over without a word."""
        try:
            self._cluster.client.get(resource, key.namespace, key.name, timeout=self._deadline.request)
        except NotFoundError:
            return
        raise AlreadyExistsError(f"{key.display()} already exists")

    def _again(self, resource: Resource, action: Action, error: ApiError) -> Action:
        """Read the object and decide anew."""
        key = action.key
        try:
            live = self._cluster.client.get(resource, key.namespace, key.name, timeout=self._deadline.request)
        except NotFoundError:
            if action.type is ActionType.CREATE and isinstance(error, NotFoundError):
                raise error from None  # not the object is missing, but the namespace that it should go into
            assert action.manifest is not None  # noqa: S101 - creates and updates come from a manifest
            write = creation(action.manifest, self._policy)
            return replace(action, type=ActionType.CREATE, write=write, live=None)
        self._cluster.live.record_write(live)
        return plan_existing(self._desired[key], live, self._observed, self._policy)


def _is_unmoved(action: Action, answer: JSONObject) -> bool:
    """Whether the server found nothing to write: it keeps the resourceVersion then."""
    if action.type is not ActionType.UPDATE or action.live is None:
        return False
    return bool(action.live["metadata"]["resourceVersion"] == answer["metadata"]["resourceVersion"])
