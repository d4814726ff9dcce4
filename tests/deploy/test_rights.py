"""The rights that deploy/ gives to syncd: enough for all it does, and none that it never uses."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.support.daemon import DaemonProcess, eventually, sync_document
from tests.support.kubectl import Kubectl
from tests.support.repository import Repository
from tests.unit.source.gitserver import serving

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.controlplane.audit import Requests
    from tests.controlplane.server import ControlPlane

ROOT = Path(__file__).parents[2]
ITSELF = "system:serviceaccount:syncd:syncd"


class Installed:
    """A cluster with deploy/ applied, a tenant's namespace with the Sync of docs/guide/installation.md, and its Git."""

    def __init__(self, control_plane: ControlPlane, repository: Repository, url: str, folder: Path) -> None:
        self.control_plane = control_plane
        self.repository = repository
        self.url = url
        self.folder = folder
        self.kubectl = Kubectl(control_plane.kubeconfig)

    def apply(self, overlay: str = "") -> None:
        """Install syncd; the Pods are played by kwok, and the daemon runs beside them as a process."""
        self.kubectl("apply", "--kustomize", str(ROOT / "deploy" / overlay))
        self.kubectl("wait", "--for=condition=Established", "crd/syncs.syncd.dev", "--timeout=60s")

    def tenant(self) -> None:
        """Do what the guide says, but for the repository."""
        guide = (ROOT / "docs" / "guide" / "installation.md").read_text()
        (text,) = [block for block in re.findall(r"```yaml\n(.*?)```", guide, re.DOTALL) if "kind: Sync\n" in block]
        *others, sync = yaml.safe_load_all(text)
        sync["spec"] |= sync_document("shop", self.url)["spec"] | {"path": "shop"}
        sync["spec"]["source"]["git"]["secretRef"] = {"name": "git"}
        credentials = ["--from-literal=username=shop", "--from-literal=password=hunter2"]
        for document in others:
            self.kubectl("apply", "-f", "-", stdin=json.dumps(document))
        self.kubectl("create", "secret", "generic", "git", "--namespace=shop", *credentials)
        self.kubectl("apply", "-f", "-", stdin=json.dumps(sync))

    def daemon(self) -> DaemonProcess:
        """The daemon, with the token of its ServiceAccount and the options of its Deployment."""
        token = self.kubectl("create", "token", "syncd", "--namespace=syncd").strip()
        kubeconfig = self.control_plane.kubeconfig_for("syncd", token=token)
        deployment = self.kubectl.get("deployment", "syncd", "syncd")
        assert deployment
        command, *options = deployment["spec"]["template"]["spec"]["containers"][0]["args"]
        assert command == "run"
        own = ("--listen", "--log-format", "--advertise-address")
        options = [option for option in options if not option.startswith(own)]
        return DaemonProcess(self.folder, kubeconfig, options=options)

    def wait_for_error(self, text: str) -> None:
        """Wait until the Sync's status has an error with this text."""

        def says_so() -> bool:
            found = self.kubectl.get("sync", "shop", "shop") or {}
            return text in str(found.get("status", {}).get("errors", ""))

        eventually(text, says_so)

    def wait_applied(self) -> None:
        """Wait until the Sync is ready."""
        self.kubectl("wait", "--for=condition=Ready", "sync/shop", "--namespace=shop", "--timeout=90s")


@pytest.fixture
def installed(fresh_control_plane: ControlPlane, tmp_path: Path) -> Iterator[Installed]:
    repository = Repository(tmp_path / "repository.git")
    repository.commit({"shop/web.yaml": json.dumps(config_map("web")), "shop/old.yaml": json.dumps(config_map("old"))})
    with serving(tmp_path, basic="shop:hunter2") as server:
        yield Installed(fresh_control_plane, repository, f"{server.url}/{repository.path.name}", tmp_path)


def config_map(name: str, namespace: str = "shop") -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"name": name}}


