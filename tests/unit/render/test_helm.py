from __future__ import annotations

import io
import os
import tarfile
from typing import TYPE_CHECKING

import pytest

from syncd.kubeyaml import YAMLError
from syncd.model import InvalidInputError, SyncdError
from syncd.render import Capabilities, Renderer, Surroundings
from syncd.render.errors import InvalidManifestError, RenderFailedError
from syncd.render.tools import Tools
from syncd.source.errors import LimitExceededError, UnsupportedContentError
from syncd.spec import SpecError, SyncSpec, parse_sync
from tests.unit.render.test_plain import config_map, names

if TYPE_CHECKING:
    from tests.unit.render.conftest import Bench


def helm_is_here() -> bool:
    try:
        Tools().find("helm")
    except SyncdError:
        return False
    return True


needs_helm = pytest.mark.skipif(
    not helm_is_here() and not os.environ.get("CI"),  # there its absence is a failure
    reason="needs helm on PATH, or `deploy/image/build-tools.sh .venv/bin helm sops`",
)

pytestmark = needs_helm

CHART = {
    "Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n",
    "values.yaml": "color: red\nsize: small\n",
    "templates/_helpers.tpl": '{{ define "name" }}{{ .Release.Name }}-web{{ end }}\n',
    "templates/a.yaml": 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ include "name" . }}\n'
    "data:\n  color: {{ .Values.color }}\n  size: {{ .Values.size }}\n  namespace: {{ .Release.Namespace }}\n",
    "templates/NOTES.txt": "Thank you.\n",
    "crds/crd.yaml": "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: x.y.z}\n",
}  # fmt: skip


def test_a_chart_is_found_and_rendered_with_its_own_values(bench: Bench) -> None:
    crd, web = bench.commit_and_render(CHART)
    assert web.body["data"] == {"color": "red", "size": "small", "namespace": "default"}
    assert (crd.key.name, web.key.name) == ("x.y.z", "web-web")


def test_values_release_and_namespace_are_the_syncs(bench: Bench) -> None:
    bench.repo.commit({**CHART, "env/dev.yaml": "color: green\nsize: large\n", "env/more.yaml": "size: huge\n"})
    spec = SyncSpec.model_validate({
        "source": {"git": {"url": bench.repo.url}},
        "target": {"namespace": "shop"},
        "render": {"helm": {
            "releaseName": "my", "valuesFiles": ["env/dev.yaml", "env/more.yaml"], "values": {"color": "blue"},
            "includeCrds": False,
        }},
    })  # fmt: skip
    (web,) = bench.render(spec)
    assert web.key.name == "my-web"
    assert web.body["data"] == {"color": "blue", "size": "huge", "namespace": "shop"}


def test_manifests_know_their_template(bench: Bench) -> None:
    dependency = {f"charts/sub/{path}": text.replace("name: web", "name: sub") for path, text in CHART.items()}
    dependency.pop("charts/sub/crds/crd.yaml")
    dependency["charts/sub/templates/a.yaml"] = config_map("sub") + "---\n" + config_map("other")
    chart = CHART["Chart.yaml"] + "dependencies: [{name: sub, version: 1.0.0}]\n"
    manifests = bench.commit_and_render(
        {f"app/{path}": text for path, text in {**CHART, **dependency, "Chart.yaml": chart}.items()}
    )
    assert {manifest.key.name: manifest.origin.path for manifest in manifests} == {
        "x.y.z": "app/crds/crd.yaml",
        "web-web": "app/templates/a.yaml",
        "sub": "app/charts/sub/templates/a.yaml",
        "other": "app/charts/sub/templates/a.yaml",
    }


def test_a_dependency_may_be_vendored_as_an_archive(bench: Bench) -> None:
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz") as packed:
        inside = {"Chart.yaml": CHART["Chart.yaml"].replace("web", "sub"), "templates/s.yaml": config_map("s")}
        for path, text in inside.items():
            entry = tarfile.TarInfo(f"sub/{path}")
            entry.size = len(text)
            packed.addfile(entry, io.BytesIO(text.encode()))
    chart = CHART["Chart.yaml"] + "dependencies: [{name: sub, version: 1.0.0, repository: 'https://x.invalid'}]\n"
    manifests = bench.commit_and_render({**CHART, "Chart.yaml": chart, "charts/sub-1.0.0.tgz": archive.getvalue()})
    assert sorted(names(manifests)) == ["s", "web-web", "x.y.z"]


