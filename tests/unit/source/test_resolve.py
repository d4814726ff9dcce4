from __future__ import annotations

import contextlib
import os
import shutil
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from syncd.model import InvalidInputError, Revision
from syncd.source.errors import (
    MirrorDamagedError,
    PathNotFoundError,
    RefNotFoundError,
    RepositoryEmptyError,
    RepositoryNotFoundError,
    RepositoryTooLargeError,
    SourceTimeoutError,
    UnsupportedContentError,
)
from syncd.source.repository import Repositories
from syncd.spec import GitRef, GitSource

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from syncd.source.command import GitRunner
    from syncd.source.processes import Completed
    from tests.unit.source.gitrepo import GitRepo

Log = list[str]


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> Log:
    """The names of the Git commands that run, in order."""
    log: Log = []
    run: Callable[..., Completed] = _runner().run

    def logged(self: GitRunner, *arguments: str, **options: object) -> Completed:
        log.append(arguments[0])
        return run(self, *arguments, **options)

    monkeypatch.setattr(_runner(), "run", logged)
    return log


def _runner() -> type[GitRunner]:
    from syncd.source import command  # noqa: PLC0415 - the class is patched where it lives

    return command.GitRunner


def test_the_default_branch_is_followed_when_nothing_is_named(
    repo: GitRepo, repositories: Repositories, deadline: float
) -> None:
    commit = repo.commit({"a.yaml": "a: 1"})
    assert repositories.resolve(repo.source(), ".", deadline=deadline).commit == commit


def test_a_revision_says_when_it_was_committed(repo: GitRepo, repositories: Repositories, deadline: float) -> None:
    repo.commit({"a.yaml": "a: 1"})
    found = repositories.resolve(repo.source(), ".", deadline=deadline)
    assert found.committed == float(repo.git("show", "--no-patch", "--format=%ct", "HEAD")) > 0
    assert repositories.resolve(repo.source(), ".", deadline=deadline) == found


@pytest.mark.parametrize("annotated", [False, True])
def test_branch_tag_semver_and_commit_each_find_their_commit(
    repo: GitRepo, repositories: Repositories, deadline: float, *, annotated: bool
) -> None:
    first = repo.commit({"a.yaml": "a: 1"}, push="stable")
    repo.tag("v1.9.0", annotated=annotated)
    second = repo.commit({"a.yaml": "a: 2"})
    repo.tag("v1.10.0", annotated=annotated)
    repo.tag("v2.0.0-rc.1", annotated=annotated)
    found = {
        str(ref): repositories.resolve(GitSource(url=repo.url, ref=ref), ".", deadline=deadline).commit
        for ref in (
            GitRef(branch="stable"),
            GitRef(tag="v1.9.0"),
            GitRef(semver="~1.9"),
            GitRef(semver=">=1"),
            GitRef(commit=first),
        )
    }
    assert found == {"stable": first, "v1.9.0": first, "~1.9": first, ">=1": second, first: first}


def test_a_branch_and_a_tag_of_one_name_are_two_things(
    repo: GitRepo, repositories: Repositories, deadline: float
) -> None:
    tagged = repo.commit({"a.yaml": "a: 1"})
    repo.tag("same")
    branched = repo.commit({"a.yaml": "a: 2"}, push="same")
    assert repositories.resolve(repo.source(tag="same"), ".", deadline=deadline).commit == tagged
    assert repositories.resolve(repo.source(branch="same"), ".", deadline=deadline).commit == branched


def test_a_poll_without_change_asks_the_server_once_and_fetches_nothing(
    repo: GitRepo, repositories: Repositories, commands: Log, deadline: float
) -> None:
    repo.commit({"a.yaml": "a: 1"})
    before = repositories.resolve(repo.source(), ".", deadline=deadline)
    commands.clear()
    assert repositories.resolve(repo.source(), ".", deadline=deadline) == before
    assert [command for command in commands if command in ("ls-remote", "fetch")] == ["ls-remote"]


