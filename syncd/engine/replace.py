"""Making one object anew because a field of it cannot change: deleted, created, and restored if that fails.

Nothing is deleted before the server has said, by a dry run, that it would take the new object. What is deleted is kept
in memory until the new one is there. Killed in between, the next reconcile creates the object from Git: its key is in
the inventory all the time.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from syncd.cluster.errors import AlreadyExistsError, ApiError, InvalidError, NotFoundError
from syncd.model import Action, SyncdError, Write, WriteMethod
from syncd.plan.immutable import Cause, check_replaceable, immutable_fields, restorable
from syncd.plan.objects import creation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from syncd.cluster import Resource
    from syncd.engine.work import Work
    from syncd.model import JSONObject, Manifest, ObjectKey
    from syncd.plan.settings import Desired, Policy

REPLACED: Final = "Replaced"
_PATIENCE: Final = 10.0
"""Seconds to wait until a deleted object is gone; one that lingers longer is made anew by a later reconcile."""
_PAUSE: Final = 0.1
_ALREADY_ALLOCATED: Final = re.compile(r"already allocated")
"""What a Service's fixed port or address is for as long as the old one has it."""


class ReplaceError(SyncdError):
    """An object that had to be made anew could not be."""

    reason = "ReplaceFailed"


class LingersError(SyncdError):
    """An object that is to be made anew is deleted, and not gone yet."""

    reason = "Terminating"


class Replaced(NamedTuple):
    """An object that was made anew."""

    action: Action
    answer: JSONObject


class Replacer:
    """Makes objects anew in one reconcile; used by many threads at once."""

    def __init__(self, work: Work, desired: Mapping[ObjectKey, Desired], policy: Policy) -> None:
        self._cluster = work.cluster
        self._memory = work.memory
        self._deadline = work.deadline
        self._propagation = work.sync.spec.prune.propagation_policy
        self._desired = desired
        self._policy = policy

    def replace(self, resource: Resource, action: Action, error: InvalidError) -> Replaced:
        """Make an object anew whose update was refused, if an immutable field is the cause and that is allowed.

        Raises:
            InvalidError: The refusal itself, if it has another cause.
            ImmutableFieldError: It is not allowed.
            ReplaceError: The new object could not be created; the old one is back, or the text says that it is not.
            LingersError: The old one has finalizers that take their time.
        """
        fields = immutable_fields(Cause(*cause) for cause in error.causes)
        if not fields:
            raise error
        assert action.manifest is not None  # noqa: S101 - an update comes from a manifest
        check_replaceable(action.manifest, None, fields, self._policy)
        self._refuse_again(action.key)
        live = self._get(resource, action.key)
        check_replaceable(action.manifest, live, fields, self._policy)
        write = creation(action.manifest, self._policy)
        self._rehearse(resource, action.manifest, write)
        self._delete(resource, action.key, live)
        answer = self._create(resource, action.key, write, live)
        message = f"{' and '.join(fields)} cannot be changed, so it was deleted and created anew"
        return Replaced(replace(action, reason=REPLACED, message=message, live=None), answer)

    def _refuse_again(self, key: ObjectKey) -> None:
        """Not a second time for the same manifest, once its object had to be restored."""
        if self._memory.irreplaceable.get(key) == self._desired[key].digest:
            raise ReplaceError("it could not be made anew, and was restored; syncd tries again when Git has changed")

    def _get(self, resource: Resource, key: ObjectKey) -> JSONObject:
        return self._cluster.client.get(resource, key.namespace, key.name, timeout=self._deadline.request)

    def _rehearse(self, resource: Resource, manifest: Manifest, write: Write) -> None:
        """Ask whether the server would take the new object, which it refuses at last because the old one is there."""
        try:
            self._cluster.client.create(resource, write.body or {}, dry_run=True, timeout=self._deadline.request)
        except AlreadyExistsError:
            return
        except InvalidError as error:
            if not all(_ALREADY_ALLOCATED.search(cause.message) for cause in error.causes):
                problem = f"it has to be made anew, and the new one would be refused: {error}"
                raise ReplaceError(f"{manifest.origin}: {problem}") from error

    def _delete(self, resource: Resource, key: ObjectKey, live: JSONObject) -> None:
        metadata = live["metadata"]
        self._deadline.check(f"making {key.display()} anew")
        write = Write(WriteMethod.DELETE, uid=metadata["uid"], resource_version=metadata["resourceVersion"])
        self._cluster.client.delete(
            resource, key.namespace, key.name, write, self._propagation, timeout=self._deadline.request
        )
        waited = 0.0
        while not self._is_gone(resource, key, metadata["uid"]):
            if waited >= _PATIENCE or self._deadline.over:
                raise LingersError("it was deleted to be made anew, and is not gone yet; it is made anew once it is")
            self._deadline.wait(_PAUSE)
            waited += _PAUSE
        self._cluster.live.record_deletion(key, metadata["uid"])

    def _is_gone(self, resource: Resource, key: ObjectKey, uid: str) -> bool:
        try:
            return bool(self._get(resource, key)["metadata"]["uid"] != uid)
        except NotFoundError:
            return True

    def _create(self, resource: Resource, key: ObjectKey, write: Write, old: JSONObject) -> JSONObject:
        client, timeout = self._cluster.client, self._deadline.request
        try:
            if write.method is WriteMethod.CREATE:
                return client.create(resource, write.body or {}, timeout=timeout)
            return client.patch(resource, key.namespace, key.name, write, timeout=timeout)
        except ApiError as error:
            if error.may_have_acted or isinstance(error, AlreadyExistsError):
                raise  # something is there, or will be: the next reconcile looks
            self._restore(resource, old, error)
            self._memory.irreplaceable[key] = self._desired[key].digest
            raise ReplaceError(f"it was deleted and could not be made anew, so it was restored: {error}") from error

    def _restore(self, resource: Resource, old: JSONObject, cause: ApiError) -> None:
        try:
            restored = self._cluster.client.create(resource, restorable(old), timeout=self._deadline.request)
        except ApiError as error:
            raise ReplaceError(
                f"it was deleted, and could neither be made anew ({cause}) nor restored ({error}); "
                "the next reconcile makes it from Git"
            ) from error
        self._cluster.live.record_write(restored)
