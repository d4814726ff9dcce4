from __future__ import annotations

import base64
import os
import shlex
import ssl
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from syncd.source.command import SSH
from syncd.source.credentials import Credentials, in_use
from syncd.source.errors import (
    AuthenticationRefusedError,
    InvalidCredentialsError,
    SecretNeedsClusterError,
    SourceError,
    UntrustedServerError,
)
from syncd.source.repository import Repositories
from syncd.source.secrets import read_file
from syncd.spec import GitSource, SecretRef
from tests.unit.source.gitserver import serving

if TYPE_CHECKING:
    from tests.unit.source.gitrepo import GitRepo

PASSWORD = "p@ss:w/ rd%"


def folder(place: Path, **keys: str) -> str:
    place.mkdir(exist_ok=True)
    for name, text in keys.items():
        (place / name.replace("__", ".")).write_text(text)
    return str(place)


@pytest.fixture
def authority(tmp_path: Path) -> Path:
    """A folder with a self-signed certificate for localhost, and its key."""
    place = tmp_path / "authority"
    place.mkdir()
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost", "-keyout", "key", "-out", "certificate"],
        cwd=place, check=True, capture_output=True,
    )  # fmt: skip
    return place


def leftovers(tmp_path: Path) -> list[Path]:
    return list((tmp_path / "mirrors").glob("credentials-*"))


def test_a_password_opens_a_repository_and_nothing_of_it_is_left(
    repo: GitRepo, repositories: Repositories, tmp_path: Path, deadline: float
) -> None:
    commit = repo.commit({"a.yaml": "a: 1"})
    secret = folder(tmp_path / "secret", username="me@example.com", password=f"{PASSWORD}\n")
    with serving(repo.bare.parent, basic=f"me@example.com:{PASSWORD}") as server:
        git = GitSource(url=f"{server.url}/shop.git", secret_file=secret)
        assert repositories.resolve(git, ".", deadline=deadline).commit == commit
    assert leftovers(tmp_path) == []


def test_a_token_opens_a_repository(repo: GitRepo, repositories: Repositories, tmp_path: Path, deadline: float) -> None:
    commit = repo.commit({"a.yaml": "a: 1"})
    secret = folder(tmp_path / "secret", bearerToken='t"o\\ken')
    with serving(repo.bare.parent, bearer='t"o\\ken') as server:
        git = GitSource(url=f"{server.url}/shop.git", secret_file=secret)
        assert repositories.resolve(git, ".", deadline=deadline).commit == commit


def test_a_password_that_is_wrong_is_an_error_without_the_password(
    repo: GitRepo, repositories: Repositories, tmp_path: Path, deadline: float
) -> None:
    secret = folder(tmp_path / "secret", username="me", password="hunter2")
    with (
        serving(repo.bare.parent, basic="me:other") as server,
        pytest.raises(AuthenticationRefusedError) as caught,
    ):
        repositories.resolve(GitSource(url=f"{server.url}/shop.git", secret_file=secret), ".", deadline=deadline)
    assert "hunter2" not in str(caught.value)
    assert leftovers(tmp_path) == []


def test_rotated_credentials_are_picked_up(
    repo: GitRepo, repositories: Repositories, tmp_path: Path, deadline: float
) -> None:
    repo.commit({"a.yaml": "a: 1"})
    secret = folder(tmp_path / "secret", username="me", password="old")
    with serving(repo.bare.parent, basic="me:new") as server:
        git = GitSource(url=f"{server.url}/shop.git", secret_file=secret)
        with pytest.raises(AuthenticationRefusedError):
            repositories.resolve(git, ".", deadline=deadline)
        folder(tmp_path / "secret", password="new")
        repositories.resolve(git, ".", deadline=deadline)


def test_having_fetched_is_no_right_to_read_for_others(
    repo: GitRepo, repositories: Repositories, tmp_path: Path, deadline: float
) -> None:
    commit = repo.commit({"a.yaml": "a: 1"})
    secret = folder(tmp_path / "secret", username="me", password="p")
    with serving(repo.bare.parent, basic="me:p") as server:
        url = f"{server.url}/shop.git"
        repositories.resolve(GitSource(url=url, secret_file=secret), ".", deadline=deadline)
        for ref in ({}, {"commit": commit}):
            stranger = GitSource.model_validate({"url": url, "ref": ref})
            with pytest.raises(AuthenticationRefusedError):
                repositories.resolve(stranger, ".", deadline=deadline, max_age=1000)


