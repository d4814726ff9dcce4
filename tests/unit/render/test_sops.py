from __future__ import annotations

import base64
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from syncd.cli.main import cli
from syncd.model import SyncdError
from syncd.render import Renderer, Surroundings, versions, workspace
from syncd.render.errors import DecryptionFailedError, InvalidInputsError, RenderFailedError
from syncd.render.sops import encryption
from syncd.render.tools import Tools
from tests.unit.render.test_helm import CHART, needs_helm
from tests.unit.render.test_plain import config_map
from tests.unit.render.test_substitute import Shelf

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.unit.render.conftest import Bench


def sops_program() -> str:
    try:
        return Tools().find("sops").program
    except SyncdError:
        return ""


needs_sops = pytest.mark.skipif(
    not (sops_program() and shutil.which("age-keygen") and shutil.which("gpg")) and not os.environ.get("CI"),
    reason="needs age-keygen and gpg, and sops on PATH or by `deploy/image/build-tools.sh .venv/bin helm sops`",
)

pytestmark = needs_sops

SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {password: hunter2, count: '3'}\n"
DECRYPTION = {"provider": "sops", "secretRef": {"name": "keys"}}
SOME = "--encrypted-regex=^(stringData)$"
UTF8 = {"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"}


class Safe:
    """Keys made for one test, and what is encrypted for them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()

    def age(self, name: str = "age") -> str:
        """Make a key pair, and give the public half; the private one is in ``name.agekey``."""
        made = subprocess.run(["age-keygen", "-o", self.folder / f"{name}.agekey"], capture_output=True, check=True)
        return made.stderr.decode().rpartition(" ")[2].strip()

    def encrypt(self, data: str | bytes, *arguments: str, style: str = "yaml") -> bytes:
        file = self.folder / "plain"
        file.write_bytes(data if isinstance(data, bytes) else data.encode())
        command = [
            sops_program(),
            "--encrypt",
            *arguments,
            f"--input-type={style}",
            f"--output-type={style}",
            str(file),
        ]
        environment = {**UTF8, "HOME": str(self.folder), "GNUPGHOME": str(self.folder / "gnupg")}
        return subprocess.run(command, capture_output=True, check=True, env=environment).stdout

    def read(self, namespace: str, name: str) -> dict[str, bytes]:
        assert (namespace, name) == ("team", "keys")
        return {file.name: file.read_bytes() for file in self.folder.iterdir() if file.suffix in (".agekey", ".asc")}


@pytest.fixture
def safe(tmp_path: Path, bench: Bench) -> Safe:
    safe = Safe(tmp_path / "safe")
    bench.renderer = Renderer(surroundings=Surroundings(secrets=safe))
    return safe


def rendered(bench: Bench, **fields: Any) -> dict[str, dict[str, Any]]:
    manifests = bench.render(bench.sync(decryption=DECRYPTION, **fields))
    return {manifest.key.name.split("-")[0]: manifest.body for manifest in manifests}


def test_whole_files_of_every_kind_are_decrypted_also_those_that_generators_read(bench: Bench, safe: Safe) -> None:
    to = f"--age={safe.age()}"
    bench.repo.commit({
        "plain/a.yaml": safe.encrypt(f"{SECRET}---\n{config_map('both')}data: {{x: inner}}\n", to),
        "plain/some.yaml": safe.encrypt(SECRET.replace("name: s", "name: some"), to, SOME),
        "plain/b.json": safe.encrypt('{"apiVersion":"v1","kind":"Secret","metadata":{"name":"j"}}', to, style="json"),
        "plain/c.yaml": config_map("c"),
        "k/kustomization.yaml": "secretGenerator:\n- {name: env, envs: [keys.env]}\n- name: files\n"
        "  files: [app.ini, x.bin, key.pem, values.json]\nresources: [s.yaml]\npatches: [{path: p.yaml}]\n",
        "k/keys.env": safe.encrypt("TOKEN=t0ken=x\n# note\n", to, style="dotenv"),
        "k/app.ini": safe.encrypt("[db]\npassword = deep\n", to, style="ini"),
        "k/x.bin": safe.encrypt(b"\x00\xff\x01bytes", to, style="binary"),
        "k/key.pem": safe.encrypt("-----BEGIN X-----\nabc\n", to, style="binary"),
        "k/values.json": safe.encrypt('{"a": "b"}', to, style="json"),
        "k/s.yaml": safe.encrypt(SECRET.replace("name: s", "name: k"), to),
        "k/p.yaml": safe.encrypt(SECRET.replace("name: s", "name: k").replace("hunter2", "patched"), to),
    })  # fmt: skip
    found = rendered(bench)
    assert found["s"]["stringData"] == {"password": "hunter2", "count": "3"}
    assert found["some"]["stringData"]["password"] == "hunter2"
    assert found["both"]["data"] == {"x": "inner"}
    assert found["k"]["stringData"]["password"] == "patched"
    assert not [body for body in found.values() if "sops" in body]
    data = {name: base64.b64decode(value) for name, value in {**found["env"]["data"], **found["files"]["data"]}.items()}
    assert data["TOKEN"] == b"t0ken=x"
    assert b"deep" in data["app.ini"]
    assert data["x.bin"] == b"\x00\xff\x01bytes"
    assert data["key.pem"] == b"-----BEGIN X-----\nabc\n"
    assert data["values.json"].split() == [b"{", b'"a":', b'"b"', b"}"]


def test_origins_and_the_cache_are_those_of_the_encrypted_files(bench: Bench, safe: Safe) -> None:
    bench.repo.commit({"a/s.yaml": safe.encrypt(SECRET, f"--age={safe.age()}")})
    spec = bench.sync(decryption=DECRYPTION)
    first = bench.render(spec)
    assert str(first[0].origin).endswith("a/s.yaml, document 1, line 1")
    assert bench.render(spec) is first
    (safe.folder / "age.agekey").unlink()
    safe.age("other")
    with pytest.raises(DecryptionFailedError, match=r"a/s\.yaml: no key in the Secret team/keys decrypts it"):
        bench.render(spec)


@pytest.fixture
def gnupg(safe: Safe) -> Iterator[list[str]]:
    """The gpg command with a home of its own, in which there is one key; its agent ends with the test."""
    home = safe.folder / "gnupg"
    home.mkdir(mode=0o700)
    command = ["gpg", "--homedir", str(home), "--batch", "--quiet"]
    key = ["--passphrase", "", "--quick-gen-key", "a@example.com", "default", "default", "never"]
    try:
        subprocess.run([*command, *key], check=True, capture_output=True, env=UTF8)
        yield command
    finally:
        subprocess.run(["gpgconf", "--homedir", str(home), "--kill", "all"], check=True, env=UTF8)


def test_openpgp_keys_work_too(bench: Bench, safe: Safe, gnupg: list[str]) -> None:
    listed = subprocess.run([*gnupg, "--with-colons", "--list-keys"], check=True, capture_output=True, env=UTF8).stdout
    fingerprint = next(line for line in listed.decode().splitlines() if line.startswith("fpr")).split(":")[9]
    armored = subprocess.run([*gnupg, "--armor", "--export-secret-keys"], check=True, capture_output=True, env=UTF8)
    (safe.folder / "gpg.asc").write_bytes(armored.stdout)
    bench.repo.commit({"s.yaml": safe.encrypt(SECRET, f"--pgp={fingerprint}")})
    assert rendered(bench)["s"]["stringData"]["password"] == "hunter2"


def test_what_is_encrypted_is_refused_where_nothing_decrypts_it(bench: Bench, safe: Safe) -> None:
    to = f"--age={safe.age()}"
    bench.repo.commit({
        "a.yaml": safe.encrypt(SECRET, to, SOME),
        "k/kustomization.yaml": "secretGenerator:\n- {name: env, envs: [keys.env]}\n- {name: f, files: [x.json]}\n",
        "k/keys.env": safe.encrypt("TOKEN=x\n", to, style="dotenv"),
        "k/x.json": safe.encrypt('{"a": "b"}', to, style="json"),
    })  # fmt: skip
    with pytest.raises(InvalidInputsError) as caught:
        bench.render()
    assert len(caught.value.problems) == 3
    assert all("encrypted with SOPS, and the Sync has no spec.decryption" in text for text in caught.value.problems)
    assert "a.yaml, document 1" in caught.value.problems[0]


@needs_helm
def test_values_of_charts_are_decrypted_and_errors_hold_nothing_of_them(bench: Bench, safe: Safe) -> None:
    values = safe.encrypt("color: hunter2\nsize: big\n", f"--age={safe.age()}")
    bench.repo.commit({**CHART, "values.yaml": values})
    assert rendered(bench)["web"]["data"]["color"] == "hunter2"
    bench.repo.commit({"templates/b.yaml": '{{ fail (printf "bad color %s" .Values.color) }}'})
    with pytest.raises(RenderFailedError, match=r"bad color \*\*\*") as caught:
        rendered(bench)
    assert "hunter2" not in str(caught.value)


def test_a_file_that_was_changed_after_encryption_is_refused(bench: Bench, safe: Safe) -> None:
    to = f"--age={safe.age()}"
    changed = safe.encrypt(SECRET, to, SOME).replace(b"name: s", b"name: t")
    one_by_one = safe.encrypt(SECRET, to) + b"---\n" + config_map("plain").encode()
    for data in (changed, one_by_one):
        bench.repo.commit({"s.yaml": data})
        with pytest.raises(DecryptionFailedError, match=r"s\.yaml: sops: it was changed after"):
            rendered(bench)


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ({"identity": b"x"}, "the Secret team/keys has no key that ends in"),
        ({"a.asc": b"not armored"}, "a.asc in the Secret team/keys is no armored"),
    ],
)
def test_a_secret_without_usable_keys_is_named(bench: Bench, keys: dict[str, bytes], problem: str) -> None:
    bench.repo.commit({"a.yaml": config_map("a")})
    bench.renderer = Renderer(surroundings=Surroundings(secrets=Shelf(keys=keys)))
    with pytest.raises(DecryptionFailedError, match=problem):
        rendered(bench)


def test_a_document_that_only_speaks_of_encryption_is_not_encrypted() -> None:
    assert encryption("README.md", b"write `sops: {mac: ENC[AES256_GCM,...]}`") == ""
    assert encryption("a.yaml", b"sops: {mac: 1}\ntext: ENC[AES256_GCM,x]\n") == ""
    assert encryption("a.yaml", b"a: [ENC[AES256_GCM,\n") == ""


def test_its_version_is_told_without_asking_the_network() -> None:
    assert "sops" in versions()
    assert versions()["sops"].endswith(f"({sops_program()})")


def test_decrypted_secrets_are_printed_on_demand_only(bench: Bench, safe: Safe, tmp_path: Path) -> None:
    bench.repo.commit({"s.yaml": safe.encrypt(SECRET, f"--age={safe.age()}")})
    spec = {"source": {"git": {"url": bench.repo.url}}, "decryption": {"secretFile": str(safe.folder)}}
    document = {"apiVersion": "syncd.dev/v1alpha1", "kind": "Sync", "metadata": {"name": "a"}, "spec": spec}
    (tmp_path / "sync.json").write_text(json.dumps(document))
    command = ["render", "--config", str(tmp_path / "sync.json"), "--data-dir", str(tmp_path / "data")]
    hidden = CliRunner().invoke(cli, command)
    assert hidden.exit_code == 0, hidden.output
    assert "***" in hidden.output
    assert "hunter2" not in hidden.output
    assert "password: hunter2" in CliRunner().invoke(cli, [*command, "--show-secrets"]).output


def test_nothing_decrypted_outlives_a_killed_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    script = "import os; from syncd.render.workspace import private_folders\nwith private_folders(): os._exit(1)"
    subprocess.run([sys.executable, "-c", script], check=False, env={**os.environ, "TMPDIR": str(tmp_path)})
    (left,) = tmp_path.iterdir()
    assert stat.S_IMODE(left.stat().st_mode) == 0o700
    monkeypatch.setattr(workspace, "_SETTLED_SECONDS", -1.0)
    with workspace.private_folders() as used:
        workspace.remove_left_over()
        assert [used.files.parent] == list(tmp_path.iterdir())
