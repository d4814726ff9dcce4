from __future__ import annotations

import shutil
from collections import Counter
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.render.conftest import Bench

pytestmark = pytest.mark.corpus


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
    release = corpus.render(corpus.spec("microservices-demo/release"))
    built = corpus.render(corpus.spec("microservices-demo/kustomize"))
    plain = {manifest.key: manifest.body for manifest in release}
    assert {manifest.key for manifest in built} <= plain.keys()
    differing = [manifest.key for manifest in built if manifest.body != plain[manifest.key]]
    # The release writes these objects with the image's tag, the kustomization leaves it to a component.
    assert {key.kind for key in differing} <= {"Deployment"}


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
