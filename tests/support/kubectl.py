"""kubectl: a client that knows nothing of syncd."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any


class Kubectl:
    """Runs the kubectl of the virtual environment against one cluster."""

    def __init__(self, kubeconfig: Path) -> None:
        self.kubeconfig = kubeconfig
        self._program = shutil.which("kubectl", path=str(Path(sys.executable).parent)) or "kubectl"
        self._environment = {"PATH": os.environ["PATH"], "HOME": str(kubeconfig.parent), "KUBECONFIG": str(kubeconfig)}

    def __call__(self, *arguments: str, stdin: str = "") -> str:
        """Run it, and give what it printed."""
        done = self.try_run(*arguments, stdin=stdin)
        assert done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stderr}"
        return done.stdout

    def with_environment(self, **more: str) -> Kubectl:
        """The same with more environment variables, such as ``KUBE_EDITOR``."""
        other = Kubectl(self.kubeconfig)
        other._environment = {**self._environment, **more}
        return other

    def try_run(self, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Run it, whatever comes of it."""
        return subprocess.run(
            [self._program, *arguments],
            env=self._environment,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def get(self, kind: str, name: str, namespace: str = "") -> dict[str, Any] | None:
        """One object, or None."""
        place = ["-n", namespace] if namespace else []
        text = self("get", kind, name, *place, "-o", "json", "--ignore-not-found", "--show-managed-fields")
        return json.loads(text) if text.strip() else None

    def names(self, kind: str, namespace: str = "", selector: str = "") -> set[str]:
        """The names of all objects of a kind."""
        place = ["-n", namespace] if namespace else ["-A"]
        text = (
            self("get", kind, *place, "-l", selector, "-o", "json")
            if selector
            else self("get", kind, *place, "-o", "json")
        )
        return {item["metadata"]["name"] for item in json.loads(text)["items"]}
