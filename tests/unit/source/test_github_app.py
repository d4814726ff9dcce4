from __future__ import annotations

import http.server
import json
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

import jwt
import pytest

from syncd.source.errors import (
    AuthenticationRefusedError,
    InvalidCredentialsError,
    RepositoryUnreachableError,
    SourceError,
    SourceTimeoutError,
)
from syncd.source.github import App, AppTokens
from syncd.source.proxy import ProxyAddress
from syncd.spec import GitSource
from tests.unit.source.gitserver import serving, silent
from tests.unit.source.proxyserver import proxying

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from syncd.source.repository import Repositories
    from tests.unit.source.gitrepo import GitRepo


class Keys(NamedTuple):
    private: str
    public: str


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Keys:
    folder = tmp_path_factory.mktemp("app")
    subprocess.run(["openssl", "genrsa", "-out", "key", "2048"], cwd=folder, check=True, capture_output=True)
    public = subprocess.run(
        ["openssl", "rsa", "-in", "key", "-pubout"], cwd=folder, check=True, capture_output=True, text=True
    ).stdout
    return Keys((folder / "key").read_text(), public)


class FakeGitHub:
    """The one question of GitHub's API that matters here, answered as GitHub documents it."""

    def __init__(self, public_key: str) -> None:
        self.public_key = public_key
        self.url = ""
        self.asked = 0
        self.lifetime = timedelta(hours=1)
        self.status = 201
        self.tokens = (f"ghs_{number}" for number in range(1000))

    def answer(self, path: str, authorization: str) -> tuple[int, dict[str, Any]]:
        self.asked += 1
        try:
            claims = jwt.decode(authorization.removeprefix("Bearer "), self.public_key, algorithms=["RS256"])
        except jwt.PyJWTError:
            return 401, {"message": "A JSON web token could not be decoded"}
        if claims["iss"] != "12345" or claims["exp"] - claims["iat"] > 600:
            return 401, {"message": "Integration not found"}
        if path != "/api/v3/app/installations/678/access_tokens":
            return 404, {"message": "Not Found"}
        if self.status != 201:
            return self.status, {"message": "out of order"}
        expires = (datetime.now(UTC) + self.lifetime).strftime("%Y-%m-%dT%H:%M:%SZ")
        return 201, {"token": next(self.tokens), "expires_at": expires, "permissions": {"contents": "read"}}


@pytest.fixture
def github(keys: Keys) -> Iterator[FakeGitHub]:
    fake = FakeGitHub(keys.public)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            status, body = fake.answer(self.path, self.headers["Authorization"])
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    with running(Handler) as fake.url:
        yield fake


@contextmanager
def running(handler: type[http.server.BaseHTTPRequestHandler]) -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/api/v3"
        server.shutdown()
        thread.join()


def app(github: FakeGitHub, keys: Keys, **different: str) -> App:
    return App(**{"id": "12345", "installation": "678", "private_key": keys.private, "api": github.url, **different})


def write_secret(folder: Path, **values: str) -> str:
    place = folder / "secret.yaml"
    place.write_text(json.dumps({"kind": "Secret", "stringData": values}))
    return str(place)


def test_an_app_opens_a_repository_and_one_token_serves_for_long(
    *, github: FakeGitHub, keys: Keys, repo: GitRepo, repositories: Repositories, tmp_path: Path, deadline: float
) -> None:
    secret = write_secret(
        tmp_path,
        githubAppID="12345",
        githubAppInstallationID="678",
        githubAppPrivateKey=keys.private,
        githubAppBaseURL=github.url,
    )
    first = repo.commit({"a.yaml": "a: 1"})
    with serving(repo.bare.parent, basic="x-access-token:ghs_0") as server:
        git = GitSource(url=f"{server.url}/shop.git", secret_file=secret)
        assert repositories.resolve(git, ".", deadline=deadline).commit == first
        second = repo.commit({"a.yaml": "a: 2"})
        assert repositories.resolve(git, ".", deadline=deadline).commit == second
    assert github.asked == 1


