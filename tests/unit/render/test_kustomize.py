from __future__ import annotations

import http.server
import os
import stat
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from syncd.kubeyaml import YAMLError
from syncd.model import InvalidInputError
from syncd.render import Renderer, versions
from syncd.render.errors import (
    DuplicateManifestError,
    InvalidManifestError,
    NoManifestsError,
    RemoteInputError,
    RenderFailedError,
    RenderTimeoutError,
    ToolMissingError,
)
from syncd.render.tools import Tools
from syncd.source.errors import LimitExceededError, UnsupportedContentError
from tests.unit.render.test_plain import config_map, names
from tests.unit.source.children import end_soon

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.unit.render.conftest import Bench

BASE = {
    "base/kustomization.yaml": "resources: [web.yaml]\nconfigMapGenerator:\n- name: app\n  files: [app.conf]\n",
    "base/web.yaml": config_map("web"),
    "base/app.conf": "verbose=true\n",
}


def test_an_overlay_is_built_with_bases_outside_of_its_folder(bench: Bench) -> None:
    overlay = "resources: [../../base]\nnamespace: shop\nnamePrefix: dev-\n"
    manifests = bench.commit_and_render({**BASE, "overlays/dev/kustomization.yaml": overlay}, path="overlays/dev")
    keys = [(manifest.key.namespace, manifest.key.name.rpartition("-")[0]) for manifest in manifests]
    assert ("shop", "dev") in keys
    assert ("shop", "dev-app") in keys


def test_manifests_know_the_file_that_they_are_from_and_carry_no_trace_of_that(bench: Bench) -> None:
    overlay = "resources: [../../base, extra.yaml]\n"
    files = {
        **BASE,
        "overlays/dev/kustomization.yaml": overlay,
        "overlays/dev/extra.yaml": config_map("extra", annotations="{a: b}"),
    }
    manifests = bench.commit_and_render(files, path="overlays/dev")
    assert sorted((manifest.key.name.partition("-")[0], manifest.origin.path) for manifest in manifests) == [
        ("app", "base/kustomization.yaml"),
        ("extra", "overlays/dev/extra.yaml"),
        ("web", "base/web.yaml"),
    ]
    annotations = {m.key.name: m.body["metadata"].get("annotations") for m in manifests}
    assert annotations["web"] is None
    assert annotations["extra"] == {"a": "b"}


@pytest.mark.parametrize(
    "kustomization",
    [
        "resources: [a.yaml]\nbuildMetadata: [originAnnotations]\n",
        "{resources: [a.yaml]}\n",
        "resources: [a.yaml]\n...\n",
        (
            "resources: [a.yaml]\nreplacements:\n- source: {kind: ConfigMap, name: a, fieldPath: metadata.name}\n"
            "  targets: [{select: {kind: ConfigMap}, fieldPaths: [data.me], options: {create: true}}]\n"
        ),
    ],
)
def test_where_asking_for_origins_could_change_the_output_the_kustomization_is_the_origin(
    bench: Bench, kustomization: str
) -> None:
    (manifest,) = bench.commit_and_render({"kustomization.yaml": kustomization, "a.yaml": config_map("a")})
    assert manifest.origin.path == "kustomization.yaml"
    wanted = "originAnnotations" in kustomization
    assert ("config.kubernetes.io/origin" in manifest.body["metadata"].get("annotations", {})) is wanted


def test_components_patches_and_generators_work(bench: Bench) -> None:
    files = {
        **BASE,
        "component/kustomization.yaml": "kind: Component\napiVersion: kustomize.config.k8s.io/v1alpha1\n"
        "patches:\n- path: patch.yaml\n",
        "component/patch.yaml": config_map("web") + "data: {patched: 'true'}\n",
        "app/kustomization.yaml": "resources: [../base]\ncomponents: [../component]\n"
        "secretGenerator:\n- name: keys\n  envs: [keys.env]\n",
        "app/keys.env": "a=b\n",
    }
    manifests = bench.commit_and_render(files, path="app")
    assert {manifest.key.kind for manifest in manifests} == {"ConfigMap", "Secret"}
    assert [m.body["data"] for m in manifests if m.key.name == "web"] == [{"patched": "true"}]


def test_in_a_folder_of_both_kustomizations_are_built_and_other_files_read(bench: Bench) -> None:
    manifests = bench.commit_and_render({
        "namespace.yaml": config_map("plain"),
        "web/kustomization.yaml": "resources: [base]\nnamePrefix: x-\n",
        "web/base/kustomization.yaml": "resources: [a.yaml]\n",
        "web/base/a.yaml": config_map("a"),
        "worker/b.yaml": config_map("b"),
    })  # fmt: skip
    assert sorted(names(manifests)) == ["b", "plain", "x-a"]


