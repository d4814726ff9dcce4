from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from syncd.source.errors import (
    AuthenticationRefusedError,
    RepositoryNotFoundError,
    RepositoryUnreachableError,
    SourceError,
    SourceTimeoutError,
    UntrustedServerError,
)
from syncd.spec import GitRef, GitSource
from tests.unit.source.gitserver import GitServer, serving, silent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from syncd.source.repository import Repositories
    from tests.unit.source.gitrepo import GitRepo


@pytest.fixture
def server(repo: GitRepo) -> Iterator[GitServer]:
    with serving(repo.bare.parent) as server:
        yield server


def test_a_repository_is_followed(
    repo: GitRepo, repositories: Repositories, server: GitServer, deadline: float
) -> None:
    git = GitSource(url=f"{server.url}/shop.git")
    first = repo.commit({"a.yaml": "a: 1"})
    assert repositories.resolve(git, ".", deadline=deadline).commit == first
    second = repo.commit({"a.yaml": "a: 2"})
    revision = repositories.resolve(git, ".", deadline=deadline)
    assert revision.commit == second
    assert repositories.tree(git, revision, ".", deadline=deadline).read(["a.yaml"]) == {"a.yaml": b"a: 2"}


def test_a_poll_without_change_is_two_requests(
    repo: GitRepo, repositories: Repositories, server: GitServer, deadline: float
) -> None:
    git = GitSource(url=f"{server.url}/shop.git")
    repo.commit({"a.yaml": "a: 1"})
    repositories.resolve(git, ".", deadline=deadline)
    server.seen.clear()
    repositories.resolve(git, ".", deadline=deadline)
    assert server.seen == ["GET /shop.git/info/refs?service=git-upload-pack", "POST /shop.git/git-upload-pack"]


def test_a_server_that_knows_no_protocol_but_files_serves_whole_histories(
    repo: GitRepo, repositories: Repositories, server: GitServer, deadline: float
) -> None:
    old = repo.commit({"a.yaml": "a: 1"})
    new = repo.commit({"a.yaml": "a: 2"})
    repo._run("update-server-info", cwd=repo.bare)
    url = f"{server.url}/dumb/shop.git"
    assert repositories.resolve(GitSource(url=url), ".", deadline=deadline).commit == new
    pinned = GitSource(url=url, ref=GitRef(commit=old))
    assert repositories.resolve(pinned, ".", deadline=deadline).commit == old


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("nowhere.git", RepositoryNotFoundError),
        ("404/shop.git", RepositoryNotFoundError),
        ("410/shop.git", RepositoryNotFoundError),
        ("403/shop.git", AuthenticationRefusedError),
        ("500/shop.git", RepositoryUnreachableError),
        ("503/shop.git", RepositoryUnreachableError),
        ("429/shop.git", RepositoryUnreachableError),
    ],
)
def test_each_answer_has_its_error(
    repositories: Repositories, server: GitServer, path: str, kind: type[SourceError], deadline: float
) -> None:
    with pytest.raises(SourceError) as caught:
        repositories.resolve(GitSource(url=f"{server.url}/{path}"), ".", deadline=deadline)
    assert type(caught.value) is kind
    assert str(caught.value).startswith(f"{server.url}/{path}: ")


def test_a_server_that_wants_credentials(repo: GitRepo, repositories: Repositories, deadline: float) -> None:
    repo.commit({"a.yaml": "a: 1"})
    with (
        serving(repo.bare.parent, basic="u:p") as server,
        pytest.raises(AuthenticationRefusedError, match="wants cred"),
    ):
        repositories.resolve(GitSource(url=f"{server.url}/shop.git"), ".", deadline=deadline)


@pytest.mark.parametrize("target", ["file:///etc", "ext::sh -c id", "ssh://localhost/x"])
def test_a_redirect_to_another_protocol_is_not_followed(
    repositories: Repositories, server: GitServer, target: str, deadline: float
) -> None:
    with pytest.raises(SourceError):
        repositories.resolve(GitSource(url=f"{server.url}/to/{target.replace(' ', '%20')}"), ".", deadline=deadline)


def test_nobody_listens(repositories: Repositories, deadline: float) -> None:
    with pytest.raises(RepositoryUnreachableError, match="cannot be reached"):
        repositories.resolve(GitSource(url="http://127.0.0.1:9/shop.git"), ".", deadline=deadline)


def test_a_name_that_is_none(repositories: Repositories, deadline: float) -> None:
    with pytest.raises(RepositoryUnreachableError, match="name cannot be resolved"):
        repositories.resolve(GitSource(url="https://nowhere.invalid/shop.git"), ".", deadline=deadline)


@pytest.mark.parametrize("scheme", ["http", "https", "git", "ssh"])
def test_a_server_that_never_answers_ends_with_the_deadline(repositories: Repositories, scheme: str) -> None:
    with silent() as address, pytest.raises(SourceTimeoutError, match="timed out in git ls-remote"):
        repositories.resolve(GitSource(url=f"{scheme}://{address}/shop.git"), ".", deadline=time.monotonic() + 1)


def test_text_that_is_not_tls(repositories: Repositories, server: GitServer, deadline: float) -> None:
    with pytest.raises(SourceError) as caught:
        repositories.resolve(GitSource(url=server.url.replace("http:", "https:") + "/shop.git"), ".", deadline=deadline)
    assert isinstance(caught.value, RepositoryUnreachableError | UntrustedServerError)