def test_each_conversation_with_the_server_is_told(repo: GitRepo, tmp_path: Path, deadline: float) -> None:
    told: list[tuple[str, bool]] = []

    def observe(operation: str, seconds: float, *, failed: bool) -> None:
        assert seconds > 0
        told.append((operation, failed))

    repositories = Repositories(tmp_path / "mirrors", observer=observe)
    repo.commit({"a.yaml": "a: 1"})
    repositories.resolve(repo.source(), ".", deadline=deadline)
    assert told == [("ls-remote", False), ("fetch", False)]
    shutil.rmtree(repo.bare)
    with pytest.raises(RepositoryNotFoundError):
        repositories.resolve(repo.source(), ".", deadline=deadline)
    assert told[2:] == [("ls-remote", True)]


def test_a_commit_that_is_there_is_resolved_without_the_server(
    repo: GitRepo, repositories: Repositories, deadline: float
) -> None:
    commit = repo.commit({"a.yaml": "a: 1"})
    before = repositories.resolve(repo.source(commit=commit), ".", deadline=deadline)
    shutil.rmtree(repo.bare)
    assert repositories.resolve(repo.source(commit=commit), ".", deadline=deadline) == before


def test_only_the_newest_commit_is_fetched_and_not_its_history(
    repo: GitRepo, repositories: Repositories, tmp_path: Path, deadline: float
) -> None:
    for number in range(5):
        repo.commit({"a.yaml": f"a: {number}"})
    repositories.resolve(repo.source(), ".", deadline=deadline)
    (mirror,) = (tmp_path / "mirrors").glob("*.git")
    assert len((mirror / "shallow").read_text().split()) == 1


def test_a_force_push_is_followed(repo: GitRepo, repositories: Repositories, deadline: float) -> None:
    repo.commit({"a.yaml": "a: 1"})
    repo.commit({"a.yaml": "a: 2"})
    repositories.resolve(repo.source(), ".", deadline=deadline)
    repo.git("checkout", "-q", "--orphan", "other")
    rewritten = repo.commit({"a.yaml": "a: 3"})
    repo.git("push", "-q", "--force", "origin", "HEAD:refs/heads/main")
    assert repositories.resolve(repo.source(), ".", deadline=deadline).commit == rewritten


def test_an_orphaned_commit_stays_readable(repo: GitRepo, repositories: Repositories, deadline: float) -> None:
    repo.commit({"a.yaml": "a: 1"})
    old = repositories.resolve(repo.source(), ".", deadline=deadline)
    repo.git("checkout", "-q", "--orphan", "other")
    repo.commit({"a.yaml": "a: 2"})
    repositories.resolve(repo.source(), ".", deadline=deadline)
    assert repositories.tree(repo.source(), old, ".", deadline=deadline).read(["a.yaml"]) == {"a.yaml": b"a: 1"}


def test_a_mirror_survives_a_restart(
    repo: GitRepo, repositories: Repositories, commands: Log, tmp_path: Path, deadline: float
) -> None:
    repo.commit({"a.yaml": "a: 1"})
    before = repositories.resolve(repo.source(), ".", deadline=deadline)
    commands.clear()
    assert Repositories(tmp_path / "mirrors").resolve(repo.source(), ".", deadline=deadline) == before
    assert "fetch" not in commands


def test_many_who_ask_at_once_share_their_questions_and_the_fetch(
    repo: GitRepo, repositories: Repositories, commands: Log, deadline: float
) -> None:
    repo.commit({f"{name}/a.yaml": "a: 1" for name in "abcdefgh"})
    start = threading.Barrier(8)

    def resolve(path: str) -> Revision:
        start.wait()
        return repositories.resolve(repo.source(), path, deadline=deadline)

    with ThreadPoolExecutor(8) as pool:
        assert len({revision.commit for revision in pool.map(resolve, "abcdefgh")}) == 1
    assert commands.count("fetch") == 1
    # The first to come asks for itself; all others came before the second question was asked, and share it.
    assert commands.count("ls-remote") <= 2


