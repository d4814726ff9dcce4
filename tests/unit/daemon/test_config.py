from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from syncd.daemon.config import ConfigError, load_syncs

if TYPE_CHECKING:
    from pathlib import Path

SYNC = """\
apiVersion: syncd.dev/v1alpha1
kind: Sync
metadata: {name: %s}
spec:
  source:
    git: {url: "https://git.example.com/shop.git", ref: {branch: main}}
  interval: 1m30s
"""


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def problems(path: Path) -> tuple[str, ...]:
    with pytest.raises(ConfigError) as caught:
        load_syncs(path)
    return caught.value.problems


def test_a_file_may_hold_several_syncs(tmp_path: Path) -> None:
    found = load_syncs(write(tmp_path / "syncs.yaml", f"{SYNC % 'b'}---\n{SYNC % 'a'}"))
    assert [sync.id for sync in found] == ["syncd/a", "syncd/b"]
    assert found[0].spec.interval == 90


def test_a_folder_is_read_file_by_file(tmp_path: Path) -> None:
    write(tmp_path / "a.yaml", SYNC % "a")
    write(tmp_path / "b.yml", SYNC % "b")
    write(tmp_path / "notes.txt", "no YAML: [")
    assert [sync.id for sync in load_syncs(tmp_path)] == ["syncd/a", "syncd/b"]


def test_every_wrong_field_is_named_with_its_line(tmp_path: Path) -> None:
    text = (SYNC % "a").replace("interval: 1m30s", "interval: soon\n  intervall: 1m")
    first, second = problems(write(tmp_path / "a.yaml", text))
    assert "a.yaml, document 1, line 7: spec.interval: not a duration" in first
    assert "a.yaml, document 1, line 8: spec.intervall: unknown field" in second


def test_problems_of_all_files_are_told_at_once(tmp_path: Path) -> None:
    write(tmp_path / "a.yaml", "kind: Deployment\n")
    write(tmp_path / "b.yaml", "a: [")
    assert len(problems(tmp_path)) == 2


def test_two_syncs_of_one_name_are_refused(tmp_path: Path) -> None:
    (problem,) = problems(write(tmp_path / "a.yaml", f"{SYNC % 'a'}---\n{SYNC % 'a'}"))
    assert "document 2" in problem
    assert "already defined in" in problem


def test_a_path_without_a_sync_is_an_error(tmp_path: Path) -> None:
    assert "no such file" in problems(tmp_path / "missing.yaml")[0]
    assert "no Sync" in problems(tmp_path)[0]


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("ext::sh", "must be an https"),
        ("--upload-pack=id", "must be an https"),
        ("https://user:secret@git.example.com/a.git", "credentials"),
    ],
)
def test_a_dangerous_url_is_refused_and_no_secret_repeated(tmp_path: Path, url: str, why: str) -> None:
    (problem,) = problems(write(tmp_path / "a.yaml", (SYNC % "a").replace("https://git.example.com/shop.git", url)))
    assert why in problem
    assert "secret" not in problem


@pytest.mark.parametrize("path", ["../up", "/etc", "a/../../b"])
def test_a_path_out_of_the_repository_is_refused(tmp_path: Path, path: str) -> None:
    (problem,) = problems(write(tmp_path / "a.yaml", SYNC % "a" + f"  path: {path}\n"))
    assert "spec.path: must be a path inside the repository" in problem
