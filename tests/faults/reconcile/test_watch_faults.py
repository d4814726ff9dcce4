"""Drift while watches are cut, stall, are refused, answered with errors, or told that history is gone: none is missed.

The Sync's interval is an hour, so that nothing but a watch, or the list after it, can tell the daemon of a live edit.
"""

from __future__ import annotations

import itertools
import time
from typing import TYPE_CHECKING, Any, Protocol, Self
from urllib.parse import urlsplit

import pytest

from syncd.cluster import Cluster
from syncd.cluster.pacing import Pace
from syncd.cluster.watch import Timing
from syncd.daemon.service import Daemon
from syncd.engine.sources import Sources
from syncd.render import Renderer
from syncd.sandbox.server import SandboxServer
from syncd.source import Repositories
from syncd.spec import parse_sync
from tests.controlplane.proxy import Proxy
from tests.support.daemon import eventually, sync_document
from tests.support.faults import refusal
from tests.support.kubectl import Kubectl
from tests.support.repository import Repository

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from syncd.cluster.transport import Observation
    from syncd.sandbox.app import Fault
    from syncd.sandbox.requests import Request
    from tests.controlplane.fixtures import StartControlPlane
    from tests.controlplane.server import ControlPlane

SPACING = 1.0
TIMING = Timing(lifetime=(3, 3), grace=1, bookmark_gap=2, short=0, pace=Pace(first=0.2, cap=2, spacing=SPACING))
"""What takes minutes is over in seconds, but for the distance between two tries while nothing gets through."""
OBJECTS = 8
SETTING = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: map-%d, namespace: default}\ndata: {colour: blue}\n"
SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {name: key, namespace: default}\n"


class Server(Protocol):
    """A server whose network and history a test can break."""

    proxy: Proxy
    kubeconfig: Path
    """Through the proxy."""
    kubectl: Kubectl
    """Past it."""

    def forget_history(self) -> None:
        """Make every resourceVersion of before too old."""


class Sandbox:
    """The embedded server, which can also answer with errors."""

    def __init__(self, folder: Path) -> None:
        self.failing = False
        self._server = SandboxServer(intercept=self._intercept, bookmark_interval=0.5).start()
        direct = self._server.write_kubeconfig(folder / "direct")
        self.kubectl = Kubectl(direct)
        port = urlsplit(self._server.url).port
        assert port is not None
        self.proxy = Proxy(port)
        self.kubeconfig = folder / "proxied"
        self.kubeconfig.write_text(direct.read_text().replace(str(port), str(self.proxy.port)))

    def _intercept(self, request: Request) -> Fault | None:
        return refusal(500) if self.failing and request.user_agent.startswith("syncd/") else None

    def forget_history(self) -> None:
        self._server.compact()

    def close(self) -> None:
        self.proxy.close()
        self._server.stop()


class Real:
    """A control plane of the test's own: its API server forgets what was before when it starts again."""

    def __init__(self, control_plane: ControlPlane) -> None:
        self._control_plane = control_plane
        self.proxy = control_plane.proxy()
        self.kubeconfig = control_plane.kubeconfig_through(self.proxy)
        self.kubectl = Kubectl(control_plane.kubeconfig)

    def forget_history(self) -> None:
        self._control_plane.part("kube-apiserver").restart()
        self._control_plane.wait_ready()


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[Sandbox]:
    made = Sandbox(tmp_path)
    yield made
    made.close()


@pytest.fixture
def real(start_control_plane: StartControlPlane) -> Real:
    return Real(start_control_plane(parts=("etcd", "kube-apiserver")))