def test_an_answer_may_be_as_old_as_the_caller_allows(
    repo: GitRepo, repositories: Repositories, deadline: float
) -> None:
    old = repo.commit({"a.yaml": "a: 1"})
    repositories.resolve(repo.source(), ".", deadline=deadline)
    new = repo.commit({"a.yaml": "a: 2"})
    assert repositories.resolve(repo.source(), ".", deadline=deadline, max_age=1000).commit == old
    assert repositories.resolve(repo.source(), ".", deadline=deadline).commit == new


def test_a_damaged_mirror_is_thrown_away_and_fetched_anew(
    repo: GitRepo, repositories: Repositories, tmp_path: Path, deadline: float
) -> None:
    repo.commit({"a.yaml": "a: 1"})
    before = repositories.resolve(repo.source(), ".", deadline=deadline)
    (mirror,) = (tmp_path / "mirrors").glob("*.git")
    for damage in (
        lambda: _pack(mirror).write_bytes(b"rubbish"),
        lambda: _pack(mirror).unlink(),
        (mirror / "HEAD").unlink,
        lambda: shutil.rmtree(mirror / "refs"),
        lambda: shutil.rmtree(mirror),
    ):
        damage()
        with contextlib.suppress(MirrorDamagedError):  # who finds out is told, and may try again
            repositories.tree(repo.source(), before, ".", deadline=deadline).read(["a.yaml"])
        tree = repositories.tree(repo.source(), before, ".", deadline=deadline)
        assert tree.read(["a.yaml"]) == {"a.yaml": b"a: 1"}
        assert repositories.resolve(repo.source(), ".", deadline=deadline) == before


def test_a_mirror_that_is_damaged_while_nobody_looks_is_fetched_anew(
    repo: GitRepo, repositories: Repositories, tmp_path: Path, deadline: float
) -> None:
    repo.commit({"a.yaml": "a: 1"})
    repositories.resolve(repo.source(), ".", deadline=deadline)
    (mirror,) = (tmp_path / "mirrors").glob("*.git")
    _pack(mirror).write_bytes(b"rubbish")
    commit = repo.commit({"a.yaml": "a: 2"})
    for asked in (repositories, Repositories(tmp_path / "mirrors")):
        revision = asked.resolve(repo.source(), ".", deadline=deadline)
        assert revision.commit == commit
        assert asked.tree(repo.source(), revision, ".", deadline=deadline).read(["a.yaml"]) == {"a.yaml": b"a: 2"}


def _pack(mirror: Path) -> Path:
    (pack,) = (mirror / "objects" / "pack").glob("*.pack")
    pack.chmod(0o600)
    return pack


def test_what_a_killed_fetch_left_does_not_disturb_the_next(
    repo: GitRepo, repositories: Repositories, tmp_path: Path, deadline: float
) -> None:
    repo.commit({"a.yaml": "a: 1"})
    repositories.resolve(repo.source(), ".", deadline=deadline)
    (mirror,) = (tmp_path / "mirrors").glob("*.git")
    for name in ("shallow.lock", "packed-refs.lock", "refs/syncd/x.lock"):
        (mirror / name).write_text("")
    commit = repo.commit({"a.yaml": "a: 2"})
    assert repositories.resolve(repo.source(), ".", deadline=deadline).commit == commit


def test_a_mirror_that_is_fetched_again_and_again_stays_small(
    repo: GitRepo, repositories: Repositories, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, deadline: float
) -> None:
    monkeypatch.setattr("syncd.source.mirror._PACKS_LIMIT", 3)
    for number in range(12):
        repo.commit({"a.yaml": f"a: {number}"})
        revision = repositories.resolve(repo.source(), ".", deadline=deadline)
    (mirror,) = (tmp_path / "mirrors").glob("*.git")
    assert len(list((mirror / "objects" / "pack").glob("*.pack"))) <= 4
    assert repositories.tree(repo.source(), revision, ".", deadline=deadline).read(["a.yaml"])["a.yaml"] == b"a: 11"