def test_templates_see_the_versions_that_the_sync_names(bench: Bench) -> None:
    template = (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n"
        "  minor: {{ .Capabilities.KubeVersion.Minor | quote }}\n"
        '  has: {{ .Capabilities.APIVersions.Has "example.com/v1" | quote }}\n'
    )
    files = {"Chart.yaml": CHART["Chart.yaml"], "templates/a.yaml": template}
    options = {"kubeVersion": "1.29.0", "apiVersions": ["example.com/v1"]}
    (manifest,) = bench.commit_and_render(files, helm=options)
    assert manifest.body["data"] == {"minor": "29", "has": "true"}


ASKING = {
    "Chart.yaml": CHART["Chart.yaml"],
    "templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n"
    "  version: {{ .Capabilities.KubeVersion.Version }}\n"
    '  oaks: {{ .Capabilities.APIVersions.Has "example.com/v1/Oak" | quote }}\n',
}  # fmt: skip


def test_templates_see_the_cluster_as_it_is_now(bench: Bench) -> None:
    now = [Capabilities("v1.31.4-eks-1", ("example.com/v1", "example.com/v1/Oak"))]
    bench.renderer = Renderer(surroundings=Surroundings(capabilities=lambda: now[0]))
    first = bench.commit_and_render(ASKING)
    assert first[0].body["data"] == {"version": "v1.31.4-eks-1", "oaks": "true"}
    assert bench.render() is first
    now[0] = Capabilities("v1.32.0", ())
    assert bench.render()[0].body["data"] == {"version": "v1.32.0", "oaks": "false"}
    explicit = {"kubeVersion": "1.29.0", "apiVersions": ["example.com/v1/Oak"]}
    assert bench.render(bench.spec(helm=explicit))[0].body["data"] == {"version": "v1.29.0", "oaks": "true"}


def test_only_charts_depend_on_the_cluster(bench: Bench) -> None:
    def unreachable() -> Capabilities:
        raise AssertionError

    bench.renderer = Renderer(surroundings=Surroundings(capabilities=unreachable))
    assert names(bench.commit_and_render({"a.yaml": config_map("a")})) == ["a"]


