"""Webhooks as Git servers send them: payloads cut down to what matters, headers and signatures whole."""

from __future__ import annotations

import hashlib
import hmac
import json
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import pytest
from prometheus_client import CollectorRegistry
from starlette.testclient import TestClient

from syncd.daemon.status import SyncStatus
from syncd.source.urls import Place
from syncd.web import create_app
from syncd.web.body import BODY_LIMIT
from syncd.web.hooks import Hooks, SecretFile, WebhookSecretError
from tests.unit.web.sample import FakeBoard, make_sync

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

SECRET = b"a long random line"

GITHUB = {
    "ref": "refs/heads/main",
    "after": "59b20b8d5c6ff8d09518454d4dd8b7b30f095ab5",
    "repository": {
        "full_name": "Acme/Shop",
        "html_url": "https://github.com/Acme/Shop",
        "git_url": "git://github.com/Acme/Shop.git",
        "ssh_url": "git@github.com:Acme/Shop.git",
        "clone_url": "https://github.com/Acme/Shop.git",
    },
    "pusher": {"name": "someone"},
}
GITEA = {
    "ref": "refs/heads/develop",
    "repository": {
        "full_name": "acme/shop",
        "html_url": "http://gitea.example.com:3000/acme/shop",
        "ssh_url": "ssh://git@gitea.example.com:2222/acme/shop.git",
        "clone_url": "http://gitea.example.com:3000/acme/shop.git",
    },
}
GITLAB = {
    "object_kind": "push",
    "ref": "refs/heads/main",
    "project": {
        "web_url": "https://gitlab.example.com/group/sub/shop",
        "git_ssh_url": "git@gitlab.example.com:group/sub/shop.git",
        "git_http_url": "https://gitlab.example.com/group/sub/shop.git",
        "path_with_namespace": "group/sub/shop",
    },
}
BITBUCKET_CLOUD = {
    "push": {"changes": [{"new": {"type": "branch", "name": "main"}}]},
    "repository": {
        "full_name": "acme/shop",
        "links": {
            "self": {"href": "https://api.bitbucket.org/2.0/repositories/acme/shop"},
            "html": {"href": "https://bitbucket.org/acme/shop"},
        },
    },
}
BITBUCKET_SERVER: dict[str, Any] = {
    "eventKey": "repo:refs_changed",
    "repository": {"slug": "shop", "name": "Shop", "project": {"key": "ACME", "name": "Acme"}, "public": False},
    "changes": [{"ref": {"id": "refs/heads/master", "type": "BRANCH"}, "type": "UPDATE"}],
}
BITBUCKET_DATA_CENTER = {
    **BITBUCKET_SERVER,
    "repository": {
        "slug": "renamed",
        "project": {"key": "OTHER"},
        "links": {
            "clone": [
                {"href": "ssh://git@bitbucket.example.com:7999/acme/shop.git", "name": "ssh"},
                {"href": "https://bitbucket.example.com/scm/acme/shop.git", "name": "http"},
            ],
            "self": [{"href": "https://bitbucket.example.com/projects/ACME/repos/shop/browse"}],
        },
    },
}
GENERIC = {"url": "https://git.example.com/acme/shop.git"}

URLS = {
    "github": "https://github.com/acme/shop",
    "github-ssh": "git@github.com:acme/shop.git",
    "gitea": "http://gitea.example.com:3000/acme/shop.git",
    "gitea-ssh": "ssh://git@gitea.example.com:2222/acme/shop.git",
    "gitlab": "https://gitlab.example.com/group/sub/shop.git",
    "cloud": "git@bitbucket.org:acme/shop.git",
    "server": "https://bitbucket.example.com/scm/acme/shop.git",
    "server-ssh": "ssh://git@bitbucket.example.com:7999/acme/shop.git",
    "generic": "https://git.example.com/acme/shop.git",
    "other": "https://github.com/acme/shop-two.git",
}


def signed(body: bytes, secret: bytes = SECRET, algorithm: str = "sha256") -> str:
    return hmac.new(secret, body, algorithm).hexdigest()


def headers(forge: str, body: bytes, event: str = "push", secret: bytes = SECRET) -> dict[str, str]:
    """What a server of this kind sends along."""
    given = {
        "github": {"X-GitHub-Event": event, "X-Hub-Signature-256": f"sha256={signed(body, secret)}"},
        "gitea": {
            "X-Gitea-Event": event, "X-GitHub-Event": event, "X-Gitea-Signature": signed(body, secret),
            "X-Hub-Signature-256": f"sha256={signed(body, secret)}",
        },
        "gitlab": {"X-Gitlab-Event": "Push Hook" if event == "push" else event, "X-Gitlab-Token": secret.decode()},
        "bitbucket": {"X-Event-Key": event, "X-Hub-Signature": f"sha256={signed(body, secret)}"},
        "generic": {"X-Signature": f"sha512={signed(body, secret, 'sha512')}"},
    }  # fmt: skip
    return {"Content-Type": "application/json", **given[forge]}


