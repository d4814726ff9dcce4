"""Whatever ends a reconcile, and at whichever request, the next one ends where an undisturbed one does."""

from __future__ import annotations

import contextlib
import itertools
import json
import signal
from typing import TYPE_CHECKING

import pytest

from syncd.model import SyncdError
from syncd.sandbox.server import SandboxServer
from tests.support.faults import FAULTS, SLOW, Executioner, Strike
from tests.support.instance import Fuse, Git, Instance, KilledError, apply_config, config_map, namespace, picture, sync
from tests.support.process import start_sync
from tests.support.repository import Repository

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from syncd.model import JSONObject
    from syncd.sandbox.app import Audit, Fault
    from syncd.sandbox.requests import Request

BEFORE = [namespace("shop"), config_map("settings", colour="blue"), config_map("old")]
AFTER = [namespace("shop"), config_map("settings", colour="green"), namespace("extra"), config_map("new", "extra")]
LAB = [namespace("lab"), config_map("trial", "lab")]
LIST = apply_config(config_map("list", "default", colour="blue"))
OTHER = apply_config(config_map("other", "extra"))
MOVES = {
    "comes along": (BEFORE, [*AFTER, LIST]),
    "is renamed": ([*BEFORE, LIST], [*AFTER, OTHER]),
    "goes": ([*BEFORE, LIST], AFTER),
}
"""What happens to the apply-config object in Git, while other objects come and go as well."""
MOVES_GONE_WRONG = [("409", "comes along"), ("cut after", "is renamed"), ("500", "goes")]
LIMITS = {"no pages": 0, "pages": 10, "pages come": 70, "pages come and go": 90}
"""How long a list may be without pages: before, while both are listed, and after, it takes 62, 101 and 81 bytes."""
SYNC = sync(prune={"budget": {"percent": 100}})
MADE_BY_CONTROLLERS = {("ConfigMap", "kube-root-ca.crt"), ("ServiceAccount", "default")}


class Site:
    """A sandbox with something foreign in it, and what is to go wrong there."""

    def __init__(self, folder: Path) -> None:
        self.fault: Callable[[Request], Fault | None] = lambda _request: None
        self.seen: Callable[[Audit], None] = lambda _audit: None
        self.server = SandboxServer(
            intercept=lambda request: self.fault(request),  # noqa: PLW0108  # as it is then, not as it is now
            on_request=lambda audit: self.seen(audit),  # noqa: PLW0108  # the same
        )
        self.server.start()
        self.kubeconfig = self.server.write_kubeconfig(folder / "kubeconfig")
        self.foreign = self._put_foreign()

    def _put_foreign(self) -> str:
        kind = next(kind for kind in self.server.objects.kinds() if kind.kind == "ConfigMap")
        made = self.server.objects.create(kind, config_map("foreign", "default"), manager="somebody")
        return str(made["metadata"]["uid"])

    def picture(self) -> dict[str, JSONObject]:
        """Everything that is there, but for what controllers make."""
        found = {
            f"{kind.kind} {body['metadata'].get('namespace', '')}/{body['metadata']['name']}": body
            for kind in self.server.objects.kinds()
            for body in self.server.objects.list(kind)
            if (kind.kind, body["metadata"]["name"]) not in MADE_BY_CONTROLLERS
        }
        return picture(found)


@pytest.fixture
def open_site(tmp_path: Path) -> Iterator[Callable[[], Site]]:
    """Start sandboxes, one after the other."""
    numbers = itertools.count()
    with contextlib.ExitStack() as stack:

        def start() -> Site:
            folder = tmp_path / str(next(numbers))
            folder.mkdir()
            site = Site(folder)
            stack.callback(site.server.stop)
            return site

        yield start


def live(site: Site, objects: list[JSONObject], fuse: Fuse | None = None) -> Instance:
    """Start syncd anew."""
    return Instance(site.kubeconfig, Git(shop=objects), fuse)


def recover(site: Site, wanted: list[JSONObject] = AFTER) -> dict[str, JSONObject]:
    """Start anew, undisturbed, and go on until there is nothing left to do."""
    with live(site, wanted) as life:
        life.settle(SYNC)
    return site.picture()


def lives(
    open_site: Callable[[], Site], objects: list[JSONObject], wanted: list[JSONObject] = AFTER
) -> Iterator[tuple[Site, dict[str, JSONObject]]]:
    """One cluster, brought again and again to where the disturbed reconcile begins, and what is to come of that."""
    site = open_site()
    with live(site, objects) as keeper:
        keeper.settle(SYNC)
        expected = recover(site, wanted)
        while True:
            keeper.settle(SYNC)
            yield site, expected


def kill(site: Site, number: int, wanted: list[JSONObject] = AFTER, *, answered: bool) -> bool:
    """Reconcile, and die at one request; False when there are not that many."""
    fuse = Fuse(number, answered=answered)
    with live(site, wanted, fuse) as life, contextlib.suppress(KilledError, SyncdError):
        life.reconcile(SYNC)
    return fuse.blown.is_set()


