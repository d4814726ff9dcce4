"""The daemon as a process with private repositories, and with Git servers that call it."""

from __future__ import annotations

import hashlib
import hmac
import json
import shutil
import subprocess
import urllib.request
from functools import partial
from typing import TYPE_CHECKING, Any

from tests.support.clusters import Sandbox
from tests.support.daemon import DaemonProcess, eventually, sync_document
from tests.support.gitservers import PASSWORD, USER, nginx, passwords, sshd, write_keys
from tests.support.repository import Repository
from tests.unit.source.gitrepo import GitRepo
from tests.unit.source.gitserver import serving

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.clusters import ClusterUnderTest

MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: default}\ndata: {colour: %s}\n"


def secret(password: str) -> str:
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "git", "namespace": "syncd"},
            "stringData": {"username": "me", "password": password},
        }
    )


def push_event(daemon: DaemonProcess, url: str) -> dict[str, Any]:
    body = json.dumps({"url": url}).encode()
    signature = f"sha256={hmac.new(b'open sesame', body, hashlib.sha256).hexdigest()}"
    request = urllib.request.Request(  # noqa: S310 - the daemon's own address
        f"{daemon.url}/hooks/generic", data=body, headers={"X-Signature": signature}
    )
    with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310 - the same
        found: dict[str, Any] = json.loads(answer.read())
        return found


def test_what_nobody_has_signed_is_not_applied_and_the_last_good_revision_is_kept_to(tmp_path: Path) -> None:
    repository = GitRepo(tmp_path)
    keys = tmp_path / "keys"
    keys.mkdir()
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / "alice")], check=True)
    (keys / "alice.sshpub").write_bytes((tmp_path / "alice.pub").read_bytes())

    def commit(colour: str, *options: str) -> str:
        repository.write({"a.yaml": MAP % colour})
        repository.git("add", "-A")
        repository.git(
            "-c", "gpg.format=ssh", "-c", f"user.signingKey={tmp_path / 'alice'}", "commit", "-qm", "x", *options
        )
        repository.git("push", "-q", "origin", "HEAD:refs/heads/main")
        return repository.git("rev-parse", "HEAD")

    def colour() -> str:
        return str((sandbox.kubectl.get("configmap", "settings", "default") or {})["data"]["colour"])

    good = commit("blue", "-S")
    document = sync_document("shop", repository.url)
    document["spec"]["source"]["git"]["verify"] = {"mode": "HEAD", "secretFile": str(keys)}
    sandbox = Sandbox(tmp_path)
    try:
        with DaemonProcess(tmp_path, sandbox.kubeconfig, document) as daemon:
            daemon.wait_synced("shop", good)
            commit("red")
            status = daemon.wait_for("shop", "refuses it", lambda status: status["reason"] == "VerificationFailed")
            assert "is not signed; allowed are: alice (SHA256:" in status["error"]
            assert (status["state"], status["applied"]["commit"]) == ("Unknown", good)
            patch = json.dumps({"data": {"colour": "black"}})
            sandbox.kubectl("patch", "configmap", "settings", "-n", "default", "--patch", patch)
            eventually("the drift is corrected", lambda: colour() == "blue")
            daemon.wait_for("shop", "still refuses it", lambda status: status["reason"] == "VerificationFailed")
            daemon.wait_synced("shop", commit("green", "-S"))
            assert colour() == "green"
    finally:
        sandbox.server.stop()


def test_whatever_happens_to_a_repository_is_told_apart_and_the_cluster_is_left_alone(tmp_path: Path) -> None:
    """Five Syncs, each of whose repositories on real servers something else happens to, and all is well again after."""
    root = tmp_path / "repositories"
    root.mkdir()
    names = ("gone", "moved", "emptied", "denied", "impostor")
    sandbox = Sandbox(tmp_path)
    try:
        with nginx(root) as web, sshd() as ssh:
            secret = {"ca.crt": web.authority.text("ca.crt"), "username": USER, "password": PASSWORD}
            secret |= {"identity": ssh.identity, "known_hosts": ssh.known_hosts}
            documents, commits = [], {}
            for name in names:
                repository = Repository(root / f"{name}.git")
                commits[name] = repository.commit({"a.yaml": MAP.replace("settings", name) % "blue"})
                place = {"moved": "old", "denied": "private"}.get(name, "open")
                url = f"{ssh.url}{repository.path}" if name == "impostor" else f"{web.url}/{place}/{name}.git"
                document = sync_document(name, url)
                document["spec"]["source"]["git"]["secretFile"] = write_keys(tmp_path / f"keys-{name}", secret)
                documents.append(document)
            with DaemonProcess(tmp_path, sandbox.kubeconfig, *documents) as daemon:
                for name in names:
                    daemon.wait_synced(name, commits[name])
                (root / "gone.git").rename(root / "away.git")
                web.moved.touch()
                (root / "emptied.git").rename(root / "full.git")
                Repository(root / "emptied.git")
                web.passwords.write_text(passwords("another"))
                write_keys(tmp_path / "keys-impostor", {**secret, "known_hosts": ssh.wrong_hosts})
                expected = {
                    "gone": "RepositoryNotFound", "moved": "RepositoryMoved", "emptied": "RepositoryEmpty",
                    "denied": "AuthenticationRefused", "impostor": "UntrustedServer",
                }  # fmt: skip
                for name, reason in expected.items():
                    daemon.wait_for(name, f"fails with {reason}", partial(has_reason, reason))
                assert sandbox.kubectl.names("configmap", "default") >= set(names)
                assert PASSWORD not in daemon.log.read_text()
                (root / "away.git").rename(root / "gone.git")
                web.moved.unlink()
                shutil.rmtree(root / "emptied.git")
                (root / "full.git").rename(root / "emptied.git")
                web.passwords.write_text(passwords(PASSWORD))
                write_keys(tmp_path / "keys-impostor", secret)
                for name in names:
                    daemon.wait_synced(name, commits[name])
    finally:
        sandbox.server.stop()


