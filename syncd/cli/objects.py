"""Sync objects of a cluster, as a person asks for them: by name, one after the other, with a daemon at work beside."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import click

from syncd.cli.main import complain
from syncd.cli.session import open_cluster
from syncd.cluster.errors import ForbiddenError, NotFoundError, NotServedError
from syncd.daemon.ending import TERMINATING
from syncd.daemon.objects import SYNCS
from syncd.model import SyncdError, Write, WriteMethod
from syncd.spec import SpecError
from syncd.spec.objects import REQUESTED_ANNOTATION, parse_object
from syncd.spec.status import parse_status

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator

    from syncd.cli.options import ClusterChoice
    from syncd.cluster import Client
    from syncd.engine.deadline import Deadline
    from syncd.model import JSONObject
    from syncd.spec import Sync
    from syncd.spec.status import Condition, SyncObjectStatus

DEFAULT_NAMESPACE: Final = "syncd"
"""Where a Sync is that is named without its namespace, as in a file."""
_TIMEOUT: Final = 30.0
_PAUSE: Final = 0.3
"""Seconds between two looks at an object that is waited for."""


class NoSyncError(SyncdError):
    """There is no such Sync object, or no Sync objects at all."""

    reason = "NoSuchSync"


class RequestNotAnsweredError(SyncdError):
    """No daemon has done in time what was asked of it."""

    reason = "RequestNotAnswered"


class NotHoldingError(SyncdError):
    """A Sync object that the cluster has does not hold."""

    reason = SpecError.reason


@dataclass(frozen=True)
class Found:
    """A Sync object as the cluster has it."""

    document: JSONObject

    @property
    def metadata(self) -> dict[str, Any]:
        """Its metadata."""
        metadata: dict[str, Any] = self.document["metadata"]
        return metadata

    @property
    def id(self) -> str:
        """``namespace/name``."""
        return f"{self.metadata['namespace']}/{self.metadata['name']}"

    @property
    def suspended(self) -> bool:
        """Whether it asks for nothing to be done."""
        return bool((self.document.get("spec") or {}).get("suspend"))

    @cached_property
    def status(self) -> SyncObjectStatus:
        """What the daemon makes of it; empty where that makes no sense."""
        return parse_status(self.document.get("status"))

    @property
    def is_held_up(self) -> bool:
        """Whether it is being brought to its end, and something keeps it for now."""
        ready = self._condition("Ready")
        return ready is not None and ready.reason == TERMINATING and bool(self.status.errors)

    def sync(self) -> Sync:
        """What it asks for.

        Raises:
            NotHoldingError: It does not hold.
        """
        try:
            return parse_object(self.document)
        except SpecError as error:
            raise NotHoldingError(f"{self.id}: {error}") from None

    def condition(self, name: str) -> tuple[str, str]:
        """The status and the message of a condition; ``Unknown`` and nothing when it is not there."""
        found = self._condition(name)
        return (found.status, found.message or found.reason) if found else ("Unknown", "")

    def _condition(self, name: str) -> Condition | None:
        return next((item for item in self.status.conditions if item.type == name), None)


class SyncObjects:
    """The Sync objects of a cluster; ``stop`` ends waits."""

    def __init__(self, client: Client, stop: threading.Event) -> None:
        self._client = client
        self._stop = stop

    def find(self, names: tuple[str, ...], namespace: str | None) -> list[Found]:
        """The Syncs of these names; all of a namespace, or of the cluster, if none is named.

        Raises:
            NoSyncError: There is none of such a name, or the cluster does not know Syncs.
        """
        if names:
            return [self.get(name, namespace) for name in names]
        with _told():
            items = list(self._client.list(SYNCS, namespace or "", timeout=_TIMEOUT, stop=self._stop))
        return sorted((Found(item) for item in items), key=lambda found: found.id)

    def get(self, name: str, namespace: str | None = None) -> Found:
        """The Sync of this name, or of this ``namespace/name``.

        Raises:
            NoSyncError: There is none, or the cluster does not know Syncs.
        """
        space, _, short = name.rpartition("/")
        space = space or namespace or DEFAULT_NAMESPACE
        try:
            with _told():
                return Found(self._client.get(SYNCS, space, short, timeout=_TIMEOUT, stop=self._stop))
        except NotFoundError:
            raise NoSyncError(f"there is no Sync {space}/{short} in the cluster") from None

    def beside(self, syncs: tuple[Sync, ...]) -> tuple[Sync, ...]:
        """All Syncs of the cluster that hold; where they may not be listed, those of the namespaces of these."""
        try:
            everyone = self.find((), None)
        except ForbiddenError:
            namespaces = sorted({sync.metadata.namespace for sync in syncs})
            complain(f"only the Syncs of {', '.join(namespaces)} may be listed: what others want is not known")
            everyone = [found for namespace in namespaces for found in self.find((), namespace)]
        known = {sync.id: sync for sync in syncs}
        for found in everyone:
            with suppress(NotHoldingError):
                known.setdefault(found.id, found.sync())
        return tuple(known.values())

    def delete(self, found: Found) -> None:
        """Ask for the end of a Sync."""
        metadata = found.metadata
        write = Write(WriteMethod.DELETE, None, uid=metadata["uid"])
        self._client.delete(SYNCS, metadata["namespace"], metadata["name"], write, timeout=_TIMEOUT, stop=self._stop)

    def change(self, found: Found, patch: JSONObject) -> Found:
        """Merge something into a Sync."""
        write = Write(WriteMethod.JSON_MERGE_PATCH, patch)
        metadata = found.metadata
        return Found(
            self._client.patch(SYNCS, metadata["namespace"], metadata["name"], write, timeout=_TIMEOUT, stop=self._stop)
        )

    def request(self, found: Found) -> str:
        """Ask for a reconcile now; gives what the status will say once it is done."""
        value = datetime.now(UTC).isoformat(timespec="microseconds")
        self.change(found, {"metadata": {"annotations": {REQUESTED_ANNOTATION: value}}})
        return value

    def await_end(self, found: Found, deadline: Deadline) -> Found | None:
        """Wait until a Sync that was deleted is gone; gives how it is if something keeps it, or it takes too long."""
        now = found
        while not (deadline.over or now.is_held_up):
            deadline.wait(_PAUSE)
            try:
                now = self.get(found.id)
            except NoSyncError:
                return None
            if now.metadata["uid"] != found.metadata["uid"]:
                return None  # another one of its name
        return now

    def wait(self, found: Found, what: str, holds: Callable[[Found], bool], deadline: Callable[[], bool]) -> Found:
        """Look at a Sync until something holds.

        Args:
            found: The Sync.
            what: What is waited for, for the error.
            holds: Whether it holds.
            deadline: Whether it is too late.

        Raises:
            RequestNotAnsweredError: It is too late.
        """
        while not self._stop.is_set():
            now = self.get(found.id)
            if holds(now):
                return now
            if deadline():
                raise RequestNotAnsweredError(f"{found.id}: {what} in time; does a daemon follow this cluster's Syncs?")
            self._stop.wait(_PAUSE)
        raise click.Abort


def refuse_sandbox(choice: ClusterChoice) -> None:
    """Complain of ``--sandbox`` where Sync objects are asked for."""
    if choice.sandbox:
        raise click.UsageError("--sandbox makes a new cluster, in which there are no Sync objects")


@contextmanager
def open_objects(choice: ClusterChoice, stop: threading.Event) -> Iterator[SyncObjects]:
    """Reach the Sync objects of a cluster.

    Raises:
        ClusterConfigError: There is no usable configuration.
    """
    refuse_sandbox(choice)
    with open_cluster(choice) as cluster:
        yield SyncObjects(cluster.client, stop)


@contextmanager
def _told() -> Iterator[None]:
    """Say in words that Syncs are not known."""
    try:
        yield
    except NotServedError:
        raise NoSyncError("the cluster does not know Syncs: install their definition, deploy/crd") from None
