"""A cluster, people, repositories, and many Syncs of one daemon; and what must hold once it comes to rest.

The invariants are those of the project: everything desired is live and owned, everything pruned was ours, nothing
foreign was ever deleted, and the inventory lists what is live and owned.
"""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, NamedTuple, Self

from syncd.cluster import Cluster
from syncd.engine.deadline import Deadline
from syncd.engine.inventory import InventoryStore
from syncd.inventory import names
from syncd.model import ObjectKey
from syncd.sandbox.errors import StatusError
from syncd.sandbox.server import SandboxServer
from syncd.spec import parse_sync
from tests.support.clusters import AGENT
from tests.support.daemon import DaemonProcess, eventually, sync_document
from tests.support.repository import Repository

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from syncd.model import JSONObject
    from syncd.sandbox.app import Audit, Fault
    from syncd.sandbox.kinds import ServedKind
    from syncd.sandbox.requests import Request

KINDS = ("ConfigMap", "Secret", "ServiceAccount")
COLOUR = "example.com/colour"
PATIENCE = 240.0
"""Seconds for everything to come to rest; far more than it should take."""


class Thing(NamedTuple):
    """An object that a Sync may want."""

    kind: str
    namespace: str
    name: str

    def body(self, colour: str, *, holds_list: bool = False) -> JSONObject:
        """It as Git has it."""
        labels = {COLOUR: colour} | ({names.APPLY_CFG_LABEL: "true"} if holds_list else {})
        metadata = {"name": self.name, "labels": labels}
        if self.namespace:
            metadata["namespace"] = self.namespace
        return {"apiVersion": "v1", "kind": self.kind, "metadata": metadata}

    @property
    def key(self) -> ObjectKey:
        """Its key."""
        return ObjectKey(self.namespace, "", self.kind, self.name)


