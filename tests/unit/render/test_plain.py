from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from syncd.kubeyaml import YAMLError
from syncd.model import InvalidInputError, ObjectKey
from syncd.render.errors import (
    DuplicateManifestError,
    InvalidInputsError,
    InvalidManifestError,
    NoManifestsError,
    RenderFailedError,
)
from syncd.source.errors import LimitExceededError, UnsupportedContentError
from syncd.source.repository import Repositories
from syncd.source.tree import Limits

if TYPE_CHECKING:
    from pathlib import Path

    from syncd.model import Manifest
    from tests.unit.render.conftest import Bench


def config_map(name: str, **metadata: object) -> str:
    extra = "".join(f", {key}: {value}" for key, value in metadata.items())
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}{extra}}}\n"


def names(manifests: tuple[Manifest, ...]) -> list[str]:
    return [manifest.key.name for manifest in manifests]


def test_files_are_read_from_all_folders_in_the_order_of_their_paths(bench: Bench) -> None:
    manifests = bench.commit_and_render({
        "z.yaml": config_map("z"),
        "b/c/d.yml": config_map("d"),
        "b/a.json": '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}',
        "README.md": "not a manifest",
        "run.sh": "neither",
    })  # fmt: skip
    assert names(manifests) == ["a", "d", "z"]


def test_a_manifest_knows_its_repository_file_document_and_line(bench: Bench) -> None:
    manifests = bench.commit_and_render({"apps/a.yaml": f"# two\n---\n{config_map('a')}---\n---\n\n{config_map('b')}"})
    assert [str(manifest.origin) for manifest in manifests] == [
        f"{bench.repo.url} apps/a.yaml, document 1, line 3",
        f"{bench.repo.url} apps/a.yaml, document 3, line 9",
    ]


def test_the_key_has_group_kind_namespace_and_name(bench: Bench) -> None:
    text = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop}\n"
    (manifest,) = bench.commit_and_render({"a.yaml": text})
    assert manifest.key == ObjectKey("shop", "apps", "Deployment", "web")
    assert manifest.api_version == "apps/v1"


def test_only_the_files_below_the_path_count(bench: Bench) -> None:
    manifests = bench.commit_and_render({"a/x.yaml": config_map("a"), "ab/x.yaml": config_map("ab")}, path="a")
    assert names(manifests) == ["a"]


def test_hidden_files_and_folders_do_not_count(bench: Bench) -> None:
    files = {".github/workflows/ci.yaml": "on: push", ".gitlab-ci.yml": "stages: []", "a.yaml": config_map("a")}
    assert names(bench.commit_and_render(files)) == ["a"]


def test_syncdignore_leaves_out_what_it_names(bench: Bench) -> None:
    files = {
        "apps/.syncdignore": "# not for the cluster\n/values.yaml\ntests/\n*.tmp.yaml\n!keep.tmp.yaml\n",
        "apps/values.yaml": "replicas: 3",
        "apps/web/values.yaml": config_map("values"),
        "apps/web/tests/a.yaml": "not: one",
        "apps/a.tmp.yaml": "not: one",
        "apps/keep.tmp.yaml": config_map("keep"),
    }
    assert names(bench.commit_and_render(files, path="apps")) == ["keep", "values"]


@pytest.mark.parametrize(
    ("patterns", "found"),
    [
        ({"include": ["web/"]}, ["web", "built"]),
        ({"include": ["*.yaml"], "exclude": ["/web/"]}, ["a", "old"]),
        ({"exclude": ["old.*", "/web/k"]}, ["a", "web"]),
        ({"exclude": ["*", "!/a.yaml"]}, ["a"]),
    ],
)
def test_the_sync_says_what_counts_also_where_folders_tell_the_renderer(
    bench: Bench, patterns: dict[str, list[str]], found: list[str]
) -> None:
    files = {
        "a.yaml": config_map("a"),
        "old.yaml": config_map("old"),
        "web/w.yaml": config_map("web"),
        "web/k/kustomization.yaml": "resources: [k.yaml]\n",
        "web/k/k.yaml": config_map("built"),
    }
    assert names(bench.commit_and_render(files, plain=patterns, kustomize={}, helm={})) == found


def test_what_the_sync_leaves_out_is_in_nobodys_way(bench: Bench) -> None:
    files = {"a.yaml": config_map("a"), "chart/Chart.yaml": "name: x\n", "k/kustomization.yaml": "resources: []\n"}
    with pytest.raises(InvalidManifestError, match=r"k/kustomization\.yaml: .*add kustomize: \{\} there"):
        bench.commit_and_render(files, plain={"exclude": ["chart"]})
    with pytest.raises(InvalidManifestError, match=r"a\.yaml: .*add plain"):
        bench.commit_and_render(files, kustomize={}, helm={})
    assert names(bench.commit_and_render(files, plain={"exclude": ["chart", "k"]})) == ["a"]


@pytest.mark.parametrize("pattern", ["", "# a comment", "!", "/"])
def test_a_pattern_that_means_nothing_is_refused(bench: Bench, pattern: str) -> None:
    with pytest.raises(ValueError, match="exclude"):
        bench.spec(plain={"exclude": [pattern]})


