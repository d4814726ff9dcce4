"""Submodules are not followed; whoever needs one is told, and nothing is left out without a word."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from syncd.source.errors import UnsupportedContentError
from tests.unit.render.test_helm import needs_helm
from tests.unit.render.test_plain import config_map

if TYPE_CHECKING:
    from tests.unit.render.conftest import Bench

CHART = {
    "chart/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n",
    "chart/templates/a.yaml": config_map("a"),
}


def commit_with_submodule(bench: Bench, files: dict[str, str], submodule: str) -> None:
    bench.repo.commit({**files, "README.md": "x"})
    commit = bench.repo.git("rev-parse", "HEAD")
    bench.repo.git("update-index", "--add", "--cacheinfo", f"160000,{commit},{submodule}")
    bench.repo.git("commit", "-q", "-m", "submodule")
    bench.repo.git("push", "-q", "origin", "HEAD:refs/heads/main")


@pytest.mark.parametrize(
    ("files", "submodule", "path", "problem"),
    [
        ({"a.yaml": config_map("a")}, "more", ".", "more: it is a submodule"),
        ({}, "apps", "apps", "path 'apps' leads into the submodule apps"),
        ({}, "apps", "apps/prod", "path 'apps/prod' leads into the submodule apps"),
        ({"kustomization.yaml": "resources: [lib]\n"}, "lib", ".", "yaml, line 1: lib: lib is a submodule"),
        ({"app/kustomization.yaml": "resources: [../lib/base]\n"}, "lib", "app", "../lib/base: lib is a submodule"),
        (
            {"kustomization.yaml": "configMapGenerator: [{name: a, files: [lib/a.txt]}]\n"},
            "lib", ".", "lib/a.txt: lib is a submodule",
        ),
        pytest.param(CHART, "chart/charts/db", ".", "chart/charts/db is a submodule", marks=needs_helm),
        pytest.param(CHART, "chart/templates/more", ".", "chart/templates/more is a submodule", marks=needs_helm),
    ],
)  # fmt: skip
def test_a_submodule_that_is_needed_is_refused_by_name(
    bench: Bench, files: dict[str, str], submodule: str, path: str, problem: str
) -> None:
    commit_with_submodule(bench, files, submodule)
    with pytest.raises(UnsupportedContentError, match=problem):
        bench.render(bench.spec(path))


def test_a_submodule_elsewhere_does_not_matter(bench: Bench) -> None:
    commit_with_submodule(bench, {"apps/a.yaml": config_map("a")}, "vendor")
    assert [manifest.key.name for manifest in bench.render(bench.spec("apps"))] == ["a"]