@pytest.mark.controlplane
def test_the_rights_of_the_base_suffice_and_none_of_them_is_idle(installed: Installed) -> None:
    installed.apply()
    installed.tenant()
    audit = installed.control_plane.audit()
    mark = audit.mark()

    def used_now() -> set[tuple[str, str]]:
        return used(audit.since(mark).where(user=ITSELF))

    with installed.daemon() as daemon:
        installed.wait_applied()
        # What it may not write is tried again, and told as one event that is counted.
        installed.repository.commit({"shop/elsewhere.yaml": json.dumps(config_map("elsewhere", "kube-public"))})
        eventually("an event is counted", lambda: used_now() >= {("patch", "events.events.k8s.io")})
        installed.repository.commit({"shop/elsewhere.yaml": None, "shop/old.yaml": None})
        eventually("the object is pruned", lambda: not installed.kubectl.get("configmap", "old", "shop"))
        installed.kubectl("delete", "sync", "shop", "--namespace=shop", "--timeout=60s")
        assert not installed.kubectl.get("configmap", "web", "shop")
        assert daemon.stop() == 0
    assert used_now() == granted(installed.kubectl)


@pytest.mark.controlplane
def test_a_sync_has_the_rights_of_its_account_and_a_namespace_must_invite_syncd(installed: Installed) -> None:
    installed.apply()
    installed.tenant()
    installed.repository.commit({"shop/elsewhere.yaml": json.dumps(config_map("elsewhere", "kube-public"))})
    with installed.daemon():
        installed.wait_for_error('User "system:serviceaccount:shop:deployer" cannot')
        assert installed.kubectl.get("configmap", "web", "shop")
        installed.kubectl("patch", "sync", "shop", "-n=shop", "--type=merge", '-p={"spec":{"serviceAccountName":""}}')
        installed.wait_for_error('User "system:serviceaccount:shop:default" cannot')
        installed.kubectl("delete", "rolebinding", "syncd", "--namespace=shop")
        installed.wait_for_error(f'User "{ITSELF}" cannot')
        installed.wait_for_error("invite syncd into shop")
        sync = installed.kubectl.get("sync", "shop", "shop") or {}
        metadata = {"name": "never-invited", "namespace": "default"}
        uninvited = {"apiVersion": sync["apiVersion"], "kind": "Sync", "metadata": metadata, "spec": sync["spec"]}
        installed.kubectl("apply", "-f", "-", stdin=json.dumps(uninvited))
        installed.kubectl("delete", "sync", "never-invited", "--timeout=60s")
    assert not installed.kubectl.get("configmap", "elsewhere", "kube-public")


@pytest.mark.controlplane
def test_without_tenants_a_sync_may_do_everything(installed: Installed) -> None:
    installed.apply("overlays/cluster-admin")
    installed.tenant()
    installed.kubectl("patch", "sync", "shop", "-n=shop", "--type=merge", '-p={"spec":{"serviceAccountName":""}}')
    installed.repository.commit({"shop/elsewhere.yaml": json.dumps(config_map("elsewhere", "kube-public"))})
    with installed.daemon():
        installed.wait_applied()
    assert installed.kubectl.get("configmap", "elsewhere", "kube-public")


@pytest.mark.controlplane
def test_a_tenants_namespace_goes_although_the_rights_in_it_go_first(installed: Installed) -> None:
    installed.apply()
    installed.tenant()
    with installed.daemon():
        installed.wait_applied()
        installed.kubectl("delete", "namespace", "shop", "--timeout=110s")


@pytest.mark.controlplane
def test_whoever_deletes_the_definition_keeps_what_was_applied(installed: Installed) -> None:
    installed.apply()
    installed.tenant()
    with installed.daemon():
        installed.wait_applied()
        installed.kubectl("delete", "crd", "syncs.syncd.dev", "--timeout=110s")
    found = installed.kubectl.get("configmap", "web", "shop")
    assert found
    assert "labels" not in found["metadata"]


def used(requests: Requests) -> set[tuple[str, str]]:
    """What syncd did in its own name; it never tries what it may not do."""
    assert not requests.where(code=403, impersonated="")
    own = {(each.verb, each.kind) for each in requests.where(impersonated="") if each.resource}
    return own | ({("impersonate", "serviceaccounts")} if any(each.impersonated for each in requests) else set())


def granted(kubectl: Kubectl) -> set[tuple[str, str]]:
    """What the roles in deploy/ allow."""
    objects = yaml.safe_load_all(kubectl("kustomize", str(ROOT / "deploy")))
    return {
        (verb, kind(resource, group))
        for each in objects
        if each["kind"] in ("ClusterRole", "Role")
        for rule in each["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def kind(resource: str, group: str) -> str:
    """As the audit log's reader writes it, such as deployments.apps/scale."""
    plural, slash, subresource = resource.partition("/")
    return (f"{plural}.{group}" if group else plural) + slash + subresource