ANSWERED = pytest.mark.parametrize("answered", [False, True], ids=["before", "after"])


@ANSWERED
def test_a_first_reconcile_that_is_killed_ends_as_if_it_had_not_been(
    open_site: Callable[[], Site], *, answered: bool
) -> None:
    expected = recover(open_site())
    for number in itertools.count(1):
        site = open_site()
        killed = kill(site, number, answered=answered)
        assert recover(site) == expected, f"killed at request {number}"
        if not killed:
            assert number > 12, "the scenario makes fewer requests than it should"
            return


@ANSWERED
@pytest.mark.parametrize("limit", LIMITS.values(), ids=LIMITS)
def test_a_reconcile_that_is_killed_ends_as_if_it_had_not_been(
    open_site: Callable[[], Site], monkeypatch: pytest.MonkeyPatch, limit: int, *, answered: bool
) -> None:
    if limit:
        monkeypatch.setattr("syncd.inventory.applyconfig.LIST_LIMIT", limit)
        monkeypatch.setattr("syncd.inventory.pages.PAGE_TARGET", 50)
    for number, (site, expected) in enumerate(lives(open_site, BEFORE), 1):
        killed = kill(site, number, answered=answered)
        assert recover(site) == expected, f"killed at request {number}"
        if not killed:
            assert number > 12, "the scenario makes fewer requests than it should"
            return


@ANSWERED
@pytest.mark.parametrize("move", MOVES)
def test_a_list_that_moves_is_whole_wherever_its_way_was_cut_short(
    open_site: Callable[[], Site], move: str, *, answered: bool
) -> None:
    before, after = MOVES[move]
    for number, (site, expected) in enumerate(lives(open_site, before, after), 1):
        killed = kill(site, number, after, answered=answered)
        assert recover(site, after) == expected, f"killed at request {number}"
        if not killed:
            assert number > 18, "the scenario makes fewer requests than it should"
            return


def test_a_reconcile_that_is_killed_while_it_prunes_a_namespace_ends_as_if_it_had_not_been(
    open_site: Callable[[], Site],
) -> None:
    """Looking into a namespace takes one list a kind, all alike: every seventh request stands for them."""
    for number, (site, expected) in enumerate(lives(open_site, [*BEFORE, *LAB]), 2):
        killed = kill(site, number * 7, answered=bool(number % 2))
        assert recover(site) == expected, f"killed at request {number * 7}"
        if not killed:
            return


@pytest.mark.parametrize(("fault", "move"), [*((fault, "") for fault in FAULTS), *MOVES_GONE_WRONG])
def test_with_any_request_gone_wrong_it_ends_as_if_it_had_not(
    open_site: Callable[[], Site], monkeypatch: pytest.MonkeyPatch, fault: str, move: str
) -> None:
    before, after = MOVES[move] if move else (BEFORE, AFTER)
    for number, (site, expected) in enumerate(lives(open_site, before, after), 1):
        strike = Strike(number, FAULTS[fault])
        with live(site, after) as life:
            site.fault = strike
            with contextlib.suppress(SyncdError), monkeypatch.context() as patch:
                if fault == "too late":
                    patch.setattr("syncd.engine.deadline._REQUEST", SLOW / 2)
                life.reconcile(SYNC)
            site.fault = lambda _request: None
            life.settle(SYNC)
            assert site.picture() == expected, f"{fault} at {strike.hit}, and no restart"
        assert recover(site, after) == expected, f"{fault} at {strike.hit}"
        if not strike.hit:
            assert number > 12, "the scenario makes fewer requests than it should"
            return


def test_a_process_that_is_killed_ends_as_if_it_had_not_been(open_site: Callable[[], Site], tmp_path: Path) -> None:
    """The same with real processes and SIGKILL, at every third request, done or not done by the server."""
    repository = Repository(tmp_path / "repository.git")
    document = {
        **SYNC.model_dump(by_alias=True, exclude_unset=True),
        "apiVersion": "syncd.dev/v1alpha1",
        "kind": "Sync",
    }
    document["spec"]["source"]["git"]["url"] = repository.url
    config = tmp_path / "sync.json"
    config.write_text(json.dumps(document))
    for number in range(6, 200, 3):
        site = open_site()
        with live(site, BEFORE) as life:
            life.settle(SYNC)
        repository.commit({"all.json": json.dumps({"apiVersion": "v1", "kind": "List", "items": AFTER})})
        process = start_sync(config, site.kubeconfig, tmp_path / "data")
        executioner = Executioner(process, number, done=number % 2 == 0)
        site.fault, site.seen = executioner.before, executioner.after
        status = process.wait(60)
        site.fault, site.seen = lambda _request: None, lambda _audit: None
        assert recover(site) == undisturbed(open_site), f"killed at request {number}"
        if status != -signal.SIGKILL:
            assert status == 0
            assert number > 12, "the scenario makes fewer requests than it should"
            return


def undisturbed(open_site: Callable[[], Site]) -> dict[str, JSONObject]:
    site = open_site()
    with live(site, BEFORE) as life:
        life.settle(SYNC)
    return recover(site)
