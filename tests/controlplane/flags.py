"""The command line of each part: what it takes to run without a node, without root, and on the loopback only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from tests.controlplane.binaries import Binaries

_CONTROLLERS_WITHOUT_A_JOB = (
    # There is no cloud, no real node, and nothing that would ask for a certificate.
    "node-ipam-controller",
    "node-lifecycle-controller",
    "node-route-controller",
    "cloud-node-lifecycle-controller",
    "service-lb-controller",
    "persistentvolume-attach-detach-controller",
    "certificatesigningrequest-signing-controller",
    "certificatesigningrequest-approving-controller",
    "certificatesigningrequest-cleaner-controller",
    "bootstrap-signer-controller",
    "token-cleaner-controller",
)

_UNLIMITED_CLIENT = ("--kube-api-qps=1000", "--kube-api-burst=2000")
"""With their own limits, meant to spare a shared server, the controllers alone take four seconds to get going."""


@dataclass(frozen=True)
class Layout:
    """Where the files and ports of one control plane are.

    Attributes:
        folder: Everything that it reads and writes is in here.
        etcd_port: Port of etcd.
        api_port: Port of the API server.
        with_controllers: Whether a controller manager runs, which some admission needs.
    """

    folder: Path
    etcd_port: int
    api_port: int
    with_controllers: bool

    @property
    def server(self) -> str:
        """URL of the API server."""
        return f"https://127.0.0.1:{self.api_port}"

    @property
    def etcd(self) -> str:
        """URL of etcd."""
        return f"http://127.0.0.1:{self.etcd_port}"

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig."""
        return self.folder / "kubeconfig"

    @property
    def authority(self) -> Path:
        """The API server's self-signed certificate, which is its own authority."""
        return self.folder / "certificates" / "apiserver.crt"

    @property
    def signing_key(self) -> Path:
        """The key for the tokens of ServiceAccounts."""
        return self.folder / "service-accounts.key"

    @property
    def tokens(self) -> Path:
        """The token file, with the administrator only."""
        return self.folder / "tokens.csv"

    @property
    def reviewer(self) -> Path:
        """Tells the API server where to ask for other tokens."""
        return self.folder / "token-reviewer.kubeconfig"

    @property
    def audit_log(self) -> Path:
        """The audit log."""
        return self.folder / "audit.log"

    @property
    def audit_policy(self) -> Path:
        """What goes into the audit log."""
        return self.folder / "audit-policy.json"

    @property
    def logs(self) -> Path:
        """The folder with one log of each part."""
        return self.folder / "logs"


def command(part: str, layout: Layout, binaries: Binaries) -> list[str]:
    """Return the command that runs a part."""
    flags = {
        "etcd": _etcd,
        "kube-apiserver": _apiserver,
        "kube-controller-manager": _controller_manager,
        "kube-scheduler": _scheduler,
        "kwok": _kwok,
    }
    stages = [f"--config={binaries.stages}"] if part == "kwok" else []
    return [str(binaries.path(part)), *flags[part](layout), *stages]


def _etcd(layout: Layout) -> list[str]:
    return [
        f"--data-dir={layout.folder / 'etcd'}",
        f"--listen-client-urls={layout.etcd}",
        f"--advertise-client-urls={layout.etcd}",
        "--listen-peer-urls=http://127.0.0.1:0",
        "--log-level=error",
        # Four times as fast; what a killed etcd has answered is still there, only a crash of the machine loses it.
        "--unsafe-no-fsync",
    ]


def _apiserver(layout: Layout) -> list[str]:
    # Without a controller manager nobody makes the ServiceAccounts that this admission asks for.
    disabled = [] if layout.with_controllers else ["--disable-admission-plugins=ServiceAccount"]
    return [
        *disabled,
        f"--etcd-servers={layout.etcd}",
        f"--secure-port={layout.api_port}",
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        f"--cert-dir={layout.authority.parent}",
        "--endpoint-reconciler-type=none",
        "--authorization-mode=RBAC",
        "--anonymous-auth=false",
        f"--token-auth-file={layout.tokens}",
        f"--authentication-token-webhook-config-file={layout.reviewer}",
        "--authentication-token-webhook-version=v1",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={layout.signing_key}",
        f"--service-account-signing-key-file={layout.signing_key}",
        "--service-cluster-ip-range=10.96.0.0/16",
        "--allow-privileged=true",
        f"--audit-log-path={layout.audit_log}",
        f"--audit-policy-file={layout.audit_policy}",
        "--audit-log-maxsize=100000",  # megabytes: never begin a new file in the middle of a test
        # End watches when it is stopped, instead of waiting a minute for clients to do so.
        "--shutdown-watch-termination-grace-period=2s",
    ]


def _controller_manager(layout: Layout) -> list[str]:
    controllers = ",".join(["*", *(f"-{name}" for name in _CONTROLLERS_WITHOUT_A_JOB)])
    return [
        f"--kubeconfig={layout.kubeconfig}",
        "--leader-elect=false",
        "--use-service-account-credentials=true",
        f"--service-account-private-key-file={layout.signing_key}",
        f"--root-ca-file={layout.authority}",
        "--secure-port=0",
        *_UNLIMITED_CLIENT,
        f"--controllers={controllers}",
    ]


def _scheduler(layout: Layout) -> list[str]:
    return [
        f"--kubeconfig={layout.kubeconfig}",
        "--leader-elect=false",
        "--secure-port=0",
        "--authentication-kubeconfig=",
        *_UNLIMITED_CLIENT,
    ]


def _kwok(layout: Layout) -> list[str]:
    return [f"--kubeconfig={layout.kubeconfig}", "--manage-all-nodes=true"]
