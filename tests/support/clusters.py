"""The two API servers that suites run against alike: the sandbox, and a real control plane."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple, Protocol

from syncd.sandbox.server import SandboxServer
from tests.support.kubectl import Kubectl

if TYPE_CHECKING:
    from pathlib import Path

    from syncd.sandbox.app import Audit
    from tests.controlplane.server import ControlPlane

AGENT = "syncd/"
"""What syncd's user agent begins with."""
EVENTS = "events"
"""They are written beside the work, when there is time."""


class Asked(NamedTuple):
    """One request that syncd made."""

    verb: str
    resource: str
    name: str

    @property
    def writes(self) -> bool:
        """Whether it changes an object."""
        return self.verb in {"create", "update", "patch", "delete", "deletecollection"}


class ClusterUnderTest(Protocol):
    """A cluster, and what syncd asked of it."""

    kubeconfig: Path
    kubectl: Kubectl

    def mark(self) -> int:
        """Now, as a point in the log of requests."""

    def since(self, mark: int) -> list[Asked]:
        """What syncd has asked since; watches are counted when they begin, and events, which come later, are not."""


class Sandbox:
    """The embedded API server, in the test's own process."""

    def __init__(self, folder: Path) -> None:
        self._requests: list[Asked] = []
        self.server = SandboxServer(on_request=self._note)
        self.server.start()
        self.kubeconfig = folder / "kubeconfig"
        self.server.write_kubeconfig(self.kubeconfig)
        self.kubectl = Kubectl(self.kubeconfig)

    def _note(self, audit: Audit) -> None:
        if audit.user_agent.startswith(AGENT) and audit.resource != EVENTS:
            self._requests.append(Asked(audit.verb, audit.resource or audit.path, audit.name))

    def mark(self) -> int:
        """See :class:`ClusterUnderTest`."""
        return len(self._requests)

    def since(self, mark: int) -> list[Asked]:
        """See :class:`ClusterUnderTest`."""
        return self._requests[mark:]


class RealCluster:
    """A real control plane."""

    def __init__(self, control_plane: ControlPlane) -> None:
        self.control_plane = control_plane
        self.kubeconfig = control_plane.kubeconfig
        self.kubectl = Kubectl(self.kubeconfig)

    def mark(self) -> int:
        """See :class:`ClusterUnderTest`."""
        return self.control_plane.audit().mark()

    def since(self, mark: int) -> list[Asked]:
        """See :class:`ClusterUnderTest`."""
        found = self.control_plane.audit().since(mark).where(agent=AGENT)
        return [Asked(item.verb, item.resource or item.path, item.name) for item in found if item.resource != EVENTS]


def by_verb(requests: list[Asked]) -> Counter[tuple[str, str]]:
    """Requests counted by verb and resource."""
    return Counter((item.verb, item.resource) for item in requests)