def test_a_link_to_a_base_is_followed(bench: Bench) -> None:
    bench.repo.write({**BASE, "app/kustomization.yaml": "resources: [../current]\n"})
    (bench.repo.work / "current").symlink_to("base")
    bench.repo.commit()
    assert "web" in names(bench.render(bench.spec("app")))


def test_local_configuration_is_left_out(bench: Bench) -> None:
    local = config_map("a", annotations="{config.kubernetes.io/local-config: 'true'}")
    files = {"kustomization.yaml": "resources: [a.yaml, b.yaml]\n", "a.yaml": local, "b.yaml": config_map("b")}
    assert names(bench.commit_and_render(files)) == ["b"]


# --- the cache -----------------------------------------------------------------------------------------------------


def test_a_commit_that_touches_nothing_relevant_renders_nothing(bench: Bench) -> None:
    files = {**BASE, "app/kustomization.yaml": "resources: [../base]\n", "other/a.yaml": config_map("a")}
    before = bench.commit_and_render(files, path="app")
    assert bench.commit_and_render({"other/a.yaml": config_map("b"), "README.md": "hello"}, path="app") is before


@pytest.mark.parametrize("path", ["base/web.yaml", "base/app.conf", "base/new.txt"])
def test_a_commit_that_touches_a_base_renders_anew(bench: Bench, path: str) -> None:
    files = {**BASE, "app/kustomization.yaml": "resources: [../base]\n"}
    before = bench.commit_and_render(files, path="app")
    after = bench.commit_and_render({path: config_map("web", labels="{changed: 'yes'}")}, path="app")
    assert after is not before
    assert (after == before) == (path == "base/new.txt")


# --- what is wrong with the input ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kustomization", "problem"),
    [
        ("resources:\n- a.yaml\n- missing.yaml\n", "line 3: missing.yaml: it is neither a file nor a folder"),
        ("resources:\n- ../../..\n", "line 2: .*leads out of the repository"),
        ("resources:\n- /etc\n", "line 2: /etc: it is neither"),
        ("patches:\n- path: missing.yaml\n", "kustomize: .*missing.yaml"),
        ("resources: [a.yaml]\nnoSuchField: 1\n", "kustomize: .*unknown field"),
        ("resources: [folder]\n", "kustomize: .*unable to find one of 'kustomization.yaml'"),
        ("resources: [broken.yaml]\n", "kustomize: "),
        ("helmCharts:\n- name: x\n  repo: oci://example.com/x\n", "kustomize: .*enable-helm"),
        (
            "configMapGenerator:\n- name: a\n  files: [../secret.txt]\n",
            "kustomization.yaml: kustomize: .*security; file",
        ),
        ("generators:\n- exec.yaml\n", "kustomize: "),
    ],
)
def test_a_kustomization_that_fails_is_named_with_one_clear_message(
    bench: Bench, kustomization: str, problem: str
) -> None:
    files = {
        "app/kustomization.yaml": kustomization,
        "app/a.yaml": config_map("a"),
        "app/folder/readme.txt": "x",
        "app/broken.yaml": "a: [\n",
        "secret.txt": "s",
        "app/exec.yaml": "apiVersion: v1\nkind: X\nmetadata:\n  name: x\n  annotations:\n"
        "    config.kubernetes.io/function: |\n      exec: {path: ./run.sh}\n",
        "app/run.sh": "#!/bin/sh\ntouch /tmp/executed\n",
    }
    with pytest.raises(InvalidInputError, match=problem) as caught:
        bench.commit_and_render(files, path="app")
    message = str(caught.value)
    assert message.startswith(f"{bench.repo.url} app")
    assert "syncd-render-" not in message
    assert "\n" not in message


def test_the_error_is_at_the_file_that_kustomize_names(bench: Bench) -> None:
    files = {
        "app/kustomization.yaml": "resources: [../base]\n",
        "base/kustomization.yaml": "resources: [broken.yaml]\n",
        "base/broken.yaml": "a: [\n",
    }
    for path in ("base", "app"):
        with pytest.raises(RenderFailedError) as caught:
            bench.commit_and_render(files, path=path)
        assert caught.value.origin is not None
        assert caught.value.origin.path == "base/broken.yaml"


def test_a_kustomization_that_does_not_parse_is_named_with_its_line(bench: Bench) -> None:
    with pytest.raises(YAMLError, match=r"base/kustomization\.yaml, document 1, line 3"):
        bench.commit_and_render({**BASE, "base/kustomization.yaml": "a: 1\nb: 2\na: 3\n"}, path="base")