@pytest.mark.parametrize("status", ["password", "token"])
def test_credentials_do_not_follow_a_redirect_to_another_server(
    repo: GitRepo, repositories: Repositories, tmp_path: Path, status: str, deadline: float
) -> None:
    keys = {"bearerToken": "t"} if status == "token" else {"username": "me", "password": "p"}
    secret = folder(tmp_path / "secret", **keys)
    with serving(repo.bare.parent) as server, serving(repo.bare.parent, basic="me:p") as other:
        url = f"{server.url}/to/{other.url}/shop.git".replace("127.0.0.1", "localhost", 1)
        with pytest.raises(SourceError):
            repositories.resolve(GitSource(url=url, secret_file=secret), ".", deadline=deadline)


def test_a_server_with_a_certificate_of_its_own_needs_its_authority(
    repo: GitRepo, repositories: Repositories, tmp_path: Path, authority: Path, deadline: float
) -> None:
    commit = repo.commit({"a.yaml": "a: 1"})
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority / "certificate", authority / "key")
    secret = folder(tmp_path / "secret", ca__crt=(authority / "certificate").read_text())
    with serving(repo.bare.parent, tls=context) as server:
        url = f"{server.url}/shop.git"
        with pytest.raises(UntrustedServerError, match="certificate is not trusted"):
            repositories.resolve(GitSource(url=url), ".", deadline=deadline)
        git = GitSource(url=url, secret_file=secret)
        assert repositories.resolve(git, ".", deadline=deadline).commit == commit


# --- what is in a Secret -------------------------------------------------------------------------------------------


