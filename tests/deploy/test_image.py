"""The image, as far as that goes where no engine can build one: the scripts of its Dockerfile are run and tried out."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.support.clusters import Sandbox
from tests.support.daemon import DaemonProcess, sync_document
from tests.support.kubectl import Kubectl

ROOT = Path(__file__).parents[2]
IMAGE = ROOT / "deploy" / "image"
DOCKERFILE = (ROOT / "Dockerfile").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
SECONDS = 1800
"""For a script that downloads and compiles, on a machine that does other things as well."""


def locked(name: str) -> dict[str, str]:
    """Read the versions in a file of locked packages."""
    return dict(re.findall(r"^([\w.-]+)==(\S+)", (IMAGE / name).read_text(), re.MULTILINE))


@pytest.mark.parametrize(
    ("file", "requirements"),
    [
        ("requirements.txt", PROJECT["project"]["dependencies"]),
        ("requirements-build.txt", PROJECT["build-system"]["requires"]),
    ],
)
def test_the_image_gets_every_dependency_in_a_version_that_syncd_allows(file: str, requirements: list[str]) -> None:
    versions = locked(file)
    for requirement in map(Requirement, requirements):
        version = versions.get(re.sub(r"[-_.]+", "-", requirement.name).lower())
        assert version, f"run: make lock ({requirement.name} is not in {file})"
        assert version in requirement.specifier, f"run: make lock ({requirement.name} in {file})"


def test_everything_that_goes_into_the_image_is_named_by_its_digest() -> None:
    bases = re.findall(r"^ARG \w+_IMAGE=(\S+)", DOCKERFILE, re.MULTILINE)
    assert all(re.fullmatch(r"\w+:[\w.-]+@sha256:[0-9a-f]{64}", base) for base in bases)
    used = re.findall(r"^FROM (?:--platform=\S+ )?(\S+)", DOCKERFILE, re.MULTILINE)
    assert {name.strip("${}") for name in used} == set(re.findall(r"^ARG (\w+_IMAGE)=", DOCKERFILE, re.MULTILINE))
    for file in IMAGE.glob("requirements*.txt"):
        entries = re.split(r"\n(?=[\w.-]+==)", file.read_text())[1:]
        assert all("--hash=sha256:" in entry for entry in entries)


def test_what_is_copied_into_the_image_is_sent_to_the_builder() -> None:
    sent = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, re.MULTILINE)
    for path in (path for line in copied for path in line.split()):
        assert (ROOT / path).exists()
        assert any(path == known or path.startswith(f"{known}/") for known in sent), path


def test_hadolint_finds_nothing_wrong() -> None:
    hadolint = Path(sys.executable).with_name("hadolint")
    done = subprocess.run([hadolint, ROOT / "Dockerfile"], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_image_does_not_run_as_root() -> None:
    (user,) = re.findall(r"^USER (\d+):\d+$", DOCKERFILE, re.MULTILINE)
    assert int(user) > 0
    assert f"useradd --uid {user} " in DOCKERFILE


@pytest.mark.skipif(not shutil.which("apt-get"), reason="the image is made of Debian, and this is another system")
@pytest.mark.timeout(SECONDS)
def test_debian_has_the_packages_of_the_image() -> None:
    run(IMAGE / "install-packages.sh", "--simulate")


def test_a_folder_renders_alike_in_the_image_and_with_kubectl(tmp_path: Path) -> None:
    kubectl = json.loads(Kubectl(tmp_path / "none")("version", "--client", "--output=json"))
    assert f"kustomize/v5 {kubectl['kustomizeVersion']} " in (IMAGE / "tools" / "kustomize" / "go.mod").read_text()


@pytest.mark.slow
@pytest.mark.timeout(SECONDS)
def test_the_programs_that_render_are_built_from_pinned_sources(tmp_path: Path) -> None:
    if not shutil.which("go"):
        (pytest.fail if os.environ.get("CI") else pytest.skip)("needs Go, which builds them")
    copy_stage("tools", tmp_path)
    run(tmp_path / "build" / "build-tools.sh", tmp_path)
    said = {
        "kustomize": run(tmp_path / "kustomize", "version"),
        "helm": run(tmp_path / "helm", "version", "--short"),
        "sops": run(tmp_path / "sops", "--version", "--disable-version-check"),
    }
    for name, words in said.items():
        pinned = re.search(rf"^\t\S*/{name}/v\d+ (v\S+)", (IMAGE / "tools" / name / "go.mod").read_text(), re.MULTILINE)
        assert pinned
        assert pinned[1].removeprefix("v") in re.findall(r"\d+\.\d+\.\d+", words), words


@pytest.mark.slow
@pytest.mark.timeout(SECONDS)
def test_syncd_runs_from_where_the_image_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy_stage("syncd", tmp_path)
    run(tmp_path / "build" / "install-syncd.sh", tmp_path / "build" / "sources", tmp_path / "opt")
    bin_folder = tmp_path / "opt" / "bin"
    assert not (bin_folder / "pip").exists()
    compiled = list((tmp_path / "opt" / "lib").rglob("*.pyc"))
    assert len(compiled) >= len(list((tmp_path / "opt" / "lib").rglob("*.py")))
    assert {file.read_bytes()[4:8] for file in compiled} == {b"\1\0\0\0"}, "valid whatever the times of the files are"
    frozen = run(sys.executable, "-m", "pip", "--python", bin_folder / "python", "freeze").lower().replace("_", "-")
    assert dict(re.findall(r"^([\w.-]+)==(\S+)", frozen, re.MULTILINE)).items() <= locked("requirements.txt").items()
    # The demo takes what belongs to the package but is no code: schemas, tables, sample environments.
    summary = run(bin_folder / "syncd", "demo", "--once", "--port", "0", "--dir", tmp_path / "demo")
    assert "shop-prod" in summary
    # And the daemon its pages, as the container starts it.
    monkeypatch.delenv("PYTHONPATH", raising=False)
    sandbox = Sandbox(tmp_path)
    sync = sync_document("shop", f"file://{tmp_path}/demo/repositories/prod.git", path="overlays/prod")
    with DaemonProcess(tmp_path, sandbox.kubeconfig, sync, program=[str(bin_folder / "syncd")]) as daemon:
        daemon.wait_for("shop", "applied", lambda status: status["state"] == "Synced")
        page = daemon.get("/")
        assert all(daemon.get(f"/{path}") for path in re.findall(r'"(static/[^"]+)"', page))
        assert daemon.get("/readyz") == "ok\n"
        assert daemon.stop() == 0
    sandbox.server.stop()


def copy_stage(name: str, folder: Path) -> None:
    """Copy what the Dockerfile copies into one of its stages."""
    steps = re.search(rf"^FROM .* AS {name}$(.*?)^FROM ", DOCKERFILE, re.MULTILINE | re.DOTALL)
    assert steps
    for line in re.findall(r"^COPY (.+)$", steps[1], re.MULTILINE):
        *sources, target = line.split()
        for source in (ROOT / path for path in sources):
            place = folder / target.strip("/")
            if source.is_dir():
                shutil.copytree(source, place, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                place.mkdir(parents=True, exist_ok=True)
                shutil.copy(source, place)


def run(program: Path | str, *arguments: object) -> str:
    """Run a program with nothing of the sources' Python environment but its kubectl, whose kustomize the demo needs."""
    path = f"{Path(program).parent}:{os.environ['PATH']}"
    environment = {key: os.environ[key] for key in ("HOME", "GOPROXY", "GOCACHE", "GOMODCACHE") if key in os.environ}
    done = subprocess.run(
        [str(program), *map(str, arguments)],
        env={**environment, "PATH": path},
        cwd="/",
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
