from __future__ import annotations

import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
import yaml

from syncd.cluster import config
from syncd.cluster.errors import ClusterConfigError
from tests.faults.cluster.fakeapi import Exchange, FakeAPI

if TYPE_CHECKING:
    from pathlib import Path

TOKEN = "s3cr3t-t0ken"


def write_kubeconfig(path: Path, url: str, user: object = None) -> Path:
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "one",
        "clusters": [{"name": "c", "cluster": {"server": url}}],
        "users": [{"name": "u", "user": user if user is not None else {"token": TOKEN}}],
        "contexts": [
            {"name": "one", "context": {"cluster": "c", "user": "u"}},
            {"name": "two", "context": {"cluster": "c", "user": "nobody"}},
        ],
    }
    path.write_text(yaml.safe_dump(document))
    return path


@pytest.fixture(autouse=True)
def _no_cluster_around(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.delenv(name, raising=False)


def greet(exchange: Exchange) -> None:
    exchange.reply({"authorization": exchange.request.headers.get("Authorization", "")})


def test_a_kubeconfig_gives_address_and_token(tmp_path: Path) -> None:
    with FakeAPI(greet) as server:
        path = write_kubeconfig(tmp_path / "config", f"{server.url}/prefix/")
        with closing(config.connect(path, None, "syncd/1")) as transport:
            assert transport.request("GET", "/version").json() == {"authorization": f"Bearer {TOKEN}"}
    assert server.requests[0].path == "/prefix/version"
    assert server.requests[0].headers["User-Agent"] == "syncd/1"


def test_the_environments_kubeconfig_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeAPI(greet) as server:
        monkeypatch.setenv("KUBECONFIG", str(write_kubeconfig(tmp_path / "config", server.url)))
        with closing(config.connect()) as transport:
            assert transport.url == server.url


def test_an_exec_plugin_is_asked_for_the_token(tmp_path: Path) -> None:
    plugin = tmp_path / "plugin"
    version = "client.authentication.k8s.io/v1"
    answer = f'{{"apiVersion": "{version}", "kind": "ExecCredential", "status": {{"token": "fresh"}}}}'
    plugin.write_text(f"#!/bin/sh\necho '{answer}'\n")
    plugin.chmod(0o700)
    with FakeAPI(greet) as server:
        user = {"exec": {"apiVersion": version, "command": str(plugin), "interactiveMode": "Never"}}
        path = write_kubeconfig(tmp_path / "config", server.url, user)
        with closing(config.connect(path)) as transport:
            assert transport.request("GET", "/version").json() == {"authorization": "Bearer fresh"}


def test_without_any_configuration_the_error_says_what_to_do() -> None:
    with pytest.raises(ClusterConfigError, match="give a kubeconfig"):
        config.connect()


@pytest.mark.parametrize("content", ["", "{", "[]", "a: b", "clusters: 3", "current-context: nope", "!!binary x"])
def test_a_broken_kubeconfig_is_one_clear_error(tmp_path: Path, content: str) -> None:
    path = tmp_path / "config"
    path.write_text(content)
    with pytest.raises(ClusterConfigError, match="config"):
        config.connect(path)


def test_a_missing_file_and_a_missing_context_are_named(tmp_path: Path) -> None:
    with pytest.raises(ClusterConfigError, match="no kubeconfig at"):
        config.connect(tmp_path / "absent")
    path = write_kubeconfig(tmp_path / "config", "http://127.0.0.1:1")
    with pytest.raises(ClusterConfigError, match="three"):
        config.connect(path, "three")


def test_no_error_shows_credentials(tmp_path: Path) -> None:
    path = write_kubeconfig(tmp_path / "config", "https://127.0.0.1:1", {"token": TOKEN, "client-certificate-data": 3})
    with pytest.raises(ClusterConfigError) as caught:
        config.connect(path)
    assert TOKEN not in str(caught.value)


def test_importing_does_not_load_the_official_client() -> None:
    code = "import sys, syncd.cluster.config, syncd.cluster.client; sys.exit('kubernetes' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0