@pytest.fixture
def triggered() -> list[str]:
    return []


@pytest.fixture
def secret_file(tmp_path: Path) -> Path:
    file = tmp_path / "secret"
    file.write_bytes(SECRET + b"\n")
    return file


@pytest.fixture
def client(triggered: list[str], secret_file: Path) -> Iterator[TestClient]:
    syncs = [make_sync(name, source={"git": {"url": url}}) for name, url in URLS.items()]
    syncs.append(make_sync("asleep", source={"git": {"url": URLS["github"]}}, suspend=True))
    board = FakeBoard(tuple(SyncStatus(sync) for sync in syncs))
    hooks = Hooks(board, triggered.append, SecretFile(secret_file))
    with TestClient(create_app(board, CollectorRegistry(), hooks=hooks), raise_server_exceptions=False) as client:
        yield client


def call(client: TestClient, forge: str, payload: Mapping[str, Any], event: str = "push", **other: Any) -> Any:
    body = json.dumps(payload).encode()
    return client.post(f"/hooks/{forge}", content=body, headers={**headers(forge, body, event), **other})


@pytest.mark.parametrize(
    ("forge", "payload", "event", "expected"),
    [
        ("github", GITHUB, "push", ["github", "github-ssh"]),
        ("gitea", GITEA, "push", ["gitea", "gitea-ssh"]),
        ("gitlab", GITLAB, "push", ["gitlab"]),
        ("gitlab", GITLAB, "Tag Push Hook", ["gitlab"]),
        ("bitbucket", BITBUCKET_CLOUD, "repo:push", ["cloud"]),
        ("bitbucket", BITBUCKET_DATA_CENTER, "repo:refs_changed", ["server", "server-ssh"]),
        ("generic", GENERIC, "", ["generic"]),
    ],
)
def test_a_push_triggers_every_sync_of_the_repository_and_no_other(
    *, client: TestClient, triggered: list[str], forge: str, payload: dict[str, Any], event: str, expected: list[str]
) -> None:
    response = call(client, forge, payload, event)
    assert response.status_code == 202
    assert response.json()["triggered"] == triggered == [f"syncd/{name}" for name in expected]


def test_an_old_bitbucket_server_that_names_no_url_is_matched_by_project_and_repository(
    client: TestClient, triggered: list[str]
) -> None:
    call(client, "bitbucket", BITBUCKET_SERVER, "repo:refs_changed")
    assert {"syncd/server", "syncd/server-ssh"} <= set(triggered)
    assert "syncd/other" not in triggered


def test_forgejo_calls_with_its_own_headers(client: TestClient, triggered: list[str]) -> None:
    body = json.dumps(GITEA).encode()
    own = {"X-Forgejo-Event": "push", "X-Forgejo-Signature": signed(body)}
    assert client.post("/hooks/gitea", content=body, headers=own).status_code == 202
    assert triggered


def test_github_may_send_a_form(client: TestClient, triggered: list[str]) -> None:
    body = urlencode({"payload": json.dumps(GITHUB)}).encode()
    form = {**headers("github", body), "Content-Type": "application/x-www-form-urlencoded"}
    assert client.post("/hooks/github", content=body, headers=form).status_code == 202
    assert triggered == ["syncd/github", "syncd/github-ssh"]


@pytest.mark.parametrize("forge", ["github", "gitea", "gitlab", "bitbucket", "generic"])
def test_a_caller_who_does_not_know_the_secret_is_refused(client: TestClient, triggered: list[str], forge: str) -> None:
    payload = {**GITHUB, **GITLAB, **GENERIC}
    body = json.dumps(payload).encode()
    wrong = client.post(f"/hooks/{forge}", content=body, headers=headers(forge, body, secret=b"guessed"))
    missing = client.post(f"/hooks/{forge}", content=body)
    empty = client.post(f"/hooks/{forge}", content=body, headers=dict.fromkeys(headers(forge, body), ""))
    assert [wrong.status_code, missing.status_code, empty.status_code] == [401, 401, 401]
    assert "signature" in wrong.json()["error"]
    assert triggered == []


@pytest.mark.parametrize("forge", ["github", "gitea", "bitbucket", "generic"])
def test_a_signature_of_another_body_is_refused(client: TestClient, triggered: list[str], forge: str) -> None:
    response = client.post(f"/hooks/{forge}", content=b'{"url": "x"}', headers=headers(forge, b"{}"))
    assert response.status_code == 401
    assert triggered == []


