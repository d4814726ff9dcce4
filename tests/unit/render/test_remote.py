from __future__ import annotations

import socket
import ssl
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from syncd.render import renderer
from syncd.render.errors import RemoteInputError, RenderFailedError
from syncd.render.remote import host_of
from tests.unit.render.test_plain import config_map, names
from tests.unit.source.gitrepo import GitRepo
from tests.unit.source.gitserver import serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.unit.render.conftest import Bench

HOST = "bases.example.com"
BASE = f"https://{HOST}/shop.git//base?ref=main"


class Elsewhere:
    """A repository that only a named host has, and what was connected to."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.repo = GitRepo(folder)
        self.repo.commit({"base/kustomization.yaml": "resources: [a.yaml]\n", "base/a.yaml": config_map("a")})
        (self.repo.bare.parent / "file.yaml").write_text(config_map("file"))
        self.reached: list[tuple[str, int]] = []


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Elsewhere]:
    """Served over https; its name leads there only for those who go through syncd's gate."""
    found = Elsewhere(tmp_path / "elsewhere")
    certificate, key = tmp_path / "ca.crt", tmp_path / "key"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", f"/CN={HOST}",
         "-addext", f"subjectAltName=DNS:{HOST}", "-keyout", key, "-out", certificate],
        check=True, capture_output=True,
    )  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    connect = socket.create_connection
    with serving(found.repo.bare.parent, tls=context) as server:
        port = int(server.url.rpartition(":")[2])

        def lead(address: tuple[str, int], **options: Any) -> socket.socket:
            found.reached.append(address)
            return connect(("localhost", port), **options)

        monkeypatch.setattr(socket, "create_connection", lead)
        yield found


def test_bases_and_files_of_a_named_host_are_fetched_and_others_are_not_even_asked(
    bench: Bench, elsewhere: Elsewhere
) -> None:
    bench.repo.commit({"kustomization.yaml": f"resources:\n- {BASE}\n- https://{HOST}/dumb/file.yaml\n"})
    manifests = bench.render(bench.spec(kustomize={"remoteHosts": ["github.com", HOST]}))
    assert sorted(names(manifests)) == ["a", "file"]
    assert {manifest.origin.path for manifest in manifests} == {"kustomization.yaml"}
    assert set(elsewhere.reached) == {(HOST, 443)}
    elsewhere.reached.clear()
    for hosts in ([], ["other.example.com"], ["example.com"], [f"{HOST}:8443"]):
        with pytest.raises(RemoteInputError, match=r"line 2: .*remoteHosts"):
            bench.render(bench.spec(kustomize={"remoteHosts": hosts}))
    assert not elsewhere.reached


def test_a_base_cannot_lead_on_to_a_host_that_is_not_named(bench: Bench, elsewhere: Elsewhere) -> None:
    elsewhere.repo.commit({"base/kustomization.yaml": "resources:\n- https://evil.example.com/dumb/file.yaml\n"})
    bench.repo.commit({"kustomization.yaml": f"resources: ['{BASE}']\n"})
    with pytest.raises(RemoteInputError, match=r"kustomization\.yaml: a remote base needs evil\.example\.com"):
        bench.render(bench.spec(kustomize={"remoteHosts": [HOST]}))
    assert set(elsewhere.reached) == {(HOST, 443)}


def test_a_remote_base_is_looked_at_anew_after_a_while(
    bench: Bench, elsewhere: Elsewhere, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.repo.commit({"kustomization.yaml": f"resources: ['{BASE}']\n"})
    spec = bench.spec(kustomize={"remoteHosts": [HOST]})
    first = bench.render(spec)
    elsewhere.repo.commit({"base/a.yaml": config_map("new")})
    assert bench.render(spec) is first
    monkeypatch.setattr(renderer, "_REMOTE_SECONDS", 0.0)
    bench.renderer = renderer.Renderer()
    assert names(bench.render(spec)) == ["new"]
    elsewhere.repo.commit({"base/a.yaml": config_map("newer")})
    assert names(bench.render(spec)) == ["newer"]


def test_a_base_that_is_not_there_is_an_error(bench: Bench, elsewhere: Elsewhere) -> None:
    bench.repo.commit({"kustomization.yaml": f"resources: ['https://{HOST}/none.git//x?ref=v1']\n"})
    with pytest.raises(RenderFailedError, match=r"kustomization\.yaml: kustomize: "):
        bench.render(bench.spec(kustomize={"remoteHosts": [HOST]}))
    assert elsewhere.reached


@pytest.mark.parametrize(
    ("reference", "host"),
    [
        (BASE, HOST),
        ("https://git.example.com:8443/a.yaml", "git.example.com:8443"),
        ("https://GIT.example.com:443/a.yaml", "git.example.com"),
        ("github.com/org/repo//x?ref=v1", "github.com"),
        ("http://bases.example.com/a.yaml", ""),
        ("https://user:password@bases.example.com/a.yaml", ""),
        ("ssh://git@bases.example.com/a", ""),
        ("git@bases.example.com:a", ""),
        ("git::https://bases.example.com/a", ""),
        ("file:///etc/passwd", ""),
        ("../base", ""),
    ],
)
def test_only_https_without_credentials_leads_to_a_host(reference: str, host: str) -> None:
    assert host_of(reference) == host
