from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.cli.exits import Exit
from syncd.cli.main import run

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

GOOD = """\
apiVersion: syncd.dev/v1alpha1
kind: Sync
metadata: {name: good}
spec:
  source:
    git: {url: "https://git.example.com/shop.git"}
"""
LOCAL = GOOD.replace("good", "local").replace("https://git.example.com/shop.git", "/srv/git/shop.git")
BAD = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: other}
---
apiVersion: syncd.dev/v1alpha1
kind: Sync
metadata:
  name: bad
spec:
  source:
    git:
      url: "https://git.example.com/shop.git"
  interval: soon
  purne: {}
"""


def test_files_and_folders_are_checked_and_other_kinds_passed_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "good.yaml").write_text(f"{GOOD}---\nkind: Service\n")
    (tmp_path / "local.yaml").write_text(LOCAL)
    assert run(["validate", str(tmp_path / "folder"), str(tmp_path / "local.yaml")]) == Exit.OK
    assert capsys.readouterr().out.splitlines() == ["syncd/good: holds", "syncd/local: holds"]


def test_every_mistake_is_told_with_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad, torn = tmp_path / "bad.yaml", tmp_path / "torn.yaml"
    bad.write_text(BAD)
    torn.write_text("a: [\n")
    assert run(["validate", str(bad), str(torn), str(tmp_path / "away.yaml")]) == Exit.FAILURE
    told = capsys.readouterr().err
    assert f"{bad}, document 2, line 13: spec.interval: not a duration" in told
    assert f"{bad}, document 2, line 14: spec.purne: unknown field" in told
    assert str(torn) in told
    assert "away.yaml: no such file or folder" in told


def test_what_no_object_may_say_is_told_on_demand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "local.yaml"
    file.write_text(LOCAL)
    assert run(["validate", "--objects", str(file)]) == Exit.FAILURE
    assert "line 6: spec.source.git.url: paths and file URLs are for Syncs in files" in capsys.readouterr().err


def test_two_of_one_name_and_none_at_all_are_mistakes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "one.yaml").write_text(GOOD)
    (tmp_path / "two.yaml").write_text(GOOD)
    assert run(["validate", str(tmp_path / "one.yaml"), str(tmp_path / "two.yaml")]) == Exit.FAILURE
    assert "already defined" in capsys.readouterr().err
    (tmp_path / "none.yaml").write_text("kind: Service\n")
    assert run(["validate", str(tmp_path / "none.yaml")]) == Exit.FAILURE
    assert "no Sync" in capsys.readouterr().err


def test_what_kubectl_prints_can_be_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def item(interval: str) -> str:
        text = GOOD.replace("metadata: {name: good}", f"metadata: {{name: good, namespace: n-{interval}, uid: u}}")
        text += f"  interval: {interval}\nstatus: {{conditions: []}}\n"
        return "- " + text.replace("\n", "\n  ").rstrip() + "\n"

    listed = tmp_path / "list.yaml"
    listed.write_text("apiVersion: v1\nkind: List\nitems:\n" + item("5m") + item("soon"))
    assert run(["validate", str(listed)]) == Exit.FAILURE
    assert f"{listed}, document 1, line 18: spec.interval: not a duration" in capsys.readouterr().err
    listed.write_text("apiVersion: v1\nkind: List\nitems:\n" + item("5m"))
    assert run(["validate", str(listed)]) == Exit.OK


def test_a_mistake_is_told_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text(f"{GOOD}  wait: perhaps\n  target: {{namespace: Shop_}}\n")
    assert run(["validate", str(bad)]) == Exit.FAILURE
    told = [line.partition("document 1, ")[2] for line in capsys.readouterr().err.splitlines()]
    assert told == [
        "line 7: spec.wait: must be a valid boolean",
        "line 8: spec.target.namespace: is not a name: lower-case letters, digits and '-', at most 63",
    ]