def test_a_secret_in_a_file_is_read(tmp_path: Path) -> None:
    file = tmp_path / "secret.yaml"
    encoded = base64.b64encode(b"me").decode()
    file.write_text(f"apiVersion: v1\nkind: Secret\ndata: {{username: {encoded}}}\nstringData: {{password: p}}\n")
    assert Credentials.of(read_file(str(file))) == Credentials(username="me", password="p")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("kind: ConfigMap\n", "the file must hold one Secret"),
        ("kind: Secret\n---\nkind: Secret\n", "the file must hold one Secret"),
        ("kind: Secret\ndata: {password: hunter2!}\n", "data.password is not base64"),
        ("kind: Secret\nstringData: {a: hunter2, a: hunter2}\n", "does not parse at line 2"),
        (f"kind: Secret\ndata: {{password: {base64.b64encode(bytes([255])).decode()}}}\n", "does not hold text"),
    ],
)
def test_what_is_no_secret_is_an_error_without_its_content(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "secret.yaml"
    file.write_text(text)
    with pytest.raises(InvalidCredentialsError, match=problem) as caught:
        Credentials.of(read_file(str(file)))
    assert "hunter2" not in str(caught.value)


def test_a_secret_that_is_not_there(repositories: Repositories, deadline: float) -> None:
    git = GitSource(url="https://example.com/x.git", secret_file="/nonexistent/secret")
    with pytest.raises(InvalidCredentialsError, match=r"x\.git: .*nonexistent/secret cannot be read: No such"):
        repositories.resolve(git, ".", deadline=deadline)


def test_credentials_are_not_shown() -> None:
    assert "hunter2" not in repr(Credentials(password="hunter2", identity="hunter2", bearer_token="hunter2"))


@pytest.mark.parametrize("url", ["file:///x", "git://example.com/x"])
def test_credentials_of_no_use_are_an_error(tmp_path: Path, url: str) -> None:
    with (
        pytest.raises(InvalidCredentialsError, match="of no use"),
        in_use(Credentials(password="p"), url, home=tmp_path, ssh=SSH),
    ):
        pass


# --- ssh -----------------------------------------------------------------------------------------------------------


def test_ssh_needs_a_key_and_the_hosts_that_are_known(tmp_path: Path) -> None:
    with (
        pytest.raises(InvalidCredentialsError, match="identity and known_hosts"),
        in_use(Credentials(identity="k"), "git@example.com:x", home=tmp_path, ssh=SSH),
    ):
        pass


@pytest.mark.parametrize("passphrase", ["", "open sesame"])
def test_ssh_is_given_the_key_its_passphrase_and_the_known_hosts_only(tmp_path: Path, passphrase: str) -> None:
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-f", str(key)], check=True)
    credentials = Credentials(identity=key.read_text(), known_hosts="example.com ssh-ed25519 AAAA", password=passphrase)
    with in_use(credentials, "ssh://git@example.com/x", home=tmp_path, ssh=SSH) as variables:
        command = variables["GIT_SSH_COMMAND"]
        assert "open sesame" not in str(variables)
        private = next(word for word in command.split() if word.endswith("/identity"))
        assert Path(private).stat().st_mode & 0o077 == 0
        shown = subprocess.run(
            [*shlex.split(command), "-G", "git@example.com"], capture_output=True, text=True, check=True
        ).stdout.splitlines()
        assert [line for line in shown if line.startswith("identityfile")] == [f"identityfile {private}"]
        assert "stricthostkeychecking true" in shown
        assert any(line.startswith("userknownhostsfile") and "/known_hosts" in line for line in shown)
        # ssh-keygen asks for a passphrase the same way as ssh does.
        public = subprocess.run(
            ["ssh-keygen", "-y", "-f", private], env={**os.environ, **variables}, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, check=True, start_new_session=True,
        )  # fmt: skip
        assert public.stdout.split()[1] == key.with_suffix(".pub").read_text().split()[1]
    assert not Path(private).exists()


# --- Secrets of the cluster ----------------------------------------------------------------------------------------


class FakeCluster:
    """Secrets by namespace and name."""

    def __init__(self) -> None:
        self.secrets: dict[tuple[str, str], dict[str, bytes]] = {}

    def read(self, namespace: str, name: str) -> dict[str, bytes]:
        return self.secrets[namespace, name]


def test_a_secret_of_the_cluster_opens_a_repository_in_its_own_namespace_and_may_be_rotated(
    repo: GitRepo, tmp_path: Path, deadline: float
) -> None:
    commit = repo.commit({"a.yaml": "a: 1"})
    cluster = FakeCluster()
    cluster.secrets["team-a", "git"] = {"username": b"me", "password": b"old"}
    cluster.secrets["team-b", "git"] = {"username": b"me", "password": b"wrong"}
    repositories = Repositories(tmp_path / "mirrors", secrets=cluster)
    with serving(repo.bare.parent, basic="me:new") as server:
        git = GitSource(url=f"{server.url}/shop.git", secret_ref=SecretRef(name="git"))
        with pytest.raises(AuthenticationRefusedError):
            repositories.resolve(git, ".", deadline=deadline, namespace="team-a")
        cluster.secrets["team-a", "git"]["password"] = b"new"
        revision = repositories.resolve(git, ".", deadline=deadline, namespace="team-a")
        assert revision.commit == commit
        assert repositories.tree(git, revision, ".", deadline=deadline, namespace="team-a").read(["a.yaml"])
        with pytest.raises(AuthenticationRefusedError):
            repositories.resolve(git, ".", deadline=deadline, namespace="team-b")


def test_without_a_cluster_a_secret_of_the_cluster_is_a_clear_error(
    repositories: Repositories, deadline: float
) -> None:
    git = GitSource(url="https://example.com/x.git", secret_ref=SecretRef(name="git"))
    with pytest.raises(SecretNeedsClusterError, match="the Secret team-a/git is in a cluster, and this command works"):
        repositories.resolve(git, ".", deadline=deadline, namespace="team-a")


def test_a_repository_has_one_secret() -> None:
    document = {"url": "https://example.com/x.git", "secretFile": "/a", "secretRef": {"name": "git"}}
    with pytest.raises(ValueError, match="give secretFile or secretRef, not both"):
        GitSource.model_validate(document)
