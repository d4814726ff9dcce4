"""Repositories on real servers: nginx with ``git http-backend``, and OpenSSH's sshd."""

from __future__ import annotations

import shutil
import time
from typing import TYPE_CHECKING

import pytest

from syncd.source import Repositories
from syncd.source import errors as source_errors
from syncd.source.objects import EntryType
from syncd.spec import GitRef, GitSource
from tests.support.gitservers import PASSWORD, USER, nginx, passwords, sshd, write_keys
from tests.unit.source.gitrepo import GitRepo, large_repository

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from tests.support.gitservers import NginxGit, SshGit

_NEWEST = GitRef()
LOGIN = {"username": USER, "password": f"{PASSWORD}\n"}


class Follower:
    """A repository on a server, and the mirrors that follow it with credentials out of a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = folder / "repositories"
        self.repo = GitRepo(self.root)
        self.repositories = Repositories(folder / "mirrors")
        self._secret = folder / "secret"

    def resolve(self, url: str, keys: Mapping[str, str], seconds: float = 60, *, ref: GitRef = _NEWEST) -> str:
        """The newest commit, asked for with these credentials."""
        shutil.rmtree(self._secret, ignore_errors=True)
        write_keys(self._secret, keys)
        git = GitSource(url=url, ref=ref, secret_file=str(self._secret) if keys else None)
        return self.repositories.resolve(git, ".", deadline=time.monotonic() + seconds).commit

    def read(self, url: str, keys: Mapping[str, str]) -> bytes:
        """A file of the newest commit."""
        self.resolve(url, keys)
        git = GitSource(url=url, secret_file=str(self._secret) if keys else None)
        deadline = time.monotonic() + 60
        revision = self.repositories.resolve(git, ".", deadline=deadline)
        return self.repositories.tree(git, revision, ".", deadline=deadline).read(["a.yaml"])["a.yaml"]


@pytest.fixture
def follower(tmp_path: Path) -> Follower:
    return Follower(tmp_path)


def test_a_large_repository_is_followed_over_both_and_what_is_fetched_next_is_small(tmp_path: Path) -> None:
    root = tmp_path / "repositories"
    repo = large_repository(root, files=5_000, commits=200)
    with nginx(root) as web, sshd() as ssh:
        ways = {
            f"{web.url}/private/shop.git": {**LOGIN, "ca.crt": web.authority.text("ca.crt")},
            f"{ssh.url}{repo.bare}": {"identity": ssh.identity, "known_hosts": ssh.known_hosts},
        }
        for number, (url, keys) in enumerate(ways.items()):
            mirrors = tmp_path / f"mirrors-{number}"
            repositories = Repositories(mirrors)
            git = GitSource(url=url, secret_file=write_keys(tmp_path / f"keys-{number}", keys))
            deadline = time.monotonic() + 200
            before = repositories.resolve(git, "apps", deadline=deadline)
            tree = repositories.tree(git, before, "apps", deadline=deadline)
            files = [path for path, entry in tree.entries.items() if entry.type is EntryType.FILE]
            assert len(tree.read(files)) == len(files) == 5_000
            size = _size(mirrors)
            text = f"kind: ConfigMap\nmetadata: {{name: a{number}}}\n"
            repo.fast_import(
                "commit refs/heads/main\ncommitter A <a@example.com> 0 +0000\ndata 0\nfrom refs/heads/main^0\n"
                f"M 100644 inline apps/0/0.yaml\ndata {len(text)}\n{text}\n"
            )
            after = repositories.resolve(git, "apps", deadline=deadline)
            assert before.tree != after.tree
            assert (
                b"name: a%d" % number
                in repositories.tree(git, after, "apps", deadline=deadline).read(["apps/0/0.yaml"])["apps/0/0.yaml"]
            )
            assert _size(mirrors) - size < 100_000


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


# --- https ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def web(follower: Follower) -> Iterator[NginxGit]:
    with nginx(follower.root) as server:
        yield server


def test_https_with_an_authority_of_its_own_a_password_and_a_client_certificate(
    follower: Follower, web: NginxGit
) -> None:
    ca = {"ca.crt": web.authority.text("ca.crt")}
    client = {"tls.crt": web.authority.text("client.crt"), "tls.key": web.authority.text("client.key")}
    for number, (place, keys) in enumerate({"open": {}, "private": LOGIN, "mutual": client}.items()):
        follower.repo.commit({"a.yaml": f"a: {number}", "large": b"\0" * 100_000})
        assert follower.read(f"{web.url}/{place}/shop.git", {**ca, **keys}) == b"a: %d" % number


def test_a_certificate_that_nobody_vouches_for_is_refused(follower: Follower, web: NginxGit) -> None:
    follower.repo.commit({"a.yaml": "a: 1"})
    with pytest.raises(source_errors.UntrustedServerError, match="certificate is not trusted"):
        follower.resolve(f"{web.url}/private/shop.git", LOGIN)
    other = {"ca.crt": web.authority.text("client.crt")}
    with pytest.raises(source_errors.UntrustedServerError, match="certificate is not trusted"):
        follower.resolve(f"{web.url}/private/shop.git", {**LOGIN, **other})
    ca = {"ca.crt": web.authority.text("ca.crt")}
    with pytest.raises(source_errors.UntrustedServerError, match="certificate is not trusted"):
        follower.resolve(f"{web.url}/open/shop.git".replace("localhost", "127.0.0.1"), ca)


def test_who_may_not_read_is_told_so_without_the_password(follower: Follower, web: NginxGit) -> None:
    ca = {"ca.crt": web.authority.text("ca.crt")}
    follower.repo.commit({"a.yaml": "a: 1"})
    url = f"{web.url}/private/shop.git"
    follower.resolve(url, {**LOGIN, **ca})
    web.passwords.write_text(passwords("another"))
    with pytest.raises(source_errors.AuthenticationRefusedError) as caught:
        follower.resolve(url, {**LOGIN, **ca})
    assert PASSWORD not in str(caught.value)
    with pytest.raises(source_errors.AuthenticationRefusedError):
        follower.resolve(f"{web.url}/mutual/shop.git", ca)


def test_each_thing_that_happens_to_a_repository_has_an_error_of_its_own(follower: Follower, web: NginxGit) -> None:
    ca = {"ca.crt": web.authority.text("ca.crt")}
    first = follower.repo.commit({"a.yaml": "a: 1"})
    web.moved.touch()
    for ref in (GitRef(), GitRef(commit=first)):
        with pytest.raises(
            source_errors.RepositoryMovedError, match=rf"redirects to {web.url}/open/shop\.git; if that"
        ):
            follower.resolve(f"{web.url}/old/shop.git", ca, ref=ref)
    with pytest.raises(source_errors.RepositoryMovedError, match="redirects to another place"):
        follower.resolve(f"{web.url}/old/shop.git", {**ca, "bearerToken": "t"})
    with pytest.raises(source_errors.SourceTimeoutError, match="timed out in git ls-remote"):
        follower.resolve(f"{web.url}/slow/shop.git", ca, 1.5)
    with pytest.raises(source_errors.RepositoryUnreachableError):
        follower.resolve("https://localhost:1/shop.git", ca)
    url = f"{web.url}/open/shop.git"
    assert follower.resolve(url, ca) == first
    follower.repo.git("push", "-q", "origin", "main:other")
    follower.repo._run("symbolic-ref", "HEAD", "refs/heads/other", cwd=follower.repo.bare)
    follower.repo.git("push", "-q", "origin", ":main")
    with pytest.raises(source_errors.RefNotFoundError, match="there is no branch 'main'"):
        follower.resolve(url, ca, ref=GitRef(branch="main"))
    shutil.rmtree(follower.repo.bare)
    with pytest.raises(source_errors.RepositoryNotFoundError, match="no such repository"):
        follower.resolve(url, ca)
    follower.repo.bare.mkdir()
    follower.repo._run("init", "-q", "--bare", "-b", "main", cwd=follower.repo.bare)
    with pytest.raises(source_errors.RepositoryEmptyError, match="the repository is empty"):
        follower.resolve(url, ca)


# --- ssh -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("passphrase", ["", "open sesame"])
def test_ssh_with_a_key_and_its_passphrase(follower: Follower, passphrase: str) -> None:
    follower.repo.commit({"a.yaml": "a: 1"})
    with sshd(passphrase) as server:
        url = f"{server.url}{follower.repo.bare}"
        keys = {"identity": server.identity, "known_hosts": server.known_hosts}
        assert follower.read(url, {**keys, "password": passphrase}) == b"a: 1"
        if passphrase:
            for wrong in ("wrong", ""):
                with pytest.raises(source_errors.AuthenticationRefusedError) as caught:
                    follower.resolve(url, {**keys, "password": wrong})
                assert "wrong" not in str(caught.value).partition("(")[2]


def test_a_host_key_that_changed_is_refused(follower: Follower) -> None:
    follower.repo.commit({"a.yaml": "a: 1"})
    with sshd() as server:
        url = f"{server.url}{follower.repo.bare}"
        for hosts in (server.wrong_hosts, "example.com ssh-ed25519 AAAA"):
            with pytest.raises(source_errors.UntrustedServerError, match="ssh host key is not known, or not the known"):
                follower.resolve(url, {"identity": server.identity, "known_hosts": hosts})


def test_over_ssh_too_each_thing_has_an_error_of_its_own(follower: Follower) -> None:
    follower.repo.commit({"a.yaml": "a: 1"})
    with sshd() as server:
        url = f"{server.url}{follower.repo.bare}"
        hosts = server.known_hosts
        with pytest.raises(source_errors.AuthenticationRefusedError, match="denied to this deploy key"):
            follower.resolve(url, {"identity": server.denied, "known_hosts": hosts})
        stranger = other_key(server)
        with pytest.raises(source_errors.AuthenticationRefusedError, match="Permission denied"):
            follower.resolve(url, {"identity": stranger, "known_hosts": hosts})
        with pytest.raises(source_errors.RepositoryNotFoundError, match="no such repository"):
            follower.resolve(f"{url}-gone", {"identity": server.identity, "known_hosts": hosts})
    with pytest.raises(source_errors.RepositoryUnreachableError):
        follower.resolve(url, {"identity": server.identity, "known_hosts": hosts})


def other_key(server: SshGit) -> str:
    """A key that the server has never seen."""
    with sshd() as another:
        assert another.identity != server.identity
        return another.identity
