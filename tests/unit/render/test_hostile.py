"""Repositories that mean harm, or come from another world: a clear error that names the file, or the right objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from syncd.model import InvalidInputError
from tests.unit.render.test_helm import CHART, needs_helm
from tests.unit.render.test_plain import config_map, names

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.render.conftest import Bench

Files = dict[str, "str | bytes"]


def plain(text: str | bytes) -> Files:
    return {"a.yaml": text}


def kustomized(text: str | bytes) -> Files:
    return {"kustomization.yaml": "resources: [a.yaml]\n", "a.yaml": text}


def patched(text: str | bytes) -> Files:
    return {**kustomized(config_map("a")), "kustomization.yaml": text}


def values(text: str | bytes) -> Files:
    return {**CHART, "values.yaml": text}


def templated(text: str | bytes) -> Files:
    return {**CHART, "templates/a.yaml": text}


READERS = [
    plain,
    kustomized,
    patched,
    pytest.param(values, marks=needs_helm),
    pytest.param(templated, marks=needs_helm),
]
BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]\n" for level in range(1, 10)
)


@pytest.mark.parametrize("place", READERS)
def test_an_alias_bomb_is_refused_wherever_it_lies(bench: Bench, place: Callable[[str | bytes], Files]) -> None:
    with pytest.raises(InvalidInputError, match=r"\.yaml.*(alias|memory|anchor)"):
        bench.commit_and_render(place(config_map("a") + BOMB))


@pytest.mark.parametrize("place", READERS)
def test_what_is_not_utf8_is_refused_with_its_file(bench: Bench, place: Callable[[str | bytes], Files]) -> None:
    latin = (config_map("a") + "note: caf\xe9\n").encode("latin-1")
    with pytest.raises(InvalidInputError, match=r"\.yaml"):
        bench.commit_and_render(place(latin))


@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
def test_files_of_windows_are_read_by_everything(bench: Bench, bom: bytes) -> None:
    def windows(text: str) -> bytes:
        return bom + text.replace("\n", "\r\n").encode()

    manifests = bench.commit_and_render({
        ".syncdignore": windows("ignored.yaml\n"),
        "ignored.yaml": "no: manifest\n",
        "a.yaml": windows(f"{config_map('a')}---\n{config_map('b')}"),
        "b.json": windows('{"apiVersion": "v1", "kind": "ConfigMap",\n "metadata": {"name": "c"}}\n'),
        "k/kustomization.yaml": windows("resources:\n- d.yaml\npatches:\n- path: p.yaml\n"),
        "k/d.yaml": windows(config_map("d")),
        "k/p.yaml": windows(config_map("d") + "data:\n  x: y\n"),
    })  # fmt: skip
    assert names(manifests) == ["a", "b", "c", "d"]
    assert manifests[3].body["data"] == {"x": "y"}


@needs_helm
def test_charts_of_windows_are_read_too(bench: Bench) -> None:
    chart = {path: text.replace("\n", "\r\n") for path, text in CHART.items()}
    manifests = bench.commit_and_render(chart)
    assert manifests[1].body["data"] == {"color": "red", "size": "small", "namespace": "default"}


@needs_helm
@pytest.mark.parametrize(
    "template",
    [
        '{{ define "x" }}{{ include "x" . }}{{ end }}{{ include "x" . }}',
        '{{ define "x" }}{{ template "x" . }}{{ end }}{{ template "x" . }}',
        '{{ repeat 2000000000 "x" }}',
        "{{ range until 2000000000 }}x{{ end }}",
        '{{ tpl (printf "{{ tpl .Values.color . }}") . }}{{ .Files.Get "../../../etc/passwd" | required "none" }}',
        '{{ .Files.Get "/etc/passwd" | required "none" }}',
        '{{ getHostByName "localhost" | quote }}{{ fail "resolved" }}',
    ],
)
def test_a_template_that_means_harm_ends_in_an_error(bench: Bench, template: str) -> None:
    with pytest.raises(InvalidInputError, match=r"templates/b\.yaml|Chart\.yaml") as caught:
        bench.commit_and_render({**CHART, "templates/b.yaml": template})
    assert "root:" not in str(caught.value)
    assert len(str(caught.value)) < 2000


def test_a_link_out_of_the_tree_is_refused_also_as_a_plain_file(bench: Bench) -> None:
    for target in ("/etc/passwd", "../../../../../etc/passwd", ".git/config"):
        link = bench.repo.work / "a.yaml"
        link.unlink(missing_ok=True)
        link.symlink_to(target)
        bench.repo.commit()
        with pytest.raises(InvalidInputError, match=r"a\.yaml"):
            bench.render()


@pytest.mark.parametrize("depth", [200, 100_000])
def test_a_deep_document_is_refused(bench: Bench, depth: int) -> None:
    for text in ("[" * depth + "]" * depth, "{a: " * depth + "1" + "}" * depth):
        with pytest.raises(InvalidInputError, match=r"a\.yaml"):
            bench.commit_and_render(plain(text))
        with pytest.raises(InvalidInputError, match=r"\.yaml"):
            bench.commit_and_render(kustomized(text))
