"""The sample environments are real: they build, they are valid, and what refers to something finds it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema  # type: ignore[import-untyped]  # comes with kubernetes-validate, without types
import kubernetes_validate
import pytest
import yaml

from syncd.spec import parse_sync

if TYPE_CHECKING:
    from collections.abc import Iterator

MANIFESTS = Path(__file__).parents[2] / "manifests"
ENVIRONMENTS = ("dev", "staging", "prod")
KUBERNETES = "1.36"
CLUSTER_KINDS = ("Namespace", "CustomResourceDefinition", "PriorityClass")
FROM_THE_SECRET_STORE = "database-credentials"

Objects = list[dict[str, Any]]


@pytest.fixture(scope="module")
def environments() -> dict[str, Objects]:
    return {name: build(MANIFESTS / "overlays" / name) for name in ENVIRONMENTS}


@pytest.fixture(params=ENVIRONMENTS)
def environment(request: pytest.FixtureRequest, environments: dict[str, Objects]) -> Objects:
    return environments[request.param]


def build(folder: Path) -> Objects:
    kubectl = Path(sys.executable).with_name("kubectl")
    done = subprocess.run([kubectl, "kustomize", folder], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return list(yaml.safe_load_all(done.stdout))


def of(objects: Objects, kind: str) -> dict[str, Any]:
    return {item["metadata"]["name"]: item for item in objects if item["kind"] == kind}


def pod_templates(objects: Objects) -> Iterator[dict[str, Any]]:
    for item in objects:
        if item["kind"] in ("Deployment", "StatefulSet"):
            yield item["spec"]["template"]
        elif item["kind"] == "CronJob":
            yield item["spec"]["jobTemplate"]["spec"]["template"]


def containers(objects: Objects) -> Iterator[dict[str, Any]]:
    for template in pod_templates(objects):
        yield from template["spec"]["containers"]


def selected(objects: Objects, labels: dict[str, str]) -> bool:
    return any(labels.items() <= template["metadata"]["labels"].items() for template in pod_templates(objects))


def test_every_object_of_a_built_in_kind_is_strictly_valid(environment: Objects) -> None:
    for item in environment:
        if item["kind"] != "Promotion":
            kubernetes_validate.validate(item, KUBERNETES, strict=True)


def test_every_promotion_is_valid_by_the_schema_of_its_definition(environment: Objects) -> None:
    (definition,) = of(environment, "CustomResourceDefinition").values()
    (version,) = definition["spec"]["versions"]
    promotions = of(environment, "Promotion")
    assert promotions
    for promotion in promotions.values():
        assert promotion["apiVersion"] == f"{definition['spec']['group']}/{version['name']}"
        jsonschema.validate(promotion, version["schema"]["openAPIV3Schema"])


def test_an_environment_has_all_that_the_shop_needs(environment: Objects) -> None:
    assert {item["kind"] for item in environment} >= {
        *("Namespace", "CustomResourceDefinition", "ServiceAccount", "Role", "RoleBinding", "ConfigMap", "Service"),
        *("Deployment", "HorizontalPodAutoscaler", "Ingress", "NetworkPolicy", "Promotion"),
    }


def test_every_object_is_in_the_namespace_of_its_environment(environments: dict[str, Objects]) -> None:
    for name, objects in environments.items():
        namespaced = [item for item in objects if item["kind"] not in CLUSTER_KINDS]
        assert {item["metadata"].get("namespace") for item in namespaced} == {f"shop-{name}"}
        assert list(of(objects, "Namespace")) == [f"shop-{name}"]


def test_no_two_environments_have_an_object_in_common(environments: dict[str, Objects]) -> None:
    seen: set[tuple[str, ...]] = set()
    for objects in environments.values():
        keys = {
            (
                item["apiVersion"].rpartition("/")[0],
                item["kind"],
                item["metadata"].get("namespace", ""),
                item["metadata"]["name"],
            )
            for item in objects
        }
        assert not seen & keys
        seen |= keys


def test_the_config_and_secrets_that_pods_use_are_there(environment: Objects) -> None:
    config_maps = of(environment, "ConfigMap")
    secrets = {*of(environment, "Secret"), FROM_THE_SECRET_STORE}
    for container in containers(environment):
        for source in container.get("envFrom", []):
            assert source["configMapRef"]["name"] in config_maps
        for variable in container.get("env", []):
            if "valueFrom" in variable:
                assert variable["valueFrom"]["secretKeyRef"]["name"] in secrets


def test_what_selects_pods_finds_some(environment: Objects) -> None:
    for service in of(environment, "Service").values():
        assert selected(environment, service["spec"]["selector"])
    for policy in of(environment, "NetworkPolicy").values():
        assert selected(environment, policy["spec"]["podSelector"].get("matchLabels", {}))
    for budget in of(environment, "PodDisruptionBudget").values():
        assert selected(environment, budget["spec"]["selector"]["matchLabels"])
    for autoscaler in of(environment, "HorizontalPodAutoscaler").values():
        assert "replicas" not in of(environment, "Deployment")[autoscaler["spec"]["scaleTargetRef"]["name"]]["spec"]


def test_the_role_of_the_worker_is_for_the_promotions_of_its_environment(environment: Objects) -> None:
    (definition,) = of(environment, "CustomResourceDefinition").values()
    groups = {group for rule in of(environment, "Role")["worker"]["rules"] for group in rule["apiGroups"]}
    (settings,) = (item for name, item in of(environment, "ConfigMap").items() if name.startswith("shop-settings-"))
    assert groups == {definition["spec"]["group"]} == {settings["data"]["PROMOTIONS_API_GROUP"]}


def test_the_environments_differ_as_real_ones_do(environments: dict[str, Objects]) -> None:
    def bounds(name: str) -> tuple[int, int]:
        spec = of(environments[name], "HorizontalPodAutoscaler")["web"]["spec"]
        return spec["minReplicas"], spec["maxReplicas"]

    def image(name: str) -> str:
        pod = of(environments[name], "Deployment")["web"]["spec"]["template"]["spec"]
        return str(pod["containers"][0]["image"])

    hosts = {name: of(environments[name], "Ingress")["web"]["spec"]["rules"][0]["host"] for name in ENVIRONMENTS}
    assert hosts == {"dev": "dev.shop.example.com", "staging": "staging.shop.example.com", "prod": "shop.example.com"}
    assert bounds("dev") < bounds("staging") < bounds("prod")
    assert len({image(name) for name in ENVIRONMENTS}) == 3
    assert {name for name in ENVIRONMENTS if of(environments[name], "PodDisruptionBudget")} == {"staging", "prod"}
    assert {name for name in ENVIRONMENTS if of(environments[name], "StatefulSet")} == {"dev"}
    assert {name for name in ENVIRONMENTS if of(environments[name], "CronJob")} == {"prod"}


def test_a_certificate_is_for_the_host_of_the_ingress(environments: dict[str, Objects]) -> None:
    for name in ("staging", "prod"):
        spec = of(environments[name], "Ingress")["web"]["spec"]
        assert spec["tls"][0]["hosts"] == [spec["rules"][0]["host"]]


def test_there_is_one_sync_for_each_environment() -> None:
    documents = list(yaml.safe_load_all((MANIFESTS / "syncs.yaml").read_text()))
    syncs = [parse_sync(document) for document in documents]
    assert [sync.metadata.name for sync in syncs] == [f"shop-{name}" for name in ENVIRONMENTS]
    for sync, name in zip(syncs, ENVIRONMENTS, strict=True):
        assert sync.spec.source.git.url.endswith(f"/{name}.git")
        assert (MANIFESTS / sync.spec.path / "kustomization.yaml").is_file()