def test_lists_are_taken_apart(bench: Bench) -> None:
    role = "rbac.authorization.k8s.io/v1"
    files = {
        "list.yaml": (
            "apiVersion: v1\nkind: List\nitems:\n"
            "- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n"
            "- {apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Secret, metadata: {name: b}}]}\n"
        ),
        "roles.yaml": (
            f"apiVersion: {role}\nkind: RoleList\nitems:\n"
            f"- {{apiVersion: {role}, kind: Role, metadata: {{name: c}}}}\n"
            "- {metadata: {name: d}}\n"
        ),
        "empty.yaml": "apiVersion: v1\nkind: List\nitems: []\n",
    }
    manifests = bench.commit_and_render(files)
    assert [(manifest.key.kind, manifest.key.name, manifest.api_version) for manifest in manifests] == [
        ("ConfigMap", "a", "v1"), ("Secret", "b", "v1"), ("Role", "c", role), ("Role", "d", role),
    ]  # fmt: skip


def test_a_kind_that_happens_to_end_in_list_is_an_object(bench: Bench) -> None:
    text = "apiVersion: net.example.com/v1\nkind: AllowList\nmetadata: {name: a}\nitems: [1.2.3.4]\n"
    assert names(bench.commit_and_render({"a.yaml": text})) == ["a"]


def test_local_configuration_is_left_out(bench: Bench) -> None:
    local = "{config.kubernetes.io/local-config: 'true'}"
    other = "{config.kubernetes.io/local-config: 'false'}"
    files = {"a.yaml": config_map("a", annotations=local), "b.yaml": config_map("b", annotations=other)}
    assert names(bench.commit_and_render(files)) == ["b"]


def test_byte_order_marks_and_windows_line_ends_are_no_mistake(bench: Bench) -> None:
    data = b"\xef\xbb\xbf" + config_map("a").replace("\n", "\r\n").encode() + b"---\r\n" + config_map("b").encode()
    assert names(bench.commit_and_render({"a.yaml": data})) == ["a", "b"]


def test_a_link_to_a_file_of_the_repository_is_read(bench: Bench) -> None:
    bench.repo.write({"shared/a.yaml": config_map("a"), "apps/b.yaml": config_map("b")})
    (bench.repo.work / "apps" / "a.yaml").symlink_to("../shared/a.yaml")
    (bench.repo.work / "apps" / "folder").symlink_to("../shared")
    bench.repo.commit()
    assert names(bench.render(bench.spec("apps"))) == ["a", "b"]
    bench.repo.commit({"shared/a.yaml": config_map("changed")})
    assert names(bench.render(bench.spec("apps"))) == ["changed", "b"]


# --- what is wrong with the input ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "kind", "place", "problem"),
    [
        ("a: [1\n", YAMLError, "document 1, line 2", "expected"),
        ("a: 1\n---\nb:\n  x: 1\n  x: 2\n", YAMLError, "document 2, line 5", "x"),
        ("kind: ConfigMap\nmetadata: {name: a}\n", InvalidManifestError, "document 1, line 1", "apiVersion is missing"),
        ("---\nfoo: 1\n", InvalidManifestError, "document 1, line 2", r"leave the file out with \.syncdignore"),
        ("apiVersion: v1\nmetadata: {name: a}\n", InvalidManifestError, "document 1, line 1", "kind is missing"),
        ("apiVersion: v1\nkind: 3\n", InvalidManifestError, "document 1, line 2", "kind is a number"),
        ("apiVersion: v1\nkind: Secret\n", InvalidManifestError, "line 1", "the Secret has no metadata.name"),
        ("apiVersion: v1\nkind: Pod\nmetadata:\n  name: ''\n", InvalidManifestError, "line 3", "no metadata.name"),
        ("apiVersion: v1\nkind: Pod\nmetadata:\n  generateName: a-\n", InvalidManifestError, "line 4", "generateName"),
        ("apiVersion: v1\nkind: Pod\nmetadata:\n  name: 5\n", InvalidManifestError, "line 4", "name is a number"),
        ("apiVersion: a/b/c\nkind: Pod\nmetadata: {name: a}\n", InvalidManifestError, "line 1", "not like v1"),
        (
            "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  labels:\n    on: true\n",
            InvalidManifestError, "line 6", "put it in quotes",
        ),
        (
            "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  annotations: []\n",
            InvalidManifestError, "line 5", "annotations of the Pod is a list",
        ),
        ("- a\n- b\n", InvalidManifestError, "document 1, line 1", "and this is a list"),
        (
            "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Pod, metadata: {name: a}}\n- 5\n",
            InvalidManifestError, "line 5", "this is a number",
        ),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_its_place(
    bench: Bench, text: str, kind: type[InvalidInputError], place: str, problem: str
) -> None:
    with pytest.raises(kind, match=problem) as caught:
        bench.commit_and_render({"apps/web.yaml": text, "good.yaml": config_map("good")})
    assert str(caught.value).startswith(f"{bench.repo.url} apps/web.yaml, ")
    assert place in str(caught.value)


def test_every_bad_file_is_reported(bench: Bench) -> None:
    with pytest.raises(InvalidInputsError, match="and 2 more problems") as caught:
        bench.commit_and_render({"a.yaml": "a: [", "b.yaml": "kind: 5", "c.yaml": "- 1", "d.yaml": config_map("d")})
    assert [problem.split()[1] for problem in caught.value.problems] == ["a.yaml,", "b.yaml,", "c.yaml,"]


def test_text_that_is_not_unicode_is_refused(bench: Bench) -> None:
    with pytest.raises(YAMLError, match=r"a\.yaml"):
        bench.commit_and_render({"a.yaml": config_map("a").encode() + b"data: {a: \xff\xfe}"})


def test_an_alias_bomb_is_refused(bench: Bench) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10)]
    with pytest.raises(YAMLError, match="alias"):
        bench.commit_and_render({"bomb.yaml": "\n".join(lines)})