def age(path: Path) -> None:
    month_ago = time.time() - 30 * 24 * 3600
    os.utime(path, (month_ago, month_ago))


def test_a_mirror_that_nobody_uses_is_removed_in_time(
    repo: GitRepo, repositories: Repositories, tmp_path: Path, deadline: float
) -> None:
    commit = repo.commit({"a.yaml": "a: 1"})
    repositories.resolve(repo.source(), ".", deadline=deadline)
    (mirror,) = (tmp_path / "mirrors").glob("*.git")
    Repositories(tmp_path / "mirrors")
    assert mirror.exists()
    age(mirror.with_suffix(".lock"))
    Repositories(tmp_path / "mirrors")
    assert not mirror.exists()
    for ref in ({}, {"commit": commit}):  # and it comes back when somebody needs it after all
        assert repositories.resolve(repo.source(**ref), ".", deadline=deadline).commit == commit
    age(mirror.with_suffix(".lock"))
    repositories.resolve(repo.source(commit=commit), ".", deadline=deadline)  # in use, though nothing is asked
    Repositories(tmp_path / "mirrors")
    assert mirror.exists()


def test_what_goes_is_also_looked_for_while_the_daemon_runs(
    repo: GitRepo, repositories: Repositories, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, deadline: float
) -> None:
    repo.commit({"a.yaml": "a: 1"})
    leftover = tmp_path / "mirrors" / "credentials-of-a-killed-process"
    leftover.mkdir()
    age(leftover)
    monkeypatch.setattr("syncd.source.housekeeping._PAUSE", 0.0)
    repositories.resolve(repo.source(), ".", deadline=deadline)
    assert leftover.exists()
    monkeypatch.setattr(repositories._housekeeping, "_next", 0.0)
    repositories.resolve(GitSource(url=str(repo.bare)), ".", deadline=deadline)
    assert not leftover.exists()


def test_a_repository_beyond_the_size_of_a_mirror_is_a_clear_error(
    repo: GitRepo, repositories: Repositories, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, deadline: float
) -> None:
    monkeypatch.setattr("syncd.source.mirror.MIRROR_LIMIT", 1 << 20)
    commit = repo.commit({"film.bin": os.urandom(3 << 20)})
    for ref in ({}, {"commit": commit}):
        with pytest.raises(RepositoryTooLargeError, match="larger than a mirror may be"):
            repositories.resolve(repo.source(**ref), ".", deadline=deadline)
    assert sum(file.stat().st_size for file in (tmp_path / "mirrors").rglob("*") if file.is_file()) < 2 << 20


# --- what goes wrong -----------------------------------------------------------------------------------------------


def test_a_repository_that_is_not_there(repositories: Repositories, tmp_path: Path, deadline: float) -> None:
    with pytest.raises(RepositoryNotFoundError, match=r"nowhere\.git: there is no such repository"):
        repositories.resolve(GitSource(url=f"file://{tmp_path}/nowhere.git"), ".", deadline=deadline)


def test_a_repository_that_goes_away(repo: GitRepo, repositories: Repositories, deadline: float) -> None:
    repo.commit({"a.yaml": "a: 1"})
    repositories.resolve(repo.source(), ".", deadline=deadline)
    shutil.rmtree(repo.bare)
    with pytest.raises(RepositoryNotFoundError):
        repositories.resolve(repo.source(), ".", deadline=deadline)


def test_an_empty_repository(repo: GitRepo, repositories: Repositories, deadline: float) -> None:
    for source in (repo.source(), repo.source(branch="main"), repo.source(semver="*")):
        with pytest.raises(RepositoryEmptyError, match="the repository is empty"):
            repositories.resolve(source, ".", deadline=deadline)