def test_a_token_that_was_revoked_is_replaced(
    *, github: FakeGitHub, keys: Keys, repo: GitRepo, repositories: Repositories, tmp_path: Path, deadline: float
) -> None:
    secret = write_secret(
        tmp_path,
        githubAppID="12345",
        githubAppInstallationID="678",
        githubAppPrivateKey=keys.private,
        githubAppBaseURL=github.url,
    )
    commit = repo.commit({"a.yaml": "a: 1"})
    with serving(repo.bare.parent, basic="x-access-token:ghs_1") as server:  # ghs_0 does not open it
        git = GitSource(url=f"{server.url}/shop.git", secret_file=secret)
        with pytest.raises(AuthenticationRefusedError) as caught:
            repositories.resolve(git, ".", deadline=deadline)
        assert "ghs_" not in str(caught.value)
        assert repositories.resolve(git, ".", deadline=deadline).commit == commit


def test_a_token_is_shared_until_shortly_before_its_end(github: FakeGitHub, keys: Keys, deadline: float) -> None:
    tokens = AppTokens()
    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(lambda _: tokens.token(app(github, keys), None, deadline), range(8)))
    assert (found, github.asked) == ({"ghs_0"}, 1)
    tokens.forget(app(github, keys))
    github.lifetime = timedelta(minutes=4)
    assert [tokens.token(app(github, keys), None, deadline) for _ in range(2)] == ["ghs_1", "ghs_2"]


def test_the_proxy_is_used_for_tokens_too(github: FakeGitHub, keys: Keys, deadline: float) -> None:
    with proxying(forbidden=True) as proxy, pytest.raises(RepositoryUnreachableError, match="the proxy cannot be"):
        AppTokens().token(app(github, keys, api="https://localhost:1"), ProxyAddress(proxy.address), deadline)
    assert proxy.asked == ["localhost:1"]


@pytest.mark.parametrize(
    ("different", "kind", "problem"),
    [
        ({"id": "1"}, AuthenticationRefusedError, "GitHub does not know the App by this ID and key"),
        ({"installation": "1"}, AuthenticationRefusedError, "the App has no such installation"),
        ({"private_key": "hunter2"}, InvalidCredentialsError, "does not hold an RSA private key"),
        (
            {"api": "http://127.0.0.1:1"},
            RepositoryUnreachableError,
            "no token for the GitHub App 12345: the server cannot",
        ),
    ],
)
def test_an_app_that_is_wrong_is_told_apart(
    *,
    github: FakeGitHub,
    keys: Keys,
    different: dict[str, str],
    kind: type[SourceError],
    problem: str,
    deadline: float,
) -> None:
    with pytest.raises(kind, match=problem) as caught:
        AppTokens().token(app(github, keys, **different), None, deadline)
    assert "hunter2" not in str(caught.value)


def test_a_fault_of_github_is_no_wrong_key(github: FakeGitHub, keys: Keys, deadline: float) -> None:
    github.status = 502
    with pytest.raises(RepositoryUnreachableError, match=r"HTTP 502\) \(out of order"):
        AppTokens().token(app(github, keys), None, deadline)


def test_an_api_that_never_answers_ends_with_the_deadline(github: FakeGitHub, keys: Keys) -> None:
    with silent() as address, pytest.raises(SourceTimeoutError, match=r"no token for .*: timed out"):
        AppTokens().token(app(github, keys, api=f"http://{address}"), None, time.monotonic() + 1)


@pytest.mark.parametrize(
    "wrong", [{"installation": "x/../y"}, {"id": "a b"}, {"private_key": ""}, {"api": "http://ghe.example.com"}]
)
def test_an_app_that_cannot_be_meant(github: FakeGitHub, keys: Keys, wrong: dict[str, str]) -> None:
    with pytest.raises(InvalidCredentialsError):
        app(github, keys, **wrong)


def test_an_app_does_not_open_ssh(repositories: Repositories, keys: Keys, tmp_path: Path, deadline: float) -> None:
    values = {"githubAppID": "1", "githubAppInstallationID": "2", "githubAppPrivateKey": keys.private}
    git = GitSource(url="git@github.com:acme/shop.git", secret_file=write_secret(tmp_path, **values))
    with pytest.raises(InvalidCredentialsError, match="for https URLs"):
        repositories.resolve(git, ".", deadline=deadline)


def test_the_key_is_not_shown(github: FakeGitHub, keys: Keys) -> None:
    assert keys.private not in repr(app(github, keys))
