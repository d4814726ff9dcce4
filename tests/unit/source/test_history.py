"""What is told when a ref stands for another commit than before."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from syncd.source import history
from syncd.source.repository import Repositories

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.source.gitrepo import GitRepo


def news(repositories: Repositories, repo: GitRepo, **ref: str) -> str:
    return repositories.resolve(repo.source(**ref), ".", deadline=time.monotonic() + 60).news


def commits(repo: GitRepo, count: int) -> str:
    """Several commits in one push."""
    for number in range(count):
        repo.write({"a.yaml": f"a: {number} {time.monotonic_ns()}"})
        repo.git("add", "-A")
        repo.git("commit", "-q", "-m", "one of many")
    return repo.commit({"b.yaml": "b: 1"})


@pytest.fixture(params=["a server that leaves files out", "a server that cannot"])
def repo(request: pytest.FixtureRequest, repo: GitRepo) -> GitRepo:
    if "cannot" not in request.param:
        repo._run("config", "uploadpack.allowFilter", "true", cwd=repo.bare)
    return repo


def test_a_branch_that_goes_on_is_no_news(repo: GitRepo, repositories: Repositories) -> None:
    repo.commit({"a.yaml": "a: 1"})
    assert news(repositories, repo, branch="main") == ""
    repo.commit({"a.yaml": "a: 2"})
    assert news(repositories, repo, branch="main") == ""
    commits(repo, 3)
    assert news(repositories, repo, branch="main") == ""


@pytest.mark.parametrize("ref", [{}, {"branch": "main"}])
def test_a_history_that_is_rewritten_is_followed_and_told_until_the_next_commit(
    repo: GitRepo, repositories: Repositories, tmp_path: Path, ref: dict[str, str]
) -> None:
    repo.commit({"a.yaml": "a: 1"})
    commits(repo, 2)
    old = repo.commit({"a.yaml": "a: old"})
    assert news(repositories, repo, **ref) == ""
    repo.git("reset", "-q", "--hard", "HEAD~2")
    new = repo.commit({"a.yaml": "a: new"})
    told = news(Repositories(tmp_path / "mirrors"), repo, **ref)  # after a restart
    assert f"was rewritten: {old[:12]} is not an ancestor of {new[:12]}" in told
    restarted = Repositories(tmp_path / "mirrors")
    assert news(restarted, repo, **ref) == ""
    repo.git("reset", "-q", "--hard", "HEAD~1")
    repo.git("push", "-q", "--force", "origin", "HEAD:main")  # back to a commit that the mirror has
    told = news(restarted, repo, **ref)
    assert f"{new[:12]} is not an ancestor" in told
    assert news(restarted, repo, **ref) == told
    commits(repo, 1)
    assert news(restarted, repo, **ref) == ""


def test_a_tag_that_is_moved_is_told(repo: GitRepo, repositories: Repositories) -> None:
    repo.commit({"a.yaml": "a: 1"})
    repo.tag("v1")
    assert news(repositories, repo, tag="v1") == ""
    repo.commit({"a.yaml": "a: 2"})
    repo.git("tag", "-f", "v1")
    repo.git("push", "-q", "--force", "origin", "refs/tags/v1")
    assert "the tag v1 was moved from" in news(repositories, repo, tag="v1")


def test_of_a_way_that_is_too_long_to_look_at_nothing_is_said(
    repo: GitRepo, repositories: Repositories, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "_DEPTH", 3)
    repo.commit({"a.yaml": "a: 1"})
    news(repositories, repo, branch="main")
    commits(repo, 5)
    assert news(repositories, repo, branch="main") == ""


def test_nothing_is_left_of_looking(repo: GitRepo, repositories: Repositories, tmp_path: Path) -> None:
    repo.commit({"a.yaml": "a: 1"})
    news(repositories, repo, branch="main")
    commits(repo, 2)
    news(repositories, repo, branch="main")
    assert list((tmp_path / "mirrors").glob("history-*")) == []