@pytest.mark.parametrize(
    ("ref", "message"),
    [
        (GitRef(branch="nowhere"), "there is no branch 'nowhere'"),
        (GitRef(tag="v9"), "there is no tag 'v9'"),
        (GitRef(semver=">=9"), "none of its 1 tags is a version within '>=9'"),
        (GitRef(commit="1234567890" * 4), "does not have the commit 1234567890"),
    ],
)
def test_a_ref_that_is_not_there_is_named(
    repo: GitRepo, repositories: Repositories, ref: GitRef, message: str, deadline: float
) -> None:
    repo.commit({"a.yaml": "a: 1"})
    repo.tag("v1.0.0")
    with pytest.raises(RefNotFoundError, match=message):
        repositories.resolve(GitSource(url=repo.url, ref=ref), ".", deadline=deadline)


def test_a_default_branch_without_commits_asks_for_a_name(
    repo: GitRepo, repositories: Repositories, deadline: float
) -> None:
    repo.commit({"a.yaml": "a: 1"}, push="develop")
    with pytest.raises(RefNotFoundError, match="default branch has no commit"):
        repositories.resolve(repo.source(), ".", deadline=deadline)


def test_a_range_that_is_none(repo: GitRepo, repositories: Repositories, deadline: float) -> None:
    repo.commit({"a.yaml": "a: 1"})
    repo.tag("v1.0.0")
    with pytest.raises(InvalidInputError, match="not a version range"):
        repositories.resolve(repo.source(semver="newest"), ".", deadline=deadline)


def test_a_path_that_is_not_there_is_named_with_its_commit(
    repo: GitRepo, repositories: Repositories, deadline: float
) -> None:
    commit = repo.commit({"a.yaml": "a: 1"})
    with pytest.raises(PathNotFoundError, match=f"path 'apps/web' is not there in commit {commit[:12]}"):
        repositories.resolve(repo.source(), "apps/web", deadline=deadline)
    with pytest.raises(PathNotFoundError, match="is a file, not a folder"):
        repositories.resolve(repo.source(), "a.yaml", deadline=deadline)


def test_a_path_may_lead_through_a_link_inside_of_the_repository(
    repo: GitRepo, repositories: Repositories, deadline: float
) -> None:
    repo.write({"releases/5/a.yaml": "a: 5", "releases/6/a.yaml": "a: 6"})
    (repo.work / "current").symlink_to("releases/5")
    repo.commit()
    before = repositories.resolve(repo.source(), "current", deadline=deadline)
    tree = repositories.tree(repo.source(), before, "current", deadline=deadline)
    assert [entry.path for entry in tree.below(tree.folder)] == ["releases/5/a.yaml"]
    (repo.work / "current").unlink()
    (repo.work / "current").symlink_to("releases/6")
    repo.commit()
    after = repositories.resolve(repo.source(), "current", deadline=deadline)
    assert after.tree != before.tree
    assert repositories.tree(repo.source(), after, "current", deadline=deadline).folder == "releases/6"


@pytest.mark.parametrize("target", ["../outside", "/etc", "loop"])
def test_a_path_through_a_link_out_of_the_repository_is_refused(
    repo: GitRepo, repositories: Repositories, target: str, deadline: float
) -> None:
    (repo.work / "loop").symlink_to(target)
    repo.commit()
    with pytest.raises(UnsupportedContentError, match=r"out of the repository|too many links"):
        repositories.resolve(repo.source(), "loop", deadline=deadline)


def test_a_deadline_that_has_passed(repo: GitRepo, repositories: Repositories) -> None:
    repo.commit({"a.yaml": "a: 1"})
    with pytest.raises(SourceTimeoutError, match=r"shop\.git: timed out"):
        repositories.resolve(repo.source(), ".", deadline=time.monotonic() - 1)


def test_git_variables_of_the_environment_do_not_reach_git(
    repo: GitRepo, repositories: Repositories, monkeypatch: pytest.MonkeyPatch, deadline: float
) -> None:
    commit = repo.commit({"a.yaml": "a: 1"})
    for name in ("GIT_DIR", "GIT_OBJECT_DIRECTORY", "GIT_WORK_TREE", "GIT_NAMESPACE", "GIT_CONFIG_PARAMETERS"):
        monkeypatch.setenv(name, "/nonexistent")
    assert repositories.resolve(repo.source(), ".", deadline=deadline).commit == commit
