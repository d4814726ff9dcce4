"""plan, sync and render on a repository and an API server: what they print, and how they end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from syncd.cli.exits import Exit
from syncd.cli.main import run
from syncd.sandbox.server import SandboxServer

if TYPE_CHECKING:
    from collections.abc import Iterator

WEB = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {
        "replicas": 1,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "web", "image": "registry.example.com/web:1"}]},
        },
    },
}
PASSWORD = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "password", "namespace": "default"},
    "stringData": {"password": "correct-horse"},
}
EXTRA = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "extra", "namespace": "default"},
    "data": {"colour": "red"},
}

POLICY = {
    "apiVersion": "networking.k8s.io/v1",
    "kind": "NetworkPolicy",
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {"podSelector": {"matchLabels": {"app": "web"}}, "ingress": [{"ports": [{"port": 8080}]}]},
}


class Shop:
    """A repository, a Sync that follows it, and the cluster."""

    def __init__(self, folder: Path, kubeconfig: Path) -> None:
        self.folder = folder
        self.repository = folder / "shop"
        self.config = folder / "syncs.yaml"
        self.kubeconfig = kubeconfig
        self.repository.mkdir()
        self.git("init", "--quiet", "--initial-branch=main")
        self.write(web=WEB, password=PASSWORD, extra=EXTRA)
        self.config.write_text(self.sync("shop", self.repository))

    @staticmethod
    def sync(name: str, repository: Path) -> str:
        source = {"git": {"url": repository.as_uri()}}
        metadata = {"name": name}
        spec = {"source": source, "prune": {"budget": {"percent": 100}}}
        sync = {"apiVersion": "syncd.dev/v1alpha1", "kind": "Sync", "metadata": metadata, "spec": spec}
        return yaml.safe_dump(sync)

    def git(self, *arguments: str) -> None:
        identity = ("-c", "user.name=Test", "-c", "user.email=test@example.com")
        environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        subprocess.run(["git", *identity, *arguments], cwd=self.repository, env=environment, timeout=60, check=True)

    def write(self, **files: dict[str, Any] | str | None) -> None:
        """Commit files; None takes one away."""
        for name, content in files.items():
            file = self.repository / f"{name}.yaml"
            if content is None:
                file.unlink()
            else:
                file.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "Change")

    def run(self, command: str, *arguments: str, cluster: bool = True) -> int:
        where = ("--kubeconfig", str(self.kubeconfig)) if cluster else ()
        common = ("--config", str(self.config), "--data-dir", str(self.folder / "data"))
        return run([command, *common, *where, *arguments])


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    with SandboxServer() as server:
        server.write_kubeconfig(tmp_path / "kubeconfig")
        yield Shop(tmp_path, tmp_path / "kubeconfig")


def test_a_plan_writes_nothing_and_says_by_its_status_that_something_would_change(
    shop: Shop, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        assert shop.run("plan", "--exit-code") == Exit.CHANGES
        shown = capsys.readouterr()
        assert "Resources to add (3)" in shown.out
        assert "+ Deployment.apps default/web: it is in Git and not in the cluster" in shown.out
        assert shown.err == ""
    assert shop.run("plan") == Exit.OK


def test_after_a_sync_there_is_nothing_to_plan(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    assert shop.run("sync") == Exit.OK
    assert capsys.readouterr().out.splitlines()[-1] == "  3 created"
    assert shop.run("plan", "--exit-code") == Exit.OK
    assert "0 to add, 0 to modify, 3 unmodified, 0 to delete" in capsys.readouterr().out
    assert shop.run("sync", "--output", "json") == Exit.OK
    (item,) = json.loads(capsys.readouterr().out)["items"]
    assert item["counts"]["unchanged"] == 3
    assert item["counts"]["created"] == item["counts"]["updated"] == 0


def test_what_the_server_fills_into_a_list_is_nothing_to_plan_or_to_write(
    shop: Shop, capsys: pytest.CaptureFixture[str]
) -> None:
    shop.write(policy=POLICY)
    shop.run("sync")
    capsys.readouterr()
    assert shop.run("plan", "--exit-code") == Exit.OK
    assert "4 unmodified" in capsys.readouterr().out
    assert shop.run("sync") == Exit.OK
    assert capsys.readouterr().out.splitlines()[-1] == "  4 unchanged"


def test_what_somebody_adds_to_such_a_list_is_drift(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    shop.write(policy=POLICY)
    shop.run("sync")
    patch = [{"op": "add", "path": "/spec/ingress/0/ports/0/endPort", "value": 9000}]
    kubectl = Path(sys.executable).with_name("kubectl")
    change = ["patch", "networkpolicy", "web", "--namespace", "default", "--type", "json", "--patch", json.dumps(patch)]
    subprocess.run(
        [kubectl, "--kubeconfig", shop.kubeconfig, *change], timeout=60, check=True, stdout=subprocess.DEVNULL
    )
    capsys.readouterr()
    assert shop.run("plan", "--exit-code") == Exit.CHANGES
    shown = capsys.readouterr().out
    assert "~ NetworkPolicy.networking.k8s.io default/web: it was changed in the cluster by kubectl" in shown
    assert "- spec.ingress[0].ports[0].endPort: 9000" in shown


def test_a_plan_shows_fields_and_deletions_and_no_secret(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    shop.run("sync")
    changed = {**PASSWORD, "stringData": {"password": "battery-staple"}}
    shop.write(web={**WEB, "spec": {**WEB["spec"], "replicas": 3}}, password=changed, extra=None)  # type: ignore[dict-item]  # a literal above
    capsys.readouterr()
    assert shop.run("plan", "--exit-code") == Exit.CHANGES
    shown = capsys.readouterr().out
    assert "~ Deployment.apps default/web: it was changed in Git\n      ~ spec.replicas: 1 → 3\n" in shown
    assert "- ConfigMap default/extra: it left Git" in shown
    assert "~ Secret default/password" in shown
    assert shop.run("plan", "--output", "json") == Exit.OK
    shown += capsys.readouterr().out
    assert shop.run("sync") == Exit.OK
    result = capsys.readouterr().out
    assert result.splitlines()[-1] == "  2 updated, 1 pruned"
    for secret in ("battery-staple", "correct-horse", "YmF0dGVyeS1zdGFwbGU=", "Y29ycmVjdC1ob3JzZQ=="):
        assert secret not in shown + result


def test_render_prints_what_kubectl_reads(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    assert shop.run("render", cluster=False) == Exit.OK
    text = capsys.readouterr().out
    assert list(yaml.safe_load_all(text)) == [EXTRA, PASSWORD, WEB]
    assert f"# {shop.repository.as_uri()} extra.yaml, document 1, line 1\n" in text
    assert shop.run("render", "--output", "json", cluster=False) == Exit.OK
    value = json.loads(capsys.readouterr().out)
    assert (value["kind"], value["items"]) == ("List", [EXTRA, PASSWORD, WEB])


def test_a_sandbox_stands_in_for_a_cluster(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    assert shop.run("plan", "--sandbox", "--exit-code", cluster=False) == Exit.CHANGES
    assert "3 to add" in capsys.readouterr().out
    assert shop.run("plan", "--sandbox") == Exit.USAGE
    assert "--sandbox is a cluster of its own" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["plan", "sync", "render"])
def test_a_sync_that_fails_is_one_error_and_stops_no_other(
    command: str, shop: Shop, capsys: pytest.CaptureFixture[str]
) -> None:
    shop.config.write_text(f"{shop.sync('gone', shop.folder / 'gone')}---\n{shop.config.read_text()}")
    assert shop.run(command, cluster=command != "render") == Exit.FAILURE
    shown = capsys.readouterr()
    assert shown.err.startswith("error: syncd/gone: ")
    assert len(shown.err.splitlines()) == 1
    assert "default/web" in shown.out or "name: web" in shown.out
    assert shop.run(command, "--sync", "shop", cluster=command != "render") == Exit.OK


@pytest.mark.parametrize("command", ["plan", "sync", "render"])
def test_a_mistake_in_git_is_one_error_with_its_place(
    command: str, shop: Shop, capsys: pytest.CaptureFixture[str]
) -> None:
    shop.write(web="kind: Deployment\nkind: Service\n")
    assert shop.run(command, cluster=command != "render") == Exit.FAILURE
    shown = capsys.readouterr()
    assert shown.err.startswith(f"error: syncd/shop: {shop.repository.as_uri()} web.yaml, document 1, line 2: ")
    assert len(shown.err.splitlines()) == 1
    assert shown.out == ""


def test_an_object_that_cannot_be_applied_is_a_failure_of_plan_and_sync(
    shop: Shop, capsys: pytest.CaptureFixture[str]
) -> None:
    shop.write(odd={"apiVersion": "example.com/v1", "kind": "Oddity", "metadata": {"name": "odd"}})
    assert shop.run("plan", "--exit-code") == Exit.FAILURE
    assert "! Oddity.example.com odd" in capsys.readouterr().out
    assert shop.run("sync") == Exit.FAILURE
    shown = capsys.readouterr()
    assert "Oddity" in shown.err
    assert shown.out.splitlines()[-1] == "  3 created, 1 failed"


def test_every_mistake_in_the_configuration_is_told_with_its_line(
    shop: Shop, capsys: pytest.CaptureFixture[str]
) -> None:
    shop.config.write_text(shop.config.read_text().replace("source:", "sauce:") + "  interval: soon\n")
    assert shop.run("plan") == Exit.FAILURE
    shown = capsys.readouterr().err
    assert f"{shop.config}, document 1, line " in shown
    for field in ("spec.source: is required", "spec.sauce: unknown field", "spec.interval: not a duration"):
        assert field in shown


def test_a_sync_that_is_not_in_the_configuration_is_wrong_usage(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    assert shop.run("plan", "--sync", "shup") == Exit.USAGE
    assert "no Sync named shup; there are: syncd/shop" in capsys.readouterr().err


def test_no_cluster_is_one_clear_error(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    shop.kubeconfig = shop.folder / "nothing"
    assert shop.run("sync") == Exit.FAILURE
    shown = capsys.readouterr()
    assert shown.err == f"error: there is no kubeconfig at {shop.kubeconfig}\n"
    assert shown.out == ""


def test_a_data_folder_is_where_the_command_was_typed(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(shop.folder)
    assert run(["render", "--config", "syncs.yaml", "--data-dir", "here"]) == Exit.OK
    assert "name: web" in capsys.readouterr().out
    assert (shop.folder / "here").is_dir()