def test_two_kustomizations_that_bring_the_same_object_are_an_error(bench: Bench) -> None:
    files = {**BASE, "a/kustomization.yaml": "resources: [../base]\n", "b/kustomization.yaml": "resources: [../base]\n"}
    with pytest.raises(InvalidInputError) as caught:
        bench.commit_and_render({f"apps/{path}": text for path, text in files.items()}, path="apps")
    assert "is already described in" in str(caught.value)
    assert DuplicateManifestError.reason == "DuplicateManifest"


def test_an_empty_result_is_an_error(bench: Bench) -> None:
    with pytest.raises(NoManifestsError):
        bench.commit_and_render({"kustomization.yaml": "resources: [a.yaml]\n", "a.yaml": "# nothing\n"})


def test_a_bad_object_is_reported_at_its_file(bench: Bench) -> None:
    files = {
        "kustomization.yaml": "resources: [a.yaml]\n",
        "a.yaml": "apiVersion: a/b/c\nkind: ConfigMap\nmetadata: {name: x}\n",
    }
    with pytest.raises(InvalidManifestError, match=r"a\.yaml: apiVersion 'a/b/c'"):
        bench.commit_and_render(files)


@pytest.mark.parametrize("target", ["/etc/passwd", "../../../../etc/passwd"])
def test_a_link_out_of_the_repository_is_refused(bench: Bench, target: str) -> None:
    bench.repo.write({"app/kustomization.yaml": "configMapGenerator:\n- name: a\n  files: [link]\n"})
    (bench.repo.work / "app" / "link").symlink_to(target)
    bench.repo.commit()
    with pytest.raises(UnsupportedContentError, match="leads out of the repository"):
        bench.render(bench.spec("app"))


def test_a_generated_file_in_git_lfs_is_refused(bench: Bench) -> None:
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 12\n"
    files = {"kustomization.yaml": "configMapGenerator:\n- name: a\n  files: [big.bin]\n", "big.bin": pointer}
    with pytest.raises(UnsupportedContentError, match=r"big\.bin: its content is in Git LFS"):
        bench.commit_and_render(files)


def test_large_files_beside_a_kustomization_do_not_matter(bench: Bench) -> None:
    bench.repo.write({"film.bin": bytes(32 << 20)})
    files = {"kustomization.yaml": "resources: [a.yaml]\n", "a.yaml": config_map("a")}
    assert names(bench.commit_and_render(files)) == ["a"]
    with pytest.raises(LimitExceededError, match=r"film\.bin: it has 33554432 bytes"):
        bench.commit_and_render({"kustomization.yaml": "configMapGenerator:\n- name: a\n  files: [film.bin]\n"})


# --- nothing comes from elsewhere ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "reference",
    [
        "https://example.com/base.yaml",
        "https://github.com/org/repo//base?ref=v1",
        "github.com/org/repo",
        "git@github.com:org/repo",
        "git::https://example.com/x",
        "ssh://git@example.com/x",
        "file:///etc",
        "example.com/org/repo//base?ref=v1",
        "https:/example.com",
    ],
)
def test_a_remote_base_is_refused_before_kustomize_runs(bench: Bench, tmp_path: Path, reference: str) -> None:
    bench.renderer = Renderer(tools=program(tmp_path, f"/usr/bin/touch {tmp_path}/it-ran"))
    with pytest.raises(InvalidInputError, match=r"kustomization\.yaml, line 2: .*(elsewhere|neither)"):
        bench.commit_and_render({"kustomization.yaml": f"resources:\n- {reference}\n"})
    assert not (tmp_path / "it-ran").exists()


class _Listener(http.server.BaseHTTPRequestHandler):
    asked: list[str]

    def do_GET(self) -> None:
        self.asked.append(self.path)
        self.send_error(404)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def listener() -> Iterator[tuple[str, list[str]]]:
    """A server that nobody should ask, and what it was asked."""
    asked: list[str] = []
    handler = type("Handler", (_Listener,), {"asked": asked})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    "kustomization",
    [
        "resources: [URL/a.yaml]",
        "bases: [URL/a]",
        "components: [URL/a]",
        "crds: [URL/a]",
        "configurations: [URL/a]",
        "openapi: {path: URL/a}",
        "patches: [{path: URL/a}]",
        "patchesStrategicMerge: [URL/a]",
        "patchesJson6902: [{path: URL/a, target: {kind: X, version: v1, name: x}}]",
        "replacements: [{path: URL/a}]",
        "configMapGenerator: [{name: a, files: [URL/a]}]",
        "configMapGenerator: [{name: a, files: [b=URL/a]}]",
        "secretGenerator: [{name: a, envs: [URL/a]}]",
        "generators: [URL/a]",
        "transformers: [plugin.yaml]",
        "validators: [plugin.yaml]",
        "generators: [generator.yaml]",
    ],
)
def test_no_field_makes_kustomize_ask_the_network(
    bench: Bench, listener: tuple[str, list[str]], kustomization: str
) -> None:
    url, asked = listener
    files = {
        "kustomization.yaml": kustomization,
        "plugin.yaml": "apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: x}\npath: URL/a\n",
        "generator.yaml": "apiVersion: builtin\nkind: ConfigMapGenerator\nmetadata: {name: x}\nfiles: [URL/a]\n",
    }
    with pytest.raises(RemoteInputError):
        bench.commit_and_render({path: text.replace("URL", url) for path, text in files.items()})
    assert asked == []


