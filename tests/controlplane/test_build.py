"""Building the control plane, as far as it can be told in a moment."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.controlplane.binaries import (
    GO_SOURCES,
    MissingProgramsError,
    cache_folder,
    find_binaries,
    module_version,
    sources_key,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

REPOSITORY = Path(__file__).parents[2]
SECONDS = 60


def run_build(environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.controlplane", "build"],
        cwd=REPOSITORY,
        env=environment,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def only_this_go(folder: Path, says: str) -> dict[str, str]:
    """Return an environment in which go does nothing but say a version."""
    program = folder / "go"
    program.write_text(f"#!/bin/sh\necho 'go version {says}'\n")
    program.chmod(0o755)
    return {"PATH": str(folder), "HOME": str(folder), "XDG_CACHE_HOME": str(folder / "cache")}


def test_no_go_is_told_in_one_line(tmp_path: Path) -> None:
    done = run_build({"PATH": str(tmp_path), "HOME": str(tmp_path)})
    assert done.returncode == 1
    assert done.stderr == "controlplane: Go 1.26 is needed to build the control plane, and there is no go in PATH\n"


@pytest.mark.parametrize("version", ["go1.25.9", "go1.27.0", "go1.27rc1", "devel go1.28-abc"])
def test_a_wrong_go_is_told_in_one_line(tmp_path: Path, version: str) -> None:
    done = run_build(only_this_go(tmp_path, f"{version} linux/amd64"))
    assert done.returncode == 1
    assert re.fullmatch(f"controlplane: Go 1.26 is needed .* says: go version {version} linux/amd64\n", done.stderr)


def test_what_is_built_is_not_built_again(tmp_path: Path) -> None:
    environment = only_this_go(tmp_path, "go1.26.8 linux/amd64")
    built = tmp_path / "cache" / "syncd" / "controlplane" / f"{sources_key()}-go1.26.8-linux-amd64"
    built.mkdir(parents=True)
    part = built / "kube-apiserver"
    part.write_text("#!/bin/sh\necho Kubernetes v0\n")
    part.chmod(0o755)
    done = run_build(environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert "kube-apiserver: Kubernetes v0" in done.stdout


def test_nothing_to_test_with_is_told_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    monkeypatch.setenv("SYNCD_CONTROLPLANE_CACHE", str(tmp_path))
    with pytest.raises(MissingProgramsError, match=r"^no control plane: .*make controlplane.*KUBEBUILDER_ASSETS$"):
        find_binaries()


def test_every_staging_module_has_the_version_of_kubernetes() -> None:
    staging = module_version("k8s.io/kubernetes").replace("v1.", "v0.")
    replaced = re.findall(r"^\s*(k8s\.io/\S+) => (\S+) (\S+)$", (GO_SOURCES / "go.mod").read_text(), re.MULTILINE)
    assert replaced
    assert all(name == target and version == staging for name, target, version in replaced)


def test_a_module_that_is_not_required_has_no_version() -> None:
    with pytest.raises(LookupError, match="does not require"):
        module_version("example.com/none")


def test_the_cache_follows_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SYNCD_CONTROLPLANE_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "syncd" / "controlplane"
    monkeypatch.setenv("SYNCD_CONTROLPLANE_CACHE", str(tmp_path / "own"))
    assert cache_folder() == tmp_path / "own"