def test_a_template_sees_nothing_of_our_environment_and_no_cluster(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HUNTER", "hunter2")
    for text in ('{{ env "HUNTER" }}', '{{ expandenv "$HUNTER" }}'):
        with pytest.raises(RenderFailedError, match="not defined"):
            bench.commit_and_render({**CHART, "templates/b.yaml": text})
    look = '{{ lookup "v1" "Namespace" "" "" | toJson | quote }}'
    template = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata: {{found: {look}}}\n"
    found = bench.commit_and_render({**CHART, "templates/b.yaml": template})
    assert [m.body["data"]["found"] for m in found if m.key.name == "a"] == ["{}"]


def test_charts_kustomizations_and_plain_files_go_together(bench: Bench) -> None:
    files = {f"web/{path}": text for path, text in CHART.items()}
    files |= {
        "k/kustomization.yaml": "resources: [a.yaml]\n",
        "k/a.yaml": config_map("built"),
        "p.yaml": config_map("p"),
    }
    assert sorted(names(bench.commit_and_render(files))) == ["built", "p", "web-web", "x.y.z"]


def test_a_change_of_values_renders_anew_and_an_unrelated_one_does_not(bench: Bench) -> None:
    before = bench.commit_and_render({f"app/{path}": text for path, text in CHART.items()}, path="app")
    assert bench.commit_and_render({"README.md": "x"}, path="app") is before
    after = bench.commit_and_render({"app/values.yaml": "color: black\nsize: small\n"}, path="app")
    assert after[1].body["data"]["color"] == "black"


HOOK = "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: job\n  annotations: {helm.sh/hook: HOOK}\n"


@pytest.mark.parametrize(("hooks", "found"), [("Apply", True), ("Omit", False)])
def test_the_sync_says_what_becomes_of_hooks(bench: Bench, hooks: str, *, found: bool) -> None:
    files = {**CHART, "templates/job.yaml": HOOK.replace("HOOK", "'pre-install,pre-upgrade'")}
    assert ("job" in names(bench.commit_and_render(files, helm={"hooks": hooks}))) is found


def test_a_hook_is_refused_when_the_sync_says_nothing(bench: Bench) -> None:
    with pytest.raises(
        InvalidManifestError, match=r"templates/job\.yaml: Job\.batch job is a Helm hook \(pre-install\)"
    ):
        bench.commit_and_render({**CHART, "templates/job.yaml": HOOK.replace("HOOK", "pre-install")})


def test_tests_are_left_out(bench: Bench) -> None:
    files = {**CHART, "templates/tests/t.yaml": HOOK.replace("HOOK", "test")}
    assert names(bench.commit_and_render(files)) == ["x.y.z", "web-web"]


def test_hooks_that_helm_drops_without_a_word_are_refused(bench: Bench) -> None:
    files = {**CHART, "templates/c.yaml": HOOK.replace("HOOK", "crd-install")}
    with pytest.raises(RenderFailedError, match=r"does not know \(crd-install\)"):
        bench.commit_and_render(files)
    assert names(bench.commit_and_render(files, helm={"hooks": "Omit"})) == ["x.y.z", "web-web"]


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({"templates/b.yaml": "{{ .Values.a.b.c }}"}, r"templates/b\.yaml, line 1: helm: .*nil pointer"),
        ({"templates/b.yaml": '{{ fail "no way" }}'}, r"templates/b\.yaml.*: helm: .*no way"),
        ({"templates/b.yaml": "{{ if }}"}, r"templates/b\.yaml.*: helm: .*parse error"),
        ({"templates/b.yaml": "a: b: c"}, r"templates/b\.yaml.*: helm: .*YAML"),
        ({"values.yaml": "a: ["}, r"helm: .*values\.yaml"),
        ({"Chart.yaml": "apiVersion: v2\nversion: 1.0.0\n"}, r"Chart\.yaml: the chart has no name"),
        (
            {"Chart.yaml": CHART["Chart.yaml"] + "dependencies: [{name: sub, version: 1, repository: 'https://x.invalid'}]\n"},
            r"Chart\.yaml: helm: .*missing in charts/ directory: sub",
        ),
        ({"templates/b.yaml": "apiVersion: v1\nkind: X\nmetadata: {}\n"}, r"b\.yaml: the X has no metadata.name"),
    ],
)  # fmt: skip
def test_a_chart_that_fails_is_named_with_one_clear_message(bench: Bench, files: dict[str, str], problem: str) -> None:
    with pytest.raises(InvalidInputError, match=problem) as caught:
        bench.commit_and_render({**CHART, **files})
    assert "syncd-render-" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_template_without_end_is_ended(bench: Bench) -> None:
    loop = '{{ range $i := until 2000000000 }}{{ printf "%d" $i }}{{ end }}'
    with pytest.raises((LimitExceededError, RenderFailedError)):
        bench.commit_and_render({**CHART, "templates/b.yaml": loop})


def test_a_values_file_that_is_not_there(bench: Bench) -> None:
    with pytest.raises(UnsupportedContentError, match=r"nowhere\.yaml: there is no such file"):
        bench.commit_and_render(CHART, helm={"valuesFiles": ["nowhere.yaml"]})


def test_a_link_out_of_the_repository_is_refused(bench: Bench) -> None:
    bench.repo.write(CHART)
    (bench.repo.work / "templates" / "b.yaml").symlink_to("/etc/passwd")
    bench.repo.commit()
    with pytest.raises(UnsupportedContentError, match="leads out of the repository"):
        bench.render()


def test_a_chart_that_is_not_there(bench: Bench) -> None:
    with pytest.raises(RenderFailedError, match=r"there is no Chart\.yaml"):
        bench.commit_and_render({"a.yaml": config_map("a")}, helm={})


def test_a_plain_sync_refuses_a_chart(bench: Bench) -> None:
    with pytest.raises((InvalidManifestError, YAMLError), match=r"Chart\.yaml"):
        bench.commit_and_render(CHART, plain={})


@pytest.mark.parametrize(
    "helm",
    [
        {"valuesFiles": ["../x.yaml"]}, {"valuesFiles": ["/etc/passwd"]}, {"releaseName": "-x"},
        {"kubeVersion": "--x y"}, {"apiVersions": ["a,b c"]}, {"hooks": "Run"}, {"noSuchField": 1},
    ],
)  # fmt: skip
def test_options_that_do_not_hold_are_refused(helm: dict[str, object]) -> None:
    spec = {"source": {"git": {"url": "/x"}}, "render": {"helm": helm}}
    with pytest.raises(SpecError):
        parse_sync({"metadata": {"name": "a"}, "spec": spec})