class World:
    """All of it; everything that syncd may see happens by its methods.

    Args:
        folder: Where repositories and the daemon's files are.
        syncs: The names of the Syncs, each with what its spec says besides the usual.
    """

    def __init__(self, folder: Path, syncs: Mapping[str, JSONObject]) -> None:
        self.fault: Callable[[Request], Fault | None] = lambda _request: None
        self.server = SandboxServer(intercept=self._before, on_request=self._after)
        self.server.start()
        self.repositories = {name: Repository(folder / f"{name}.git") for name in syncs}
        self.wanted: dict[str, dict[Thing, str]] = {name: {} for name in self.repositories}
        self.place: dict[str, Thing | None] = dict.fromkeys(self.repositories)
        self.heads: dict[str, str] = {}
        self.foreign: dict[Thing, str] = {}
        self.freed: set[Thing] = set()
        self.violations: list[str] = []
        self.requests = 0
        self._doomed: dict[str, str] = {}
        self._kinds = {kind.kind: kind for kind in self.server.objects.kinds() if kind.kind in (*KINDS, "Namespace")}
        self._plurals = {kind.plural: kind.kind for kind in self._kinds.values()}
        kubeconfig = self.server.write_kubeconfig(folder / "kubeconfig")
        generous = {"budget": {"objects": 1_000_000, "percent": 100}}
        self._documents = {
            name: sync_document(name, repository.url, prune=generous, interval="1s", **syncs[name])
            for name, repository in self.repositories.items()
        }
        self.cluster = Cluster.connect(kubeconfig, None, "somebody/1")
        self.daemon = DaemonProcess(folder, kubeconfig, *self._documents.values())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.daemon.kill()
        self.cluster.close()
        self.server.stop()

    def commit(self, name: str, *, rewrite: bool = False) -> None:
        """Let a Sync's repository say what is wanted now; ``rewrite`` throws its history away."""
        place = self.place[name]
        bodies = [thing.body(colour, holds_list=thing == place) for thing, colour in self.wanted[name].items()]
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": bodies})
        self.heads[name] = self.repositories[name].commit({"all.json": text}, rewrite=rewrite)

    def kind(self, name: str) -> ServedKind:
        """How a kind is served."""
        return self._kinds[name]

    def live(self, thing: Thing) -> JSONObject | None:
        """The object as it is."""
        return self.server.objects.find(self._kinds[thing.kind], thing.namespace, thing.name)

    def write(self, thing: Thing, body: JSONObject) -> None:
        """Somebody writes an object, unless somebody else was faster."""
        with contextlib.suppress(StatusError):
            self.server.objects.update(self._kinds[thing.kind], body, manager="somebody")

    def delete(self, thing: Thing) -> None:
        """Somebody deletes an object, unless it is gone already."""
        with contextlib.suppress(StatusError):
            self.server.objects.delete(self._kinds[thing.kind], thing.namespace, thing.name)

    def put_foreign(self, thing: Thing) -> None:
        """Somebody makes an object that no Sync has anything to do with."""
        made = self.server.objects.create(self._kinds[thing.kind], thing.body("foreign"), manager="somebody")
        self.foreign[thing] = made["metadata"]["uid"]

    def rest(self, *, restart: bool = True) -> None:
        """Let everything go well from now on, wait until it has come to rest, and look."""
        self.fault = lambda _request: None
        if restart:
            self.daemon.kill()
            self.daemon.start()
        for name, head in self.heads.items():
            self._wait_synced(name, head)
        problems: list[str] = []

        def settled() -> bool:
            problems[:] = self.problems()
            return not problems

        try:
            eventually("all is as it should be", settled, patience=PATIENCE)
        except AssertionError:
            raise AssertionError("\n".join(problems)) from None
        assert not self.violations, "\n".join(self.violations)

    def problems(self) -> list[str]:
        """What is not as it must be at rest."""
        return [problem for name in self.wanted for problem in self._problems_of(name)] + list(self._foreign_problems())

    def _problems_of(self, name: str) -> Iterator[str]:
        inventory = InventoryStore(self.cluster, parse_sync(self._documents[name])).read(Deadline.after(PATIENCE))
        place = self.place[name]
        if inventory.damage:
            yield f"{name}: its list is in doubt: {inventory.damage}"
        if (inventory.key if inventory.brought else None) != (place.key if place else None):
            yield f"{name}: its list is in {inventory.key}, and should be in {place}"
        for thing, colour in self.wanted[name].items():
            if thing.key not in inventory.keys and thing.key != inventory.key:
                yield f"{name}: {thing.key} is not listed"
            elif problem := _trouble_with(self.live(thing), colour, (f"syncd/{name}", inventory.uid)):
                yield f"{name}: {thing.key} {problem}"
        wanted = {thing.key for thing in self.wanted[name]}
        owned = {thing.key for thing in self._things() if _owner(self.live(thing) or {})[0] == f"syncd/{name}"}
        for key in owned - wanted:
            if not self._holds_foreign(key):
                yield f"{name}: {key} is not wanted, and there"
        for key in inventory.keys - owned - {thing.key for thing in self.freed}:
            yield f"{name}: {key} is listed, and is not its own"

    def _foreign_problems(self) -> Iterator[str]:
        for thing, uid in self.foreign.items():
            live = self.live(thing)
            if live is None or live["metadata"]["uid"] != uid:
                yield f"{thing} was somebody else's, and is gone"
            elif _owner(live)[0]:
                yield f"{thing} was somebody else's, and belongs to {_owner(live)} now"

    def _things(self) -> list[Thing]:
        return [
            Thing(kind, body["metadata"].get("namespace", ""), body["metadata"]["name"])
            for kind, served in self._kinds.items()
            for body in self.server.objects.list(served)
        ]

    def _holds_foreign(self, key: ObjectKey) -> bool:
        return key.kind == "Namespace" and any(thing.namespace == key.name for thing in (*self.foreign, *self.freed))

    def _wait_synced(self, name: str, head: str) -> None:
        last: JSONObject = {}

        def is_synced() -> bool:
            last.update(self.daemon.status(name))
            return last["state"] == "Synced" and (last["applied"] or {}).get("commit") == head

        try:
            eventually(f"{name} is at {head}", is_synced, patience=PATIENCE)
        except AssertionError as error:
            raise AssertionError(f"{error}; {json.dumps(last)[:2000]}") from None

    def _before(self, request: Request) -> Fault | None:
        """Note when an object is about to be deleted that is not ours."""
        kind = self._plurals.get(request.resource, "")
        if request.verb == "delete" and kind and request.user_agent.startswith(AGENT):
            thing = Thing(kind, request.namespace, request.name)
            live = self.live(thing)
            if live is not None and not _is_ours(live):
                self._doomed[request.path] = f"{thing} was deleted, and was not ours"
        return self.fault(request)

    def _after(self, audit: Audit) -> None:
        if audit.user_agent.startswith(AGENT):
            self.requests += 1
            problem = self._doomed.pop(audit.path, "") if audit.verb == "delete" else ""
            if problem and 200 <= audit.code < 300:
                self.violations.append(problem)


def _trouble_with(live: JSONObject | None, colour: str, owner: tuple[str, str]) -> str:
    """What is wrong with an object that is wanted, if anything."""
    if live is None:
        return "is wanted and not there"
    if live["metadata"]["labels"].get(COLOUR) != colour:
        return f"is not {colour}"
    return "" if _owner(live) == owner else f"belongs to {_owner(live)}, not to {owner}"


def _owner(live: JSONObject) -> tuple[str, str]:
    annotations = live.get("metadata", {}).get("annotations") or {}
    return annotations.get(names.SYNC_ANNOTATION, ""), annotations.get(names.OWNER_ANNOTATION, "")


def _is_ours(live: JSONObject) -> bool:
    labels = live["metadata"].get("labels") or {}
    return bool(_owner(live)[0]) or names.PAGE_LABEL in labels or names.APPLY_CFG_LABEL in labels
