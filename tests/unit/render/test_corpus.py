from __future__ import annotations

import shutil
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from tests.unit.render.test_helm import needs_helm

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from syncd.model import JSONObject, Manifest, ObjectKey
    from tests.unit.render.conftest import Bench

pytestmark = pytest.mark.corpus


def bodies(manifests: Iterable[Manifest]) -> dict[ObjectKey, JSONObject]:
    return {manifest.key: manifest.body for manifest in manifests}


def _without_namespace(body: JSONObject) -> JSONObject:
    return {**body, "metadata": {key: value for key, value in body["metadata"].items() if key != "namespace"}}


def _differing(one: Any, other: Any, path: str = "") -> Iterator[str]:
    """The places at which two values differ; a list of another length differs as a whole."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted(one.keys() | other.keys()):
            yield from _differing(one.get(key), other.get(key), f"{path}.{key}" if path else key)
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for index, (left, right) in enumerate(zip(one, other, strict=True)):
            yield from _differing(left, right, f"{path}[{index}]")
    elif one != other:
        yield path


@pytest.fixture
def corpus(bench: Bench, shared: Path) -> Bench:
    shutil.copytree(shared / "corpus", bench.repo.work, dirs_exist_ok=True)
    bench.repo.commit()
    return bench


def test_the_release_of_a_real_application(corpus: Bench) -> None:
    manifests = corpus.render(corpus.spec("microservices-demo/release"))
    kinds = Counter(manifest.key.kind for manifest in manifests)
    assert kinds["Deployment"] == 12
    assert len(manifests) == 40


def test_the_kustomization_is_the_release(corpus: Bench) -> None:
    release = bodies(corpus.render(corpus.spec("microservices-demo/release")))
    built = bodies(corpus.render(corpus.spec("microservices-demo/kustomize")))
    istio = {key for key in release if key.group in ("networking.istio.io", "gateway.networking.k8s.io")}
    assert len(istio) == 5  # a component of the kustomization, which that does not use by default
    assert built == {key: body for key, body in release.items() if key not in istio}


@needs_helm
def test_the_chart_is_the_kustomization_up_to_what_its_authors_wrote_differently(corpus: Bench) -> None:
    built = bodies(corpus.render(corpus.spec("microservices-demo/kustomize")))
    memory = {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"cpu": "200m", "memory": "128Mi"}}
    cart = {"requests": {"cpu": "200m", "memory": "64Mi"}, "limits": {"cpu": "300m", "memory": "128Mi"}}
    values = {  # the chart gives these more memory
        "cartService": {"resources": cart},
        "currencyService": {"resources": memory},
        "paymentService": {"resources": memory},
    }
    rendered = bodies(corpus.render(corpus.spec("microservices-demo/helm-chart", helm={"values": values})))
    chart = {key._replace(namespace=""): _without_namespace(body) for key, body in rendered.items()}
    assert {key.namespace for key in rendered} == {"default"}  # the chart writes the release's namespace everywhere
    assert {key.display() for key in chart.keys() - built.keys()} == {"ServiceAccount redis-cart"}
    assert not built.keys() - chart.keys()
    container = "spec.template.spec.containers[0]"
    assert {(key.kind, key.name, path) for key in built for path in _differing(built[key], chart[key])} == {
        ("Deployment", "frontend", f"{container}.env"),  # switches that only the chart has
        ("Deployment", "productcatalogservice", f"{container}.env"),  # the same
        ("Deployment", "redis-cart", f"{container}.image"),  # the chart pins a digest
        ("Deployment", "redis-cart", "spec.template.spec.serviceAccountName"),  # only the chart has one
        ("Deployment", "redis-cart", "metadata.labels"),  # only the kustomization has them, here and below
        ("Service", "redis-cart", "metadata.labels"),
        ("Service", "frontend-external", "metadata.labels"),
    }


@pytest.mark.parametrize("name", ["memorystore", "service-mesh-istio", "spanner"])
def test_components_and_their_files_are_found(corpus: Bench, name: str) -> None:
    manifests = corpus.render(corpus.spec(f"microservices-demo/kustomize/tests/{name}-with-all-components"))
    folders = {manifest.origin.path.rpartition("/")[0] for manifest in manifests}
    assert "microservices-demo/kustomize/base" in folders
    assert "microservices-demo/kustomize/components/network-policies" in folders


def test_a_monitoring_stack_with_lists_and_large_objects(corpus: Bench) -> None:
    manifests = corpus.render(corpus.spec("kube-prometheus/manifests"))
    kinds = Counter(manifest.key.kind for manifest in manifests)
    assert not [kind for kind in kinds if kind.endswith("List")]
    assert kinds["Role"] >= 3
    assert kinds["CustomResourceDefinition"] == 10
    assert all(manifest.origin.document and manifest.origin.line for manifest in manifests)
