"""The two servers that every test of the contract runs against."""

from __future__ import annotations

import secrets
from base64 import b64encode
from typing import TYPE_CHECKING, Any, Protocol

import urllib3

from syncd.sandbox.server import SandboxServer
from tests.contract.client import Client, path
from tests.support.daemon import eventually
from tests.support.kubectl import Kubectl

if TYPE_CHECKING:
    from pathlib import Path

    from tests.controlplane.server import ControlPlane


class Server(Protocol):
    """A Kubernetes API server with its controllers, and clients of it."""

    client: Client
    kubectl: Kubectl
    real: bool

    def compact(self) -> None:
        """Forget all history, as a server does with what is some minutes old."""

    def close(self) -> None:
        """End it, or what was opened of it."""


class Sandbox:
    """The embedded server, in the test's own process."""

    real = False

    def __init__(self, folder: Path) -> None:
        # Bookmarks come once a minute from a real server; what they say is tested here, and not how often.
        self._server = SandboxServer(bookmark_interval=1.0).start()
        self.client = Client(self._server.url)
        self.kubectl = Kubectl(self._server.write_kubeconfig(folder / "kubeconfig"))

    def compact(self) -> None:
        """See :class:`Server`."""
        self._server.compact()

    def close(self) -> None:
        """See :class:`Server`."""
        self.client.close()
        self._server.stop()


class Real:
    """A real control plane."""

    real = True

    def __init__(self, control_plane: ControlPlane) -> None:
        self._control_plane = control_plane
        self.client = Client(control_plane.server, control_plane.authority, control_plane.token)
        self.kubectl = Kubectl(control_plane.kubeconfig)

    def compact(self) -> None:
        """See :class:`Server`; done as the API server does every five minutes, which notices within 15 seconds."""
        with urllib3.PoolManager() as pool:
            present = self._etcd(pool, "range", key=_encoded("a"))["header"]["revision"]
            self._etcd(pool, "put", key=_encoded("compact_rev_key"), value=_encoded(present))
            self._etcd(pool, "compaction", revision=present)

    def _etcd(self, pool: urllib3.PoolManager, what: str, **body: str) -> dict[str, Any]:
        answer = pool.request("POST", f"{self._control_plane.etcd}/v3/kv/{what}", json=body)
        assert answer.status == 200, answer.data
        found: dict[str, Any] = answer.json()
        return found

    def close(self) -> None:
        """See :class:`Server`."""
        self.client.close()


def _encoded(text: str) -> str:
    return b64encode(text.encode()).decode()


def new_namespace(server: Server) -> str:
    """Make a namespace that nobody else uses, and wait until Pods can be made in it."""
    name = f"contract-{secrets.token_hex(4)}"
    server.client.made("/api/v1/namespaces", {"metadata": {"name": name}})
    account = path("serviceaccounts", name, "default")
    eventually("the namespace is usable", lambda: server.client.get(account).status == 200)
    return name