# --- the program ---------------------------------------------------------------------------------------------------


def program(directory: Path, script: str) -> Tools:
    """A kustomize that does what a test wants."""
    path = directory / "kustomize"
    path.write_text(f'#!/bin/sh\nif [ "$1" = version ]; then echo v5.8.1; exit; fi\n{script}\n')
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return Tools({"kustomize": path})


def test_the_environment_can_say_which_program_to_use(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path, "echo '{apiVersion: v1, kind: X, metadata: {name: ours}}'")
    monkeypatch.setenv("SYNCD_KUSTOMIZE", str(tmp_path / "kustomize"))
    bench.renderer = Renderer()
    assert names(bench.commit_and_render({"kustomization.yaml": "namePrefix: a\n"})) == ["ours"]
    assert versions()["kustomize"] == f"v5.8.1 ({tmp_path / 'kustomize'})"


def test_the_program_sees_nothing_of_our_environment(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hunter2")
    show = '/usr/bin/env | /usr/bin/sed "s/^/# /"\n/bin/cat <<E\napiVersion: v1\nkind: X\nmetadata: {name: x}\n'
    show += 'data: {path: $PATH, key: "$AWS_SECRET_ACCESS_KEY", home: $HOME}\nE'
    bench.renderer = Renderer(tools=program(tmp_path, show))
    (manifest,) = bench.commit_and_render({"kustomization.yaml": "namePrefix: a\n"})
    data = manifest.body["data"]
    assert data["key"] == ""
    assert data["path"] == data["home"] != os.environ["HOME"]
    assert not Path(data["home"]).exists()


def test_a_program_that_does_not_end_is_ended_with_its_children(bench: Bench, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    bench.renderer = Renderer(tools=program(tmp_path, f"/bin/sleep 1000 &\necho $! > {pids}\n/bin/sleep 1000"))
    bench.repo.commit({"kustomization.yaml": "namePrefix: a\n"})
    spec = bench.spec()
    revision = bench.repositories.resolve(spec.source.git, ".", deadline=time.monotonic() + 60)
    with pytest.raises(RenderTimeoutError, match="kustomize did not end before the Sync's timeout"):
        bench.renderer.render(bench.repositories, spec, revision, deadline=time.monotonic() + 2)
    assert end_soon(pids.read_text())


def test_a_program_that_writes_without_end_is_ended(bench: Bench, tmp_path: Path) -> None:
    bench.renderer = Renderer(tools=program(tmp_path, "exec /usr/bin/yes"))
    with pytest.raises(LimitExceededError, match="kustomize wrote more than"):
        bench.commit_and_render({"kustomization.yaml": "namePrefix: a\n"})


def test_a_program_that_eats_memory_is_ended(bench: Bench, tmp_path: Path) -> None:
    eat = "exec /usr/bin/tail -c 100000000000 /dev/zero"
    bench.renderer = Renderer(tools=program(tmp_path, eat))
    with pytest.raises((RenderFailedError, LimitExceededError)):
        bench.commit_and_render({"kustomization.yaml": "namePrefix: a\n"})


def test_a_program_that_is_not_there_or_too_old_is_an_error(bench: Bench, tmp_path: Path) -> None:
    bench.renderer = Renderer(tools=Tools({"kustomize": tmp_path / "nowhere"}))
    with pytest.raises(ToolMissingError, match="there is no kustomize or kubectl at"):
        bench.commit_and_render({"kustomization.yaml": "namePrefix: a\n"})
    tools = program(tmp_path, "")
    (tmp_path / "kustomize").write_text("#!/bin/sh\necho v3.9.0\n")
    bench.renderer = Renderer(tools=tools)
    with pytest.raises(ToolMissingError, match=r"has kustomize v3\.9\.0, and syncd needs 4\.5\.0 or newer"):
        bench.render()
    assert "needs 4.5.0" in versions(tools)["kustomize"]


def test_the_version_of_the_program_is_told() -> None:
    assert versions()["kustomize"].startswith("v")
