"""Builds the programs of the control plane into a cache outside the repository."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tests.controlplane.binaries import (
    GO_SOURCES,
    KWOK_STAGES,
    MULTI_CALL_PARTS,
    Binaries,
    cache_folder,
    module_version,
    sources_key,
)
from tests.controlplane.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_GO_RELEASE = (1, 26)
_BUILD_SECONDS = 3600
_STAGE_FOLDERS = ("node/fast", "node/heartbeat-with-lease", "pod/fast")
_VERSION_PACKAGES = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")


class BuildError(Exception):
    """The programs cannot be built; the message is for the person who asked."""


def build() -> Binaries:
    """Build what is not built yet, and return where it lies.

    Raises:
        BuildError: Go is missing or wrong, or the build failed.
    """
    version = _go_version()
    cache = cache_folder()
    target = cache / f"{sources_key()}-{version}"
    built = Binaries(target, "built from tests/controlplane/go")
    if target.is_dir():
        return built
    cache.mkdir(parents=True, exist_ok=True)
    with _lock(cache / f"{target.name}.lock"):
        if not target.is_dir():
            _build_into(target, version)
    return built


def _go_version() -> str:
    """Return the version and platform of the Go that is there, such as "go1.26.8-linux-amd64"."""
    wanted = ".".join(map(str, _GO_RELEASE))
    try:
        said = _go(["version"], GO_SOURCES, seconds=60).strip()
    except FileNotFoundError:
        raise BuildError(f"Go {wanted} is needed to build the control plane, and there is no go in PATH") from None
    found = re.search(r"\bgo(\d+)\.(\d+)(\S*) (\w+)/(\w+)$", said)
    if found is None or (int(found[1]), int(found[2])) != _GO_RELEASE:
        # 1.27 breaks the OpenAPI documents of this Kubernetes; older ones refuse its go.mod.
        raise BuildError(f"Go {wanted} is needed to build the control plane, and the go in PATH says: {said}")
    return f"go{found[1]}.{found[2]}{found[3]}-{found[4]}-{found[5]}"


def _go(arguments: Sequence[str], folder: Path, *, seconds: float = _BUILD_SECONDS, shown: bool = False) -> str:
    """Run go; nothing but the committed files and the installed Go may decide what comes out.

    Args:
        arguments: What follows "go".
        folder: The module to run in.
        seconds: The deadline.
        shown: Let what go says on its error output through, as a long build must show that it lives.
    """
    environment = {**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOWORK": "off"}
    done = subprocess.run(
        ["go", *arguments],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=None if shown else subprocess.PIPE,
        text=True,
        timeout=seconds,
        check=False,
    )
    if done.returncode:
        last_words = (done.stderr or "see above").strip()
        raise BuildError(f"go {arguments[0]} failed in {folder}: {last_words}")
    return done.stdout


@contextlib.contextmanager
def _lock(path: Path) -> Iterator[None]:
    """Hold a file lock, so that of two builds at once one waits for the other; it ends with its process."""
    with path.open("w") as file:
        if not _try_lock(file.fileno()):
            _say("another build is running: waiting for it")
            what = f"the build that holds {path}"
            wait_for(what, lambda: _try_lock(file.fileno()), seconds=_BUILD_SECONDS, every=0.5)
        yield


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _build_into(target: Path, go_version: str) -> None:
    """Build in a folder beside the target and rename it, so that a target is whole or absent; the lock must be held."""
    prefix = f".{target.name}-"
    for left_by_a_killed_build in target.parent.glob(f"{prefix}*"):
        shutil.rmtree(left_by_a_killed_build, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=prefix, dir=target.parent, ignore_cleanup_errors=True) as temporary:
        folder = Path(temporary) / target.name
        folder.mkdir()
        started = time.monotonic()
        _say(f"building etcd and Kubernetes with {go_version} (some six minutes on two cores when nothing is cached)")
        _compile(GO_SOURCES, ".", folder / "controlplane", _kubernetes_link_flags())
        for part in MULTI_CALL_PARTS:
            (folder / part).symlink_to("controlplane")
        _say("building kwok (some two minutes)")
        _compile(GO_SOURCES / "kwok", "sigs.k8s.io/kwok/cmd/kwok", folder / "kwok", [])
        (folder / KWOK_STAGES).write_text(_kwok_stages())
        folder.rename(target)
        _say(f"built in {time.monotonic() - started:.0f} seconds: {target}")


def _compile(folder: Path, package: str, output: Path, link_flags: Sequence[str]) -> None:
    flags = ["-trimpath", "-mod=readonly", "-buildvcs=false", "-ldflags", " ".join(["-s", "-w", *link_flags])]
    _go(["build", *flags, "-o", str(output), package], folder, shown=True)


def _kubernetes_link_flags() -> list[str]:
    """Return the flags that give Kubernetes its true version.

    Without them it calls itself v0.0.0-master, and clients and features that look at the version misbehave.
    """
    version = module_version("k8s.io/kubernetes")
    major, minor = version.removeprefix("v").split(".")[:2]
    downloaded = json.loads(_go(["mod", "download", "-json", "k8s.io/kubernetes"], GO_SOURCES))
    released = json.loads(Path(downloaded["Info"]).read_text())["Time"]
    values = {
        "gitVersion": version,
        "gitMajor": major,
        "gitMinor": minor,
        "gitTreeState": "clean",
        "gitCommit": "",  # a published module does not tell its commit
        "buildDate": released,
    }
    return [f"-X {package}.{name}={value}" for package in _VERSION_PACKAGES for name, value in values.items()]


def _kwok_stages() -> str:
    """Join the stages that come with kwok, out of its own module."""
    module = Path(_go(["list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kwok"], GO_SOURCES / "kwok").strip())
    files = [
        path
        for folder in _STAGE_FOLDERS
        for path in sorted((module / "kustomize" / "stage" / folder).glob("*.yaml"))
        if path.name != "kustomization.yaml"
    ]
    if not files:
        raise BuildError(f"kwok's module at {module} has no stages where they are expected")
    return "---\n".join(path.read_text().rstrip() + "\n" for path in files)


def _say(message: str) -> None:
    sys.stderr.write(f"controlplane: {message}\n")
    sys.stderr.flush()