def has_reason(reason: str, status: dict[str, Any]) -> bool:
    return bool(status["reason"] == reason)


def test_many_syncs_of_one_repository_ask_and_fetch_as_one(tmp_path: Path, repository: Repository) -> None:
    names = [f"sync-{number}" for number in range(12)]
    files = {f"{name}/a.yaml": MAP.replace("settings", name) % "blue" for name in names}
    first = commit = repository.commit(files)
    (tmp_path / "webhook").write_text("open sesame\n")
    sandbox = Sandbox(tmp_path)
    try:
        with serving(repository.path.parent) as server:
            url = f"{server.url}/{repository.path.name}"
            documents = [sync_document(name, url, path=name, interval="1h") for name in names]
            options = ("--webhook-secret-file", str(tmp_path / "webhook"))
            with DaemonProcess(tmp_path, sandbox.kubeconfig, *documents, options=options) as daemon:
                for name in names:
                    daemon.wait_synced(name, commit)
                # One ls-remote and one fetch; each of them begins with this request.
                assert sum("info/refs" in request for request in server.seen) == 2
                server.seen.clear()
                commit = repository.commit({name: content.replace("blue", "green") for name, content in files.items()})
                assert len(push_event(daemon, url)["triggered"]) == len(names)
                for name in names:
                    daemon.wait_synced(name, commit)
                # Those that were woken after the first had asked already may ask once more.
                assert sum("info/refs" in request for request in server.seen) < len(names)
                # Of a burst of commits the newest alone is applied, and the same call again and again does no harm.
                second, burst = commit, 20
                for number in range(burst):
                    text = f"number-{number}"
                    commit = repository.commit({name: body.replace("blue", text) for name, body in files.items()})
                for _ in range(burst):
                    push_event(daemon, url)
                for name in names:
                    history = daemon.wait_synced(name, commit)["history"]
                    assert {entry["revision"]["commit"] for entry in history} == {first, second, commit}
    finally:
        sandbox.server.stop()


def test_a_private_repository_is_followed_with_a_secret_of_the_cluster_and_at_once_when_its_server_calls(
    tmp_path: Path, cluster: ClusterUnderTest, repository: Repository
) -> None:
    first = repository.commit({"a.yaml": MAP % "blue"})
    (tmp_path / "webhook").write_text("open sesame\n")
    with serving(repository.path.parent, basic="me:new") as server:
        url = f"{server.url}/{repository.path.name}"
        # An hour: whatever happens after the start happens because somebody called.
        document = sync_document("shop", url, interval="1h")
        document["spec"]["source"]["git"]["secretRef"] = {"name": "git"}
        options = ("--webhook-secret-file", str(tmp_path / "webhook"))
        with DaemonProcess(tmp_path, cluster.kubeconfig, document, options=options) as daemon:
            status = daemon.wait_for("shop", "misses its Secret", lambda status: status["error"])
            assert "Secret syncd/git" in status["error"]
            cluster.kubectl("create", "namespace", "syncd")
            cluster.kubectl("apply", "-f", "-", stdin=secret("old"))
            push_event(daemon, url)
            refused = daemon.wait_for("shop", "is refused", lambda status: status["reason"] == "AuthenticationRefused")
            assert "old" not in json.dumps(refused)
            cluster.kubectl("apply", "-f", "-", stdin=secret("new"))
            push_event(daemon, url)
            daemon.wait_synced("shop", first)
            second = repository.commit({"a.yaml": MAP % "green"})
            assert push_event(daemon, url)["triggered"] == ["syncd/shop"]
            daemon.wait_synced("shop", second)
            live = cluster.kubectl.get("configmap", "settings", "default")
            assert live is not None
            assert live["data"] == {"colour": "green"}
            assert "open sesame" not in daemon.log.read_text()
