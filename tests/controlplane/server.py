"""A real Kubernetes control plane on this machine, for tests."""

from __future__ import annotations

import contextlib
import json
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from tests.controlplane import audit, flags, identities
from tests.controlplane.api import Api
from tests.controlplane.binaries import PARTS, Binaries, find_binaries
from tests.controlplane.ports import free_port
from tests.controlplane.processes import Guard, Part
from tests.controlplane.proxy import Proxy
from tests.controlplane.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

NODE = "node-1"
"""The one Node; kwok plays its kubelet."""

_READY_SECONDS = 120
_FLUSH_SECONDS = 10
_SYSTEM_NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")


class MissingPartError(Exception):
    """A part that does not run here was asked for."""


class ControlPlane:
    """etcd, an API server, and where there are programs for them a controller manager, a scheduler and a Node.

    Made by `start`. It is a context manager that stops everything in the end; should this process die first, everything
    dies with it. What is in the folder stays, and a control plane started there again has the same data.

    Attributes:
        folder: Everything that it reads and writes is in here.
        binaries: The programs.
        server: URL of the API server.
        etcd: URL of etcd, which has its JSON gateway there.
        kubeconfig: Path of the administrator's kubeconfig.
        token: The administrator's token.
        authority: Path of the certificate authority.
    """

    def __init__(self, folder: Path, parts: Sequence[str], binaries: Binaries) -> None:
        self.folder = folder
        self.binaries = binaries
        self._layout = flags.Layout(folder, free_port(), free_port(), "kube-controller-manager" in parts)
        self.server = self._layout.server
        self.etcd = self._layout.etcd
        self.kubeconfig = self._layout.kubeconfig
        self.authority = self._layout.authority
        self._closing = contextlib.ExitStack()
        folder.mkdir(parents=True, exist_ok=True)
        self._layout.logs.mkdir(exist_ok=True)
        self.token = identities.secret_in(folder / "administrator.token")
        self._reviewer = identities.TokenReviewer(identities.secret_in(folder / "token-signing.secret"))
        self._closing.callback(self._reviewer.close)
        self._guard = Guard()
        self._closing.callback(self._guard.close)
        self._parts = {name: self._new_part(name) for name in parts}
        self._api: Api | None = None
        self._audit_log = audit.AuditLog(self._layout.audit_log, self._flush_audit_log)

    @classmethod
    def start(
        cls, folder: Path | str, *, parts: Sequence[str] | None = None, binaries: Binaries | None = None
    ) -> ControlPlane:
        """Start one and wait until it can be used.

        Args:
            folder: Where its data, logs and credentials go; made when absent.
            parts: The parts to start; all that there are programs for by default.
            binaries: The programs; by default those that `find_binaries` finds.

        Raises:
            MissingProgramsError: There are no programs.
            MissingPartError: There is no program for one of the parts.
            PartFailedError: A part ended at start; the message has the end of its log.
        """
        binaries = binaries or find_binaries()
        wanted = PARTS if parts is None else parts
        if unknown := set(wanted).difference(PARTS):
            raise MissingPartError(f"there is no part named {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
        if parts is not None and (lacking := set(parts).difference(binaries.parts)):
            lacks = ", ".join(sorted(lacking))
            raise MissingPartError(f"{lacks} cannot run from {binaries.folder} ({binaries.origin})")
        chosen = [part for part in PARTS if part in wanted and part in binaries.parts]
        control_plane = cls(Path(folder).absolute(), chosen, binaries)
        try:
            control_plane._start()
        except BaseException:
            control_plane.stop()
            raise
        return control_plane

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Stop everything; the folder stays."""
        with self._closing:
            for part in reversed(self._parts.values()):
                # Only etcd has something to write in the end; all others can just go.
                part.stop() if part.name == "etcd" else part.kill()

    @property
    def parts(self) -> tuple[str, ...]:
        """Names of the parts that this control plane has, whether they run just now or not."""
        return tuple(self._parts)

    @property
    def missing_parts(self) -> tuple[str, ...]:
        """Names of the parts that it does not have."""
        return tuple(part for part in PARTS if part not in self._parts)

    def part(self, name: str) -> Part:
        """Return one part, to stop, pause or restart it alone."""
        if name not in self._parts:
            raise MissingPartError(f"{name} is not part of this control plane ({self.binaries.origin})")
        return self._parts[name]

    @property
    def api(self) -> Api:
        """A client for the administrator, to set the stage with."""
        if self._api is None:
            self._api = Api(self.server, self.authority, self.token)
            self._closing.callback(self._api.close)
        return self._api

    def token_for(self, user: str, groups: Sequence[str] = ()) -> str:
        """Return a token for any user in any groups, who needs not be known before."""
        return self._reviewer.issue(user, groups)

    def api_for(self, user: str, groups: Sequence[str] = ()) -> Api:
        """Return a client for any user."""
        api = Api(self.server, self.authority, self.token_for(user, groups))
        self._closing.callback(api.close)
        return api

    def kubeconfig_for(
        self, user: str, groups: Sequence[str] = (), *, token: str | None = None, through: Proxy | None = None
    ) -> Path:
        """Write a kubeconfig for any user in any groups and return its path.

        Nobody but the administrator may do anything until RBAC says so.

        Args:
            user: Name of the user.
            groups: Groups of the user.
            token: A token made elsewhere, such as one of a ServiceAccount, to use instead.
            through: The proxy to reach the API server through.
        """
        return self._write_kubeconfig(user, token or self.token_for(user, groups), through)

    def proxy(self) -> Proxy:
        """Open a proxy in front of the API server; it closes with the control plane, or before."""
        proxy = Proxy(self._layout.api_port)
        self._closing.callback(proxy.close)
        return proxy

    def kubeconfig_through(self, proxy: Proxy) -> Path:
        """Write a kubeconfig for the administrator that reaches the API server through a proxy."""
        return self._write_kubeconfig(identities.ADMINISTRATOR.name, self.token, proxy)

    def audit(self) -> audit.AuditLog:
        """Return the audit log: `mark = control_plane.audit().mark()`, then `control_plane.audit().since(mark)`."""
        return self._audit_log

    def wait_ready(self, seconds: float = _READY_SECONDS) -> None:
        """Wait until the control plane can be used: not only answering, but with what every namespace and Pod needs."""
        self.part("etcd").wait_ready(seconds)
        self.part("kube-apiserver").wait_ready(seconds)
        for name in _SYSTEM_NAMESPACES:
            self._wait_found(f"/api/v1/namespaces/{name}", seconds)
        if "kube-controller-manager" in self._parts:
            self.wait_namespace("default", seconds)
        if "kwok" in self._parts:
            wait_for(f"Node {NODE} to be ready", self._node_ready, seconds=seconds)

    def wait_namespace(self, name: str, seconds: float = _READY_SECONDS) -> None:
        """Wait until Pods can be made in a namespace, which is when its default ServiceAccount is there."""
        path = f"/api/v1/namespaces/{name}"
        if "kube-controller-manager" in self._parts:
            path += "/serviceaccounts/default"
        self._wait_found(path, seconds)

    def create_namespace(self, prefix: str = "test") -> str:
        """Make a namespace with a name of its own that Pods can be made in, and return the name."""
        name = f"{prefix}-{secrets.token_hex(4)}"
        self.api.create("/api/v1/namespaces", {"metadata": {"name": name}})
        self.wait_namespace(name)
        return name

    def _start(self) -> None:
        self._write_files()
        self._parts["etcd"].start()
        self._parts["kube-apiserver"].start().wait_ready(_READY_SECONDS)
        # Now there is a certificate, without which no kubeconfig can be written.
        administrator = identities.ADMINISTRATOR.name
        identities.write_kubeconfig(
            self.kubeconfig, server=self.server, authority=self.authority, user=administrator, token=self.token
        )
        for part in self._parts.values():
            part.start()
        if "kwok" in self._parts:
            self._create_node()
        self.wait_ready()

    def _write_files(self) -> None:
        layout = self._layout
        identities.write_signing_key(layout.signing_key)
        name, groups = identities.ADMINISTRATOR
        identities.write_private(layout.tokens, f'{self.token},{name},{name},"{",".join(groups)}"\n')
        reviewer = {"clusters": [{"name": "reviewer", "cluster": {"server": self._reviewer.url}}]}
        context = {"name": "reviewer", "context": {"cluster": "reviewer", "user": ""}}
        layout.reviewer.write_text(json.dumps({**reviewer, "contexts": [context], "current-context": "reviewer"}))
        layout.audit_policy.write_text(json.dumps(audit.POLICY))

    def _new_part(self, name: str) -> Part:
        probes: dict[str, Callable[[], bool]] = {"etcd": self._etcd_ready, "kube-apiserver": self._api_ready}
        return Part(
            name,
            flags.command(name, self._layout, self.binaries),
            folder=self.folder,
            log=self._layout.logs / f"{name}.log",
            guard=self._guard,
            is_ready=probes.get(name),
        )

    def _etcd_ready(self) -> bool:
        return Api.answers(self._layout.etcd + "/health")

    def _api_ready(self) -> bool:
        return self.authority.exists() and self.api.reaches("/readyz")

    def _node_ready(self) -> bool:
        status = self.api.get(f"/api/v1/nodes/{NODE}").get("status", {})
        return any(it["type"] == "Ready" and it["status"] == "True" for it in status.get("conditions", []))

    def _create_node(self) -> None:
        if self.api.find(f"/api/v1/nodes/{NODE}") is None:
            labels = {"kubernetes.io/hostname": NODE, "kubernetes.io/os": "linux"}
            self.api.create("/api/v1/nodes", {"metadata": {"name": NODE, "labels": labels}})
        # Admission marks every new Node as not ready, and the controller that would take this mark away does not run.
        self.api.merge(f"/api/v1/nodes/{NODE}", {"spec": {"taints": None}})

    def _wait_found(self, path: str, seconds: float) -> Any:
        return wait_for(f"{path} to exist", lambda: self.api.find(path), seconds=seconds)

    def _write_kubeconfig(self, user: str, token: str, through: Proxy | None) -> Path:
        safe_name = "".join(letter if letter.isalnum() else "-" for letter in user)
        path = self.folder / "kubeconfigs" / f"{safe_name}-{secrets.token_hex(4)}"
        path.parent.mkdir(exist_ok=True)
        server = through.url if through else self.server
        return identities.write_kubeconfig(path, server=server, authority=self.authority, user=user, token=token)

    def _flush_audit_log(self) -> None:
        request = f"{audit.FLUSH_PATH}{secrets.token_hex(8)}"
        if self.part("kube-apiserver").running and self.api.reaches(request):
            wait_for("the audit log", lambda: self._audit_log.holds(request), seconds=_FLUSH_SECONDS)
