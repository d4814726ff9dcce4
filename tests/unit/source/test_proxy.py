from __future__ import annotations

import json
import ssl
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from syncd.source.errors import AuthenticationRefusedError, InvalidCredentialsError, RepositoryUnreachableError
from syncd.source.proxy import ProxyAddress
from syncd.spec import GitSource
from tests.unit.source.gitserver import serving
from tests.unit.source.proxyserver import proxying

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from syncd.source.repository import Repositories
    from tests.unit.source.gitrepo import GitRepo

PASSWORD = "p@ss:w/ rd%"


class Far:
    """A repository over https."""

    def __init__(self, url: str, keys: Path) -> None:
        self.url = url
        self._keys = keys

    def source(self, **proxy: Any) -> GitSource:
        return GitSource.model_validate({"url": self.url, "secretFile": str(self._keys), "proxy": proxy or None})


@pytest.fixture
def far(repo: GitRepo, tmp_path: Path) -> Iterator[Far]:
    repo.commit({"a.yaml": "a: 1"})
    keys = tmp_path / "keys"
    keys.mkdir()
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost", "-keyout", "../key", "-out", "ca.crt"],
        cwd=keys, check=True, capture_output=True,
    )  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(keys / "ca.crt", tmp_path / "key")
    with serving(repo.bare.parent, tls=context) as server:
        yield Far(f"{server.url}/shop.git", keys)


def login(folder: Path, **keys: str) -> str:
    file = folder / "proxy.yaml"
    file.write_text(json.dumps({"kind": "Secret", "stringData": keys}))
    return str(file)


def test_a_repository_is_reached_through_a_proxy(far: Far, repositories: Repositories, deadline: float) -> None:
    with proxying() as proxy:
        repositories.resolve(far.source(address=proxy.address), ".", deadline=deadline)
        assert set(proxy.asked) == {far.url.removeprefix("https://").partition("/")[0]}
        count = len(proxy.asked)
        repositories.resolve(far.source(), ".", deadline=deadline)
        assert len(proxy.asked) == count


def test_a_proxy_that_wants_a_login_gets_it_from_the_secret(
    far: Far, repositories: Repositories, tmp_path: Path, deadline: float
) -> None:
    with proxying(f"me:{PASSWORD}") as proxy:
        secret = login(tmp_path, address=proxy.address, username="me", password=PASSWORD)
        repositories.resolve(far.source(secretFile=secret), ".", deadline=deadline)
        login(tmp_path, username="me", password="hunter2")
        with pytest.raises(AuthenticationRefusedError, match="the proxy wants other credentials") as caught:
            repositories.resolve(far.source(secretFile=secret, address=proxy.address), ".", deadline=deadline)
        assert "hunter2" not in str(caught.value)


def test_a_proxy_that_is_away_or_lets_nobody_through(far: Far, repositories: Repositories, deadline: float) -> None:
    with proxying(forbidden=True) as proxy, pytest.raises(RepositoryUnreachableError, match="the proxy cannot be"):
        repositories.resolve(far.source(address=proxy.address), ".", deadline=deadline)
    with pytest.raises(RepositoryUnreachableError, match="proxy"):
        repositories.resolve(far.source(address="http://proxy.invalid:1"), ".", deadline=deadline)


@pytest.mark.parametrize("address", ["", "proxy:3128", "socks5://proxy:1", "http://me:hunter2@proxy:1", "http://-x:1"])
def test_an_address_that_is_none(
    far: Far, repositories: Repositories, tmp_path: Path, address: str, deadline: float
) -> None:
    secret = login(tmp_path, address=address)
    with pytest.raises(InvalidCredentialsError, match="the proxy's address must be like") as caught:
        repositories.resolve(far.source(secretFile=secret), ".", deadline=deadline)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "proxy", "problem"),
    [
        ("git@example.com:x.git", {"address": "http://proxy:1"}, "proxy is for http and https URLs"),
        ("https://example.com/x.git", {}, "give address, or a Secret that has it"),
        ("https://example.com/x.git", {"address": "http://u:p@proxy:1"}, "a login belongs into the Secret"),
        ("https://example.com/x.git", {"secretFile": "/a", "secretRef": {"name": "b"}}, "not both"),
    ],
)
def test_a_proxy_that_cannot_be_meant(url: str, proxy: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        GitSource.model_validate({"url": url, "proxy": proxy})


def test_the_login_is_not_shown() -> None:
    assert "hunter2" not in repr(ProxyAddress("http://proxy:1", "me", "hunter2"))