class Scene:
    """A daemon in this process that has applied some objects, and whoever edits them live."""

    def __init__(self, server: Server, folder: Path) -> None:
        self.server = server
        self.tries: list[float] = []
        """When each list and watch that failed was begun."""
        repository = Repository(folder / "repository.git")
        repository.commit({"all.yaml": "---\n".join([*(SETTING % number for number in range(OBJECTS)), SECRET])})
        sync = parse_sync(sync_document("shop", repository.url, interval="1h"))
        transport = Cluster.connect(server.kubeconfig, None, "syncd/test", observer=self._observe).transport
        self.cluster = Cluster(transport, timing=TIMING)
        self.daemon = Daemon((sync,), self.cluster, Sources(Repositories(folder / "mirrors"), Renderer()))
        self._victims = itertools.cycle(f"map-{number}" for number in range(OBJECTS))

    def __enter__(self) -> Self:
        self.daemon.start()
        eventually("all is applied", self._synced)
        return self

    def __exit__(self, *_: object) -> None:
        self.server.proxy.restore()
        self.daemon.stop(10)

    def _synced(self) -> bool:
        status = self.daemon.board.status("syncd/shop")
        return status is not None and status.state == "Synced" and all(not kind.problem for kind in self.kinds())

    def kinds(self) -> list[Any]:
        return list(self.cluster.live.kinds())

    def _observe(self, seen: Observation) -> None:
        if seen.status not in (200, 410) and seen.target.verb in ("list", "watch"):
            self.tries.append(time.monotonic() - seen.seconds)

    def edit(self) -> str:
        """Change one object, past the broken network."""
        name = next(self._victims)
        self.server.kubectl("patch", "configmap", name, "--type=merge", "-p", '{"data":{"colour":"red"}}')
        return name

    def is_repaired(self, name: str) -> None:
        def attempt() -> bool:
            found = self.server.kubectl.get("configmap", name, "default")
            return bool(found and found["data"]["colour"] == "blue")

        eventually(f"{name} is blue again", attempt)

    def notices(self) -> None:
        eventually("the fault is noticed", lambda: all(kind.problem for kind in self.kinds()))

    def fails_at_a_bounded_pace(self) -> None:
        """While nothing gets through there is at most one try a second, of all kinds together."""
        first = len(self.tries) + 1  # that one may have been on its way when the fault began
        eventually("it has tried some more", lambda: len(self.tries) >= first + 4)
        begun = sorted(self.tries[first:])
        assert all(later - sooner > 0.9 * SPACING for sooner, later in itertools.pairwise(begun)), begun


def every_fault_of_the_network(scene: Scene) -> None:
    proxy = scene.server.proxy
    proxy.cut()
    scene.is_repaired(scene.edit())
    proxy.refuse()
    name = scene.edit()
    scene.notices()
    scene.fails_at_a_bounded_pace()
    proxy.restore()
    scene.is_repaired(name)
    proxy.black_hole()
    name = scene.edit()
    scene.notices()
    proxy.restore()
    scene.is_repaired(name)


def test_no_drift_is_missed_on_the_sandbox(sandbox: Sandbox, tmp_path: Path) -> None:
    with Scene(sandbox, tmp_path) as scene:
        every_fault_of_the_network(scene)
        sandbox.failing = True
        sandbox.proxy.cut()
        name = scene.edit()
        scene.notices()
        scene.fails_at_a_bounded_pace()
        sandbox.failing = False
        scene.is_repaired(name)
        lists = sum(kind.lists for kind in scene.kinds())
        sandbox.proxy.refuse()
        name = scene.edit()
        sandbox.forget_history()
        sandbox.proxy.restore()
        scene.is_repaired(name)
        assert sum(kind.lists for kind in scene.kinds()) > lists


@pytest.mark.slow
@pytest.mark.controlplane
def test_no_drift_is_missed_on_a_real_server(real: Real, tmp_path: Path) -> None:
    with Scene(real, tmp_path) as scene:
        every_fault_of_the_network(scene)
        lists = sum(kind.lists for kind in scene.kinds())
        real.proxy.refuse()
        name = scene.edit()
        real.forget_history()
        real.proxy.restore()
        scene.is_repaired(name)
        assert sum(kind.lists for kind in scene.kinds()) > lists