@pytest.mark.parametrize("signature", ["sha1=00", "md5=00", "=", "sha256=", "sha256=é"])
def test_a_signature_of_another_kind_is_refused(client: TestClient, signature: str) -> None:
    response = client.post("/hooks/generic", content=b"{}", headers={b"X-Signature": signature.encode()})
    assert response.status_code == 401


@pytest.mark.parametrize(
    ("forge", "event"), [("github", "ping"), ("gitlab", "Note Hook"), ("bitbucket", "diagnostics:ping")]
)
def test_what_is_no_push_is_accepted_and_nothing_comes_of_it(
    client: TestClient, triggered: list[str], forge: str, event: str
) -> None:
    response = call(client, forge, {"zen": "Keep it simple.", **GITHUB}, event)
    assert response.status_code == 200
    assert triggered == []


def test_a_repository_that_nobody_follows_is_told_to_the_caller(client: TestClient, triggered: list[str]) -> None:
    response = call(client, "generic", {"url": "https://git.example.com/acme/another"})
    assert (response.status_code, response.json()["message"]) == (202, "No Sync follows this repository.")
    assert triggered == []


@pytest.mark.parametrize("body", [b"", b"no json", b"[]", b"null", b'{"url": 5}', b'{"repository": "x"}', b"\xff"])
def test_what_no_server_sends_is_refused(client: TestClient, triggered: list[str], body: bytes) -> None:
    for forge in ("generic", "github", "bitbucket"):
        event = "repo:push" if forge == "bitbucket" else "push"
        response = client.post(f"/hooks/{forge}", content=body, headers=headers(forge, body, event))
        assert response.status_code == 400
    assert triggered == []


def test_a_body_beyond_the_limit_is_refused_before_it_is_whole(client: TestClient) -> None:
    sent = 0

    def body() -> Iterator[bytes]:
        nonlocal sent
        for _ in range(4 * BODY_LIMIT >> 20):
            sent += 1 << 20
            yield b" " * (1 << 20)

    assert client.post("/hooks/github", content=body()).status_code == 413


def test_only_known_servers_may_call_and_only_by_post(client: TestClient) -> None:
    response = client.post("/hooks/sourcehut")
    assert response.status_code == 404
    assert "bitbucket, generic, gitea, github, gitlab" in response.json()["error"]
    assert client.get("/hooks/github").status_code == 405


def test_a_secret_can_be_replaced_without_a_restart(client: TestClient, secret_file: Path) -> None:
    body = json.dumps(GENERIC).encode()
    new = headers("generic", body, secret=b"new one")
    assert client.post("/hooks/generic", content=body, headers=new).status_code == 401
    secret_file.write_bytes(b"new one\n" + SECRET + b"\n")
    assert client.post("/hooks/generic", content=body, headers=new).status_code == 202
    assert call(client, "generic", GENERIC).status_code == 202
    secret_file.write_bytes(b"new one")
    assert call(client, "generic", GENERIC).status_code == 401


@pytest.mark.parametrize("content", [None, b"", b"\n  \n"])
def test_without_a_secret_nobody_may_call(client: TestClient, secret_file: Path, content: bytes | None) -> None:
    secret_file.unlink() if content is None else secret_file.write_bytes(content)
    with pytest.raises(WebhookSecretError, match="write a long random line to it"):
        SecretFile(secret_file).read()
    assert call(client, "generic", GENERIC).status_code == 503


def test_a_replica_that_stands_by_sends_callers_away(secret_file: Path) -> None:
    board = FakeBoard(stands_by="other leads")
    hooks = Hooks(board, lambda _: None, SecretFile(secret_file))
    with TestClient(create_app(board, CollectorRegistry(), hooks=hooks)) as client:
        response = call(client, "generic", GENERIC)
    assert (response.status_code, response.json()) == (503, {"error": "This replica stands by: other leads."})
    assert response.headers["retry-after"]


def test_without_the_option_there_are_no_webhooks() -> None:
    with TestClient(create_app(FakeBoard(), CollectorRegistry())) as client:
        response = client.post("/hooks/github", content=b"{}")
    assert response.status_code == 404
    assert "--webhook-secret-file" in response.json()["error"]


def test_no_answer_shows_the_secret(client: TestClient) -> None:
    body = json.dumps(GENERIC).encode()
    answers = [
        call(client, "generic", GENERIC).text,
        client.post("/hooks/gitlab", content=body, headers={"X-Gitlab-Token": "x"}).text,
    ]
    assert not any(SECRET.decode() in answer or hashlib.sha256(SECRET).hexdigest() in answer for answer in answers)


@pytest.mark.parametrize("url", ["", "http://[", "::::", "git@", "https://", "/srv/git/shop.git", "file:///srv/x"])
def test_any_text_is_some_place(url: str) -> None:
    assert isinstance(Place.of(url), Place)
    assert not Place.of("https://git.example.com/acme/shop").is_meant_by(Place.of(url))
