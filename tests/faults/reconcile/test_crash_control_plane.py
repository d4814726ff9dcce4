"""A reconcile on a real control plane, killed or disturbed at requests that are spread evenly over all that it makes.

The sandbox has the same at every single request (``test_crash.py``). Here a selection bounds the time: each test counts
the requests of an undisturbed reconcile first, and then takes so many of them, from the first to the last.
"""

from __future__ import annotations

import contextlib
import json
import signal
from typing import TYPE_CHECKING, Any

import pytest

from syncd.model import GroupKind, SyncdError
from tests.support.faultproxy import FaultProxy
from tests.support.faults import FAULTS, SLOW, Executioner, Strike
from tests.support.instance import Fuse, Git, Instance, KilledError, config_map, picture, sync
from tests.support.process import start_sync
from tests.support.repository import Repository

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from syncd.model import JSONObject
    from tests.controlplane.fixtures import NewNamespace
    from tests.controlplane.server import ControlPlane

pytestmark = pytest.mark.controlplane

KINDS = (
    GroupKind("", "ConfigMap"),
    GroupKind("", "ServiceAccount"),
    GroupKind("rbac.authorization.k8s.io", "Role"),
)
MADE_BY_THE_CLUSTER = ("kube-root-ca.crt", "default")
NOBODY_DIES = 1_000_000


class Site:
    """A Sync with a namespace of its own, and a way to the cluster on which requests can go wrong."""

    def __init__(self, control_plane: ControlPlane, namespace: str, folder: Path) -> None:
        self.sync = sync(namespace, prune={"budget": {"percent": 100}})
        self.proxy = FaultProxy(control_plane)
        self.through = self.proxy.write_kubeconfig(folder / "through")
        self._direct = control_plane.kubeconfig
        self._namespace = namespace
        self.before = [
            config_map("settings", namespace, colour="blue"),
            config_map("old", namespace),
            self._role("old"),
        ]
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "new", "namespace": namespace}}
        self.after = [config_map("settings", namespace, colour="green"), config_map("new", namespace), account]
        self.keeper = self.live(self.before)
        self.keeper.settle(self.sync)
        self.expected = self.recover()

    def close(self) -> None:
        """End it."""
        self.keeper.__exit__()
        self.proxy.close()

    def live(self, objects: list[JSONObject], kubeconfig: Path | None = None, fuse: Fuse | None = None) -> Instance:
        """Start syncd anew."""
        return Instance(kubeconfig or self._direct, Git(**{self.sync.metadata.name: objects}), fuse)

    def recover(self) -> dict[str, JSONObject]:
        """Start anew, undisturbed, go on until nothing is left to do, and say what there is then."""
        with self.live(self.after) as life:
            life.settle(self.sync)
            found: dict[str, Any] = {}
            for kind in KINDS:
                resource = life.cluster.discovery.resources().find(kind)
                assert resource is not None
                for item in life.cluster.client.list(resource, self._namespace):
                    if item["metadata"]["name"] not in MADE_BY_THE_CLUSTER:
                        found[f"{kind} {item['metadata']['name']}"] = item
                if kind.kind == "ConfigMap":
                    own = life.cluster.client.get(resource, self.sync.metadata.namespace, self.sync.metadata.name)
                    found["inventory"] = own
            return picture(found)

    def begin(self) -> None:
        """Bring the cluster to where the reconcile begins that is to be disturbed."""
        self.keeper.settle(self.sync)

    def _role(self, name: str) -> JSONObject:
        metadata = {"name": name, "namespace": self._namespace}
        rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]
        return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": metadata, "rules": rules}


@pytest.fixture
def site(control_plane: ControlPlane, namespace_factory: NewNamespace, tmp_path: Path) -> Iterator[Site]:
    made = Site(control_plane, namespace_factory("crash"), tmp_path)
    yield made
    made.close()


def spread(total: int, count: int) -> list[int]:
    """So many numbers from 1 to ``total``, evenly, with both ends."""
    assert total > 12, "the scenario makes fewer requests than it should"
    return sorted({1 + round(number * (total - 1) / (count - 1)) for number in range(count)})


def test_a_reconcile_that_is_killed_ends_as_if_it_had_not_been(site: Site) -> None:
    site.begin()
    fuse = Fuse(NOBODY_DIES, answered=False)
    with site.live(site.after, fuse=fuse) as life:
        life.reconcile(site.sync)
    for number in spread(fuse.count, 12):
        for answered in (False, True):
            site.begin()
            fuse = Fuse(number, answered=answered)
            with site.live(site.after, fuse=fuse) as life, contextlib.suppress(KilledError, SyncdError):
                life.reconcile(site.sync)
            assert site.recover() == site.expected, f"killed at request {number}, {answered=}"


def test_a_process_that_is_killed_ends_as_if_it_had_not_been(site: Site, tmp_path: Path) -> None:
    """With real processes and SIGKILL; their requests are counted by the proxy."""
    repository = Repository(tmp_path / "repository.git")
    repository.commit({"all.json": json.dumps({"apiVersion": "v1", "kind": "List", "items": site.after})})
    config = tmp_path / "sync.json"
    document = site.sync.model_dump(by_alias=True, exclude_unset=True)
    document["spec"]["source"]["git"]["url"] = repository.url
    config.write_text(json.dumps({**document, "apiVersion": "syncd.dev/v1alpha1", "kind": "Sync"}))
    site.begin()
    calls: list[Any] = []
    site.proxy.seen = calls.append
    assert start_sync(config, site.through, tmp_path / "data").wait(120) == 0
    for number in spread(len(calls), 6):
        site.begin()
        process = start_sync(config, site.through, tmp_path / "data")
        executioner = Executioner(process, number, done=number % 2 == 0)
        site.proxy.fault, site.proxy.seen = executioner.before, executioner.after
        status = process.wait(120)
        site.proxy.fault, site.proxy.seen = lambda _call: None, lambda _call: None
        assert status in (0, -signal.SIGKILL)
        assert site.recover() == site.expected, f"killed at request {number}"


@pytest.mark.parametrize("fault", FAULTS)
def test_with_a_request_gone_wrong_it_ends_as_if_it_had_not(
    site: Site, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    site.begin()
    count = Strike(NOBODY_DIES, FAULTS[fault])
    site.proxy.fault = count
    with site.live(site.after, site.through) as life:
        life.reconcile(site.sync)
    for number in spread(count.count, 4):
        site.begin()
        strike = Strike(number, FAULTS[fault])
        with site.live(site.after, site.through) as life:
            site.proxy.fault = strike
            failed = False
            with monkeypatch.context() as patch:
                if fault == "too late":
                    patch.setattr("syncd.engine.deadline._REQUEST", SLOW / 2)
                try:
                    life.reconcile(site.sync)
                except SyncdError:
                    failed = True
            site.proxy.fault = lambda _call: None
            assert strike.hit or failed  # on a slow machine an earlier request may have been too late by itself
            life.settle(site.sync)
        assert site.recover() == site.expected, f"{fault} at {strike.hit}"