def test_two_manifests_of_one_object_are_an_error_that_names_both(bench: Bench) -> None:
    with pytest.raises(DuplicateManifestError) as caught:
        bench.commit_and_render(
            {"a.yaml": config_map("same"), "b.yaml": config_map("x") + "---\n" + config_map("same")}
        )
    assert str(caught.value) == (
        f"{bench.repo.url} b.yaml, document 2, line 5: ConfigMap same is already described in "
        f"{bench.repo.url} a.yaml, document 1, line 1"
    )


def test_versions_of_a_kind_are_the_same_object(bench: Bench) -> None:
    text = "apiVersion: autoscaling/{}\nkind: HorizontalPodAutoscaler\nmetadata: {{name: web}}\n"
    with pytest.raises(DuplicateManifestError):
        bench.commit_and_render({"a.yaml": text.format("v1"), "b.yaml": text.format("v2")})


@pytest.mark.parametrize("files", [{".gitkeep": ""}, {"README.md": "x"}, {"a.yaml": "# nothing\n---\n"}])
def test_a_folder_without_objects_is_an_error(bench: Bench, files: dict[str, str]) -> None:
    bench.repo.commit({f"apps/{name}": text for name, text in files.items()})
    with pytest.raises(NoManifestsError, match="apps: there is no Kubernetes object in this folder"):
        bench.render(bench.spec("apps"))


@pytest.mark.parametrize("target", ["/etc/passwd", "../../etc/passwd", "nowhere.yaml", "link.yaml"])
def test_a_link_that_leads_out_of_the_repository_or_to_nothing_is_refused(bench: Bench, target: str) -> None:
    (bench.repo.work / "link.yaml").symlink_to(target)
    bench.repo.commit({"a.yaml": config_map("a")})
    with pytest.raises(UnsupportedContentError, match=r"link\.yaml.*(leads out of|leads to nothing|too many links)"):
        bench.render()


def test_a_file_in_git_lfs_is_refused(bench: Bench) -> None:
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 12\n"
    with pytest.raises(UnsupportedContentError, match=r"big\.yaml: its content is in Git LFS"):
        bench.commit_and_render({"big.yaml": pointer})


def test_a_plain_sync_refuses_a_kustomization(bench: Bench) -> None:
    files = {"kustomization.yaml": "resources: [a.yaml]", "a.yaml": config_map("a")}
    with pytest.raises(InvalidManifestError, match=r"kustomization\.yaml: .*add kustomize"):
        bench.commit_and_render(files, plain={})


def test_a_kustomize_sync_refuses_plain_files(bench: Bench) -> None:
    with pytest.raises(RenderFailedError, match=r"there is no kustomization\.yaml"):
        bench.commit_and_render({"a.yaml": config_map("a")}, kustomize={})


@pytest.mark.parametrize(
    "limits", [Limits(file_bytes=100), Limits(total_bytes=150), Limits(files=1)], ids=["file", "total", "files"]
)
def test_limits_are_named(bench: Bench, tmp_path: Path, limits: Limits) -> None:
    bench.repositories = Repositories(tmp_path / "limited", limits=limits)
    with pytest.raises(LimitExceededError, match=r"\.syncdignore"):
        bench.commit_and_render({"a.yaml": config_map("a"), "b.yaml": config_map("b") + "# " + "x" * 100})


def test_a_huge_file_that_packs_to_nothing_is_refused_before_it_is_read(bench: Bench) -> None:
    with pytest.raises(LimitExceededError, match=r"big\.yaml: it has 67108864 bytes"):
        bench.commit_and_render({"big.yaml": bytes(64 << 20)})


def test_in_a_repository_of_many_syncs_a_commit_renders_those_alone_that_it_touches(bench: Bench) -> None:
    names = [f"team-{number}" for number in range(30)]
    bench.repo.commit({f"{name}/a.yaml": config_map(name) for name in names})
    specs = {name: bench.sync(path=name) for name in names}
    before = {name: bench.render(spec) for name, spec in specs.items()}
    bench.repo.commit({"team-7/a.yaml": config_map("other"), "README.md": "for all"})
    assert [name for name, spec in specs.items() if bench.render(spec) is not before[name]] == ["team-7"]
