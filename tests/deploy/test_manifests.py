"""What `kubectl apply -k deploy/` brings: valid to the last field, and accepted by a real cluster."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import kubernetes_validate
import pytest
import yaml

import syncd
from tests.support.kubectl import Kubectl

if TYPE_CHECKING:
    from tests.controlplane.server import ControlPlane

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
KUSTOMIZATIONS = ["", "overlays/cluster-admin", "monitoring"]
BUILT_IN = re.compile(r"^(v1|apps/v1|policy/v1|(networking|rbac\.authorization|apiextensions)\.k8s\.io/v1)$")
OPERATOR_KINDS = ("prometheusrule", "servicemonitor")


def built(folder: str, tmp_path: Path) -> list[dict[str, Any]]:
    """What a kustomization makes."""
    text = Kubectl(tmp_path / "none")("kustomize", str(DEPLOY / folder))
    return list(yaml.safe_load_all(text))


def only(kind: str, objects: list[dict[str, Any]]) -> dict[str, Any]:
    """The one object of a kind."""
    (found,) = [each for each in objects if each["kind"] == kind]
    return found


@pytest.mark.parametrize("folder", KUSTOMIZATIONS)
def test_every_field_is_one_that_kubernetes_knows(folder: str, tmp_path: Path) -> None:
    objects = [each for each in built(folder, tmp_path) if BUILT_IN.match(each["apiVersion"])]
    assert objects
    for each in objects:
        kubernetes_validate.validate(each, kubernetes_validate.latest_version(), strict=True)


def test_the_image_is_that_of_this_version_and_runs_as_the_dockerfile_says(tmp_path: Path) -> None:
    pod = only("Deployment", built("", tmp_path))["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert container["image"] == f"syncd:{syncd.__version__}"
    dockerfile = (ROOT / "Dockerfile").read_text()
    assert f"USER {pod['securityContext']['runAsUser']}:{pod['securityContext']['runAsGroup']}" in dockerfile
    (data,) = [item["value"] for item in container["env"] if item["name"] == "SYNCD_DATA_DIR"]
    # The rest of the file system is read-only.
    places = {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}
    assert places.keys() == {data, "/tmp"}
    # What renderers decrypt is in /tmp, and never gets to a disk.
    volumes = {volume["name"]: volume["emptyDir"] for volume in pod["volumes"]}
    assert volumes[places["/tmp"]]["medium"] == "Memory"


@pytest.mark.controlplane
@pytest.mark.parametrize("folder", ["", "overlays/cluster-admin"])
def test_a_cluster_takes_it_and_starts_its_pods(folder: str, fresh_control_plane: ControlPlane, tmp_path: Path) -> None:
    kubectl = Kubectl(fresh_control_plane.kubeconfig)
    apply(kubectl, folder)
    # The namespace enforces the restricted Pod security standard, so that a Pod that violates it would not be there.
    kubectl("rollout", "status", "deployment/syncd", "--namespace=syncd", "--timeout=90s")
    selector = only("Service", built(folder, tmp_path))["spec"]["selector"]
    assert kubectl.names("pods", "syncd", ",".join(f"{name}={value}" for name, value in selector.items()))
    before = generations(kubectl, folder)
    apply(kubectl, folder)
    assert generations(kubectl, folder) == before


@pytest.mark.controlplane
@pytest.mark.corpus
def test_a_cluster_with_the_prometheus_operator_takes_the_monitoring(
    fresh_control_plane: ControlPlane, shared: Path
) -> None:
    kubectl = Kubectl(fresh_control_plane.kubeconfig)
    for kind in OPERATOR_KINDS:
        definition = (
            shared / "corpus" / "kube-prometheus" / "manifests" / "setup" / f"0{kind}CustomResourceDefinition.yaml"
        )
        kubectl("apply", "--server-side", "-f", str(definition))
        kubectl("wait", "--for=condition=Established", "--timeout=60s", "-f", str(definition))
    apply(kubectl, "")
    apply(kubectl, "monitoring")
    endpoints = kubectl.get("servicemonitor", "syncd", "syncd")
    service = kubectl.get("service", "syncd", "syncd")
    assert endpoints
    assert service
    assert endpoints["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    assert endpoints["spec"]["endpoints"][0]["port"] in {port["name"] for port in service["spec"]["ports"]}


def apply(kubectl: Kubectl, folder: str) -> None:
    """Apply as a user would; the server refuses unknown fields, first in a dry run where it can."""
    command = ["apply", "--kustomize", str(DEPLOY / folder), "--validate=strict"]
    if kubectl.get("namespace", "syncd"):
        kubectl(*command, "--dry-run=server")
    kubectl(*command)


def generations(kubectl: Kubectl, folder: str) -> dict[str, int]:
    """How often what each object asks for was changed."""
    found = json.loads(kubectl("get", "--kustomize", str(DEPLOY / folder), "--output=json"))
    return {each["metadata"]["uid"]: each["metadata"].get("generation", 0) for each in found["items"]}
