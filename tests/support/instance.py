"""One life of syncd inside a test: reconciles what the test hands over, and can be killed at any request.

Nothing of one life is left to the next but the cluster, as after a SIGKILL.
"""

from __future__ import annotations

import hashlib
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Self

import orjson

from syncd.cluster import Cluster
from syncd.cluster.errors import RequestCancelledError
from syncd.cluster.retry import RetryPolicy
from syncd.engine.deadline import Deadline
from syncd.engine.memory import Memory
from syncd.engine.reconcile import Reconciler
from syncd.inventory import names
from syncd.model import Manifest, Origin, Revision
from syncd.render.objects import key_of
from syncd.spec import Sync, parse_sync

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from syncd.engine.result import Reconciliation
    from syncd.engine.sources import Sources
    from syncd.model import JSONObject

TIME = 60.0
"""Seconds for a reconcile that nothing disturbs."""


def sync(name: str = "shop", **spec: Any) -> Sync:
    """A Sync of that name; what its source says is up to :class:`Git`."""
    source = {"git": {"url": "file:///nowhere"}}
    return parse_sync(
        {
            "apiVersion": "syncd.dev/v1alpha1",
            "kind": "Sync",
            "metadata": {"name": name},
            "spec": {"source": source, **spec},
        }
    )


def config_map(name: str, namespace: str = "shop", **data: str) -> JSONObject:
    """A ConfigMap as Git would hold it."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}, "data": data}


def apply_config(body: JSONObject, **annotations: str) -> JSONObject:
    """An object as one that says that it is an apply-config object."""
    metadata = {**body["metadata"], "labels": {names.APPLY_CFG_LABEL: "true"}}
    if annotations:
        metadata["annotations"] = annotations
    return {**body, "metadata": metadata}


def namespace(name: str) -> JSONObject:
    """A Namespace as Git would hold it."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


class Git:
    """Stands for Git and the renderers: what each Sync's source holds now, by the Sync's name."""

    def __init__(self, **objects: Iterable[JSONObject]) -> None:
        self._manifests: dict[str, tuple[Manifest, ...]] = {}
        self._commits: dict[str, str] = {}
        for name, held in objects.items():
            self.commit(name, held)

    def commit(self, name: str, objects: Iterable[JSONObject]) -> None:
        """Let a source hold these objects from now on."""
        values = list(objects)
        body = orjson.dumps({"apiVersion": "v1", "kind": "List", "items": values})
        self._manifests[name] = tuple(
            Manifest(key_of(value), value["apiVersion"], value, Origin(name)) for value in values
        )
        self._commits[name] = hashlib.sha1(body, usedforsecurity=False).hexdigest()

    def resolve(self, sync: Sync, _deadline: Deadline, _max_age: float = 0.0) -> Revision:
        """See :meth:`syncd.engine.sources.Sources.resolve`."""
        commit = self._commits[sync.metadata.name]
        return Revision("main", commit, commit)

    def manifests(self, sync: Sync, _revision: Revision, _deadline: Deadline) -> tuple[Manifest, ...]:
        """See :meth:`syncd.engine.sources.Sources.manifests`."""
        return self._manifests[sync.metadata.name]


class KilledError(BaseException):
    """Ends a life of syncd in the middle of whatever it does; no handler for failures sees it."""


class Fuse:
    """Ends a life at its n-th request: before the server gets it, or before its answer is read.

    From then on nothing reaches the server any more, from whatever thread.
    """

    def __init__(self, number: int, *, answered: bool) -> None:
        self.blown = threading.Event()
        self._number = number
        self._answered = answered
        self.count = 0
        self._lock = threading.Lock()

    def guard(self, send: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap what sends requests."""

        def guarded(*arguments: Any, **options: Any) -> Any:
            with self._lock:
                self.count += 1
                last = self.count == self._number
                if self.blown.is_set() or (last and not self._answered):
                    self._die()
                if last:
                    try:
                        send(*arguments, **options)
                    finally:
                        self._die()
            return send(*arguments, **options)

        return guarded

    def _die(self) -> None:
        self.blown.set()
        if threading.current_thread().name.startswith("syncd-live"):
            raise RequestCancelledError("the process is dead")
        raise KilledError


class Instance:
    """One life: a connection, a pool, a memory for each Sync. One request at a time, so that lives can be repeated."""

    def __init__(
        self, kubeconfig: Path, git: Git, fuse: Fuse | None = None, *, width: int = 1, syncs: Iterable[Sync] = ()
    ) -> None:
        self.kubeconfig = kubeconfig
        self.cluster = Cluster.connect(kubeconfig, None, "syncd/test")
        self.fuse = fuse
        transport: Any = self.cluster.transport
        transport._retry = RetryPolicy(first=0.01, cap=0.02)
        if fuse:
            transport._try = fuse.guard(transport._try)
            transport.stream = fuse.guard(transport.stream)
        self.git = git
        self._pool = ThreadPoolExecutor(width, thread_name_prefix="syncd-request")
        sources: Any = git
        self.reconciler = Reconciler(self.cluster, _as_sources(sources), self._pool, syncs)
        self.memories: dict[str, Memory] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)
        self.cluster.close()

    def reconcile(self, wanted: Sync, *, timeout: float = TIME) -> Reconciliation:
        """Reconcile once, as the daemon would."""
        deadline = Deadline.after(timeout, self.fuse.blown if self.fuse else None)
        revision = self.reconciler.resolve(wanted, deadline)
        memory = self.memories.setdefault(wanted.id, Memory())
        return self.reconciler.reconcile(wanted, revision, memory, deadline)

    def deadline(self) -> Deadline:
        """One that begins now."""
        return Deadline.after(TIME, self.fuse.blown if self.fuse else None)

    def settle(self, wanted: Sync, *, attempts: int = 200) -> Reconciliation:
        """Reconcile until there is nothing left to do or to wait for."""
        for _ in range(attempts):
            result = self.reconcile(wanted)
            time.sleep(0.02)  # what controllers do has no event to wait for
            waiting = {"Terminating", "StillUsed"} & {outcome.action.reason for outcome in result.outcomes}
            if not (result.plan.changes_cluster or result.failures or waiting):
                return result
        raise AssertionError(f"it does not come to rest: {result}")


def _as_sources(git: Any) -> Sources:
    found: Sources = git
    return found


def picture(objects: Mapping[str, JSONObject]) -> dict[str, JSONObject]:
    """Objects without what differs between two runs that did the same: times, versions and uids."""
    uids = {body["metadata"]["uid"]: f"uid of {key}" for key, body in objects.items()}
    text = orjson.dumps({key: _lasting(body) for key, body in objects.items()}).decode()
    for uid, name in uids.items():
        text = text.replace(uid, name)
    found: dict[str, JSONObject] = orjson.loads(text)
    return found


def _lasting(body: JSONObject) -> JSONObject:
    passing = ("resourceVersion", "creationTimestamp", "managedFields", "generation", "uid")
    metadata = {field: value for field, value in body["metadata"].items() if field not in passing}
    return {**{field: value for field, value in body.items() if field != "status"}, "metadata": metadata}
