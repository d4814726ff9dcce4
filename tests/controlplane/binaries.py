"""Which programs there are, their versions, and where they lie."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

GO_SOURCES = Path(__file__).parent / "go"
"""The Go modules that the programs are built from."""

MULTI_CALL_PARTS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
"""The parts that live in one binary; the name it is called by tells it which one to be."""

PARTS = (*MULTI_CALL_PARTS, "kwok")
"""All parts, in the order in which they start."""

KWOK_STAGES = "kwok-stages.yaml"
"""What kwok does to Nodes and Pods; without it, kwok ends at once."""

_VERSION_SECONDS = 30
_SOURCE_SUFFIXES = {".go", ".mod", ".sum", ".py"}


class MissingProgramsError(Exception):
    """There are no programs to run; the message is one line that says how to get them."""


@dataclass(frozen=True)
class Binaries:
    """A folder of programs.

    Attributes:
        folder: Holds one executable for each part, named after it.
        origin: Why this folder: for messages.
    """

    folder: Path
    origin: str

    def path(self, part: str) -> Path:
        """Return where the part's executable lies, or would lie."""
        return self.folder / part

    @property
    def stages(self) -> Path:
        """The stages file for kwok."""
        return self.folder / KWOK_STAGES

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts that can run from this folder: in one made by setup-envtest, that is etcd and kube-apiserver."""
        found = (part for part in PARTS if os.access(self.path(part), os.X_OK))
        return tuple(part for part in found if part != "kwok" or self.stages.is_file())

    @property
    def missing(self) -> tuple[str, ...]:
        """The parts that cannot run from this folder."""
        return tuple(part for part in PARTS if part not in self.parts)

    def versions(self) -> dict[str, str]:
        """Ask each program for its version, because only its own word proves which one runs."""
        return {part: self._version(part) for part in self.parts}

    def _version(self, part: str) -> str:
        answer = subprocess.run(
            [self.path(part), "--version"], capture_output=True, text=True, timeout=_VERSION_SECONDS, check=True
        )
        return answer.stdout.splitlines()[0].strip()


def module_version(name: str, go_mod: Path = GO_SOURCES / "go.mod") -> str:
    """Return the version that a go.mod requires of a module: the only place where versions are written."""
    found = re.search(rf"^(?:require)?\s*{re.escape(name)} (v\S+)", go_mod.read_text(), re.MULTILINE)
    if found is None:
        raise LookupError(f"{go_mod} does not require {name}")
    return found[1]


def sources_key() -> str:
    """Return a short hash of everything in this repository that the programs are made from."""
    digest = hashlib.sha256()
    build_recipe = Path(__file__).with_name("build.py")
    for path in (*sorted(GO_SOURCES.rglob("*")), build_recipe):
        if path.suffix in _SOURCE_SUFFIXES:
            content = path.read_bytes()
            digest.update(f"{path.relative_to(build_recipe.parent).as_posix()} {len(content)}\n".encode())
            digest.update(content)
    return digest.hexdigest()[:16]


def cache_folder() -> Path:
    """Return the folder outside the repository in which built programs are kept, one folder for each key."""
    if own := os.environ.get("SYNCD_CONTROLPLANE_CACHE"):
        return Path(own).expanduser().absolute()
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser().absolute() / "syncd" / "controlplane"


def find_binaries() -> Binaries:
    """Return the programs to test with: the ones that KUBEBUILDER_ASSETS names, or else the built ones.

    Built ones are found without Go: a machine that only runs tests may have a cache that another one filled.

    Raises:
        MissingProgramsError: There are neither.
    """
    if assets := os.environ.get("KUBEBUILDER_ASSETS"):
        binaries = Binaries(Path(assets).expanduser().absolute(), "KUBEBUILDER_ASSETS")
        if lacking := {"etcd", "kube-apiserver"}.difference(binaries.parts):
            lacks = " and no ".join(sorted(lacking))
            raise MissingProgramsError(f"KUBEBUILDER_ASSETS={assets} has no executable {lacks}")
        return binaries
    built = sorted(cache_folder().glob(f"{sources_key()}-*/kube-apiserver"), key=lambda path: path.lstat().st_mtime)
    if not built:
        raise MissingProgramsError(
            "no control plane: it is neither built (run: make controlplane) nor named by KUBEBUILDER_ASSETS"
        )
    return Binaries(built[-1].parent, "built from tests/controlplane/go")
