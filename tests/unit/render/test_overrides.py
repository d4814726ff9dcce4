from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from syncd.render.errors import RenderFailedError
from tests.unit.render.test_helm import CHART, needs_helm
from tests.unit.render.test_plain import config_map

if TYPE_CHECKING:
    from tests.unit.render.conftest import Bench

APP = """\
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, annotations: {a: b}}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      serviceAccountName: web
      containers:
      - {name: web, image: "example.com/web:v1", envFrom: [{configMapRef: {name: settings}}]}
      - {name: side, image: side}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: web, namespace: shop}
---
apiVersion: example.com/v1
kind: Tree
metadata: {name: oak, namespace: shop}
spec: {height: 1.0, leaves: "yes", rings: 9007199254740991}
"""
FILES = {
    "app.yaml": APP,
    "k/kustomization.yaml": "resources: [settings.yaml]\n",
    "k/settings.yaml": config_map("settings", namespace="shop"),
}
PATCH = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop}\nspec: {template: {spec: "
OVERRIDES = {
    "namespace": "other",
    "namePrefix": "a-",
    "nameSuffix": "-z",
    "labels": {"team": "x"},
    "annotations": {"note": "y"},
    "images": [{"name": "example.com/web", "newTag": "v2"}, {"name": "side", "newName": "mirror/side"}],
    "patches": [
        {"patch": PATCH + "{containers: [{name: side, workingDir: /x}]}}}\n"},
        {"patch": "[{op: replace, path: /spec/leaves, value: 'no'}]", "target": {"kind": "Tree", "name": "o.*"}},
    ],
}


def test_changes_are_made_to_everything_and_origins_stay(bench: Bench) -> None:
    bench.repo.commit(FILES)
    plain = bench.render()
    changed = bench.render(bench.sync(overrides=OVERRIDES))
    assert [manifest.origin for manifest in changed] == [manifest.origin for manifest in plain]
    assert [(m.key.kind, m.key.namespace, m.key.name) for m in changed] == [
        ("Namespace", "", "shop"),
        ("Deployment", "other", "a-web-z"),
        ("ServiceAccount", "other", "a-web-z"),
        ("Tree", "other", "a-oak-z"),
        ("ConfigMap", "other", "a-settings-z"),
    ]
    _, deployment, _, tree, _ = (manifest.body for manifest in changed)
    template = deployment["spec"]["template"]
    assert template["metadata"] == {"labels": {"app": "web"}}
    assert deployment["spec"]["selector"] == {"matchLabels": {"app": "web"}}
    assert deployment["metadata"]["annotations"] == {"a": "b", "note": "y"}
    assert template["spec"]["serviceAccountName"] == "a-web-z"
    side, web = sorted(template["spec"]["containers"], key=lambda container: str(container["name"]))
    assert web["image"] == "example.com/web:v2"
    assert web["envFrom"] == [{"configMapRef": {"name": "a-settings-z"}}]
    assert side == {"name": "side", "image": "mirror/side", "workingDir": "/x"}
    assert tree["spec"] == {"height": 1, "leaves": "no", "rings": 9007199254740991}
    assert all(m.body["metadata"]["labels"] == {"team": "x"} for m in changed)
    assert all("syncd.dev/rendered-as" not in m.body["metadata"].get("annotations", {}) for m in changed)


def test_without_changes_nothing_changes(bench: Bench) -> None:
    bench.repo.commit(FILES)
    assert bench.render(bench.sync(overrides={})) == bench.render()


def test_a_patch_may_take_all_annotations_away_and_objects_too(bench: Bench) -> None:
    bench.repo.commit(FILES)
    patches = [
        {"patch": "[{op: remove, path: /metadata/annotations}]", "target": {"kind": "Deployment"}},
        {"patch": "$patch: delete\napiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n"},
    ]
    changed = bench.render(bench.sync(overrides={"patches": patches}))
    assert sorted(manifest.key.kind for manifest in changed) == ["ConfigMap", "Deployment", "ServiceAccount", "Tree"]
    (deployment,) = (manifest for manifest in changed if manifest.key.kind == "Deployment")
    assert "annotations" not in deployment.body["metadata"]


@needs_helm
def test_charts_are_changed_too(bench: Bench) -> None:
    bench.repo.commit(CHART)
    assert [m.key.name for m in bench.render(bench.sync(overrides={"namePrefix": "a-"}))] == ["x.y.z", "a-web-web"]


@pytest.mark.parametrize("patch", ["kind: X\n", "[{op: remove, path: /spec/nothing}]", "a: ["])
def test_a_patch_that_does_not_apply_is_named_as_the_syncs(bench: Bench, patch: str) -> None:
    bench.repo.commit(FILES)
    with pytest.raises(RenderFailedError, match=r"spec\.overrides: kustomize: ") as caught:
        bench.render(bench.sync(overrides={"patches": [{"patch": patch, "target": {"kind": "Tree"}}]}))
    assert "syncd-render-" not in str(caught.value)


@pytest.mark.parametrize(
    "overrides",
    [
        {"images": [{"name": "a"}]}, {"namePrefix": "A_"}, {"namespace": "a.b"}, {"patches": [{"patch": ""}]},
        {"replicas": 3}, {"labels": {"a": 1}},
    ],
)  # fmt: skip
def test_overrides_that_do_not_hold_are_refused(bench: Bench, overrides: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="overrides"):
        bench.sync(overrides=overrides)
