"""Whatever commits, people, crashes and other Syncs do, the cluster ends as Git wants it, and nothing foreign is lost.

Hypothesis makes up the story; at the end everything comes to rest, and the invariants are looked at.
"""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from syncd.engine.inventory import InventoryStore
from syncd.inventory import names
from syncd.model import SyncdError
from syncd.sandbox.server import SandboxServer
from tests.support.instance import Fuse, Git, Instance, KilledError, apply_config, config_map, sync

if TYPE_CHECKING:
    from syncd.inventory import ApplyConfig
    from syncd.model import JSONObject

SYNCS = {name: sync(name, prune={"budget": {"percent": 100}}) for name in ("one", "two")}
NAMES = ("a", "b", "c", "d")
FOREIGN = ("a", "foreign")
"""Objects of nobody in the place where Syncs put theirs: one that Git may come to want, one that it never does."""
PLACE = "default"
_sync = st.sampled_from(sorted(SYNCS))
_name = st.sampled_from(NAMES)


class Story(RuleBasedStateMachine):
    """Two Syncs whose repositories may want the same objects, one cluster, and people who reach into it."""

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory(prefix="syncd-story-")
        self._server = SandboxServer(controllers=False)
        self._server.start()
        self._kubeconfig = self._server.write_kubeconfig(Path(self._folder.name) / "kubeconfig")
        self._kind = next(kind for kind in self._server.objects.kinds() if kind.kind == "ConfigMap")
        self._wanted: dict[str, dict[str, str]] = {name: {} for name in SYNCS}
        self._git = Git(**dict.fromkeys(SYNCS, ()))
        self._places = dict.fromkeys(SYNCS, "")
        self._ever_wanted: set[str] = set()
        self._freed: set[str] = set()
        self._foreign: dict[str, str] = {}
        self._life = self._born()

    def _born(self) -> Instance:
        return Instance(self._kubeconfig, self._git, syncs=SYNCS.values())

    def teardown(self) -> None:
        """Bring everything to rest, look, and clear up."""
        try:
            self._rest()
        finally:
            self._life.__exit__()
            self._server.stop()
            self._folder.cleanup()

    @initialize()
    def others_were_here_first(self) -> None:
        for name in FOREIGN:
            made = self._server.objects.create(self._kind, config_map(name, PLACE, by="somebody"), manager="somebody")
            self._foreign[name] = made["metadata"]["uid"]

    @rule(name=_sync, wanted=st.dictionaries(_name, st.sampled_from(("red", "blue")), min_size=1))
    def commit(self, name: str, wanted: dict[str, str]) -> None:
        self._wanted[name] = wanted
        self._ever_wanted |= wanted.keys()
        self._commit(name)

    @rule(name=_sync, place=st.sampled_from(("", "list", "other")))
    def bring(self, name: str, place: str) -> None:
        """An apply-config object comes along, is renamed, or goes."""
        self._places[name] = place and f"{place}-of-{name}"
        if self._wanted[name]:
            self._commit(name)

    def _commit(self, name: str) -> None:
        place = [apply_config(config_map(self._places[name], PLACE))] if self._places[name] else []
        objects = [config_map(item, PLACE, colour=colour) for item, colour in self._wanted[name].items()]
        self._git.commit(name, [*objects, *place])

    @rule(name=_sync)
    def reconcile(self, name: str) -> None:
        with contextlib.suppress(SyncdError):
            self._life.reconcile(SYNCS[name])

    @rule(name=_sync, number=st.integers(1, 25), answered=st.booleans())
    def crash(self, name: str, number: int, *, answered: bool) -> None:
        """Kill syncd in the middle of a reconcile, and start it anew."""
        self._life.__exit__()
        fuse = Fuse(number, answered=answered)
        dying = Instance(self._kubeconfig, self._git, fuse, syncs=SYNCS.values())
        with dying, contextlib.suppress(KilledError, SyncdError):
            dying.reconcile(SYNCS[name])
        self._life = self._born()

    @rule(name=_name)
    def edit(self, name: str) -> None:
        if (live := self._live(name)) is not None:
            changed = {**live, "data": {**live.get("data", {}), "colour": "green"}}
            self._server.objects.update(self._kind, changed, manager="somebody")

    @rule(name=_name)
    def delete(self, name: str) -> None:
        if (live := self._live(name)) is not None and _owner(live):
            self._server.objects.delete(self._kind, PLACE, name)

    @rule(name=_name)
    def take_the_marks_off(self, name: str) -> None:
        """Somebody takes an object away from its Sync."""
        if (live := self._live(name)) is not None:
            marks = {names.OWNER_ANNOTATION, names.SYNC_ANNOTATION}
            metadata = live["metadata"]
            labels = {key: value for key, value in metadata.get("labels", {}).items() if key != names.APPLY_ID_LABEL}
            kept = {key: value for key, value in metadata.get("annotations", {}).items() if key not in marks}
            changed = {**live, "metadata": {**metadata, "labels": labels, "annotations": kept}}
            self._server.objects.update(self._kind, changed, manager="somebody")
            self._freed.add(name)

    @invariant()
    def nothing_foreign_is_gone(self) -> None:
        for name in self._foreign.keys() - self._ever_wanted:
            live = self._live(name)
            assert live is not None
            assert live["metadata"]["uid"] == self._foreign[name]
            assert not _owner(live)

    def _live(self, name: str) -> JSONObject | None:
        return self._server.objects.find(self._kind, PLACE, name)

    @precondition(lambda self: any(self._wanted.values()))
    @rule()
    def rest(self) -> None:
        self._rest()

    def _rest(self) -> None:
        """Both Syncs go on until they change nothing; what both want stays with whoever has it, and is refused."""
        self._life.__exit__()
        self._life = self._born()  # it lists anew: the watch of the one before may lag behind what people just did
        active = [name for name in SYNCS if self._wanted[name]]
        for _ in range(6):
            results = [self._life.reconcile(SYNCS[name]) for name in active]
        assert not any(result.plan.changes_cluster for result in results), "it does not come to rest"
        listed = {name: self._listed(name) for name in active}
        owners = {name: self._owner_of(name) for name in NAMES}
        for name in NAMES:
            wanting = [sync_name for sync_name in active if name in self._wanted[sync_name]]
            live = self._live(name)
            if wanting:
                assert live is not None, f"{name} is wanted and not there"
                assert owners[name] in wanting, f"{name} belongs to {owners[name]}, but {wanting} want it"
                assert live["data"]["colour"] == self._wanted[owners[name]][name]
            elif owners[name]:
                raise AssertionError(f"{name} is owned by {owners[name]}, and nobody wants it")
        for sync_name in active:
            inventory = self._inventory(sync_name)
            assert (inventory.name if inventory.brought else "") == self._places[sync_name]
            owned = {name for name in NAMES if owners[name] == sync_name}
            assert owned <= listed[sync_name], "something owned is not listed"
            assert listed[sync_name] - owned <= self._freed, "something is listed that is not owned"

    def _listed(self, name: str) -> set[str]:
        return {key.name for key in self._inventory(name).keys}

    def _inventory(self, name: str) -> ApplyConfig:
        return InventoryStore(self._life.cluster, SYNCS[name]).read(self._life.deadline())

    def _owner_of(self, name: str) -> str:
        live = self._live(name)
        return _owner(live).rpartition("/")[2] if live else ""


def _owner(live: JSONObject) -> str:
    return str((live["metadata"].get("annotations") or {}).get(names.SYNC_ANNOTATION, ""))


TestStory = Story.TestCase
TestStory.settings = settings(
    max_examples=10, stateful_step_count=10, deadline=None, suppress_health_check=list(HealthCheck)
)
