"""Three things to try while the demo runs, with commands that can be copied as they are."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from syncd.cli.demo.repositories import Environment


class Experiment(NamedTuple):
    """Something to try."""

    title: str
    commands: tuple[str, ...]
    expect: str
    """What happens then."""


def kubectl() -> Path:
    """Return the kubectl that was installed together with syncd, or else the name of any other."""
    beside = Path(sys.executable).with_name("kubectl")
    return beside if beside.is_file() else Path("kubectl")


def preparation(kubeconfig: Path) -> tuple[str, ...]:
    """Return what to type first in a new terminal; the other commands count on it."""
    return f"cd {shlex.quote(str(Path.cwd()))}", f"export KUBECONFIG={shlex.quote(str(kubeconfig))}"


def experiments(environments: Sequence[Environment]) -> tuple[Experiment, ...]:
    """Return what to try."""
    environment = environments[0]
    clone = shlex.quote(_short(environment.clone))
    kustomization = f"{environment.path}/kustomization.yaml"
    call = f"{shlex.quote(_short(kubectl()))} --namespace {environment.sync}"
    return (
        Experiment(
            "Change a value and commit: release version 1.9.0 to dev",
            (
                f"sed -i.bak 's/newTag: .*/newTag: 1.9.0/' {clone}/{kustomization}",
                f"git -C {clone} commit --quiet --message 'Release 1.9.0 to dev' {kustomization}",
                f"git -C {clone} push --quiet",
                f"{call} get deployments --output wide",
            ),
            "the Deployments web and worker are updated, and nothing else",
        ),
        Experiment(
            "Delete a file and commit: end the load test in dev",
            (
                f"git -C {clone} rm --quiet {environment.path}/load-test.yaml",
                f"sed -i.bak '/load-test.yaml/d' {clone}/{kustomization}",
                f"git -C {clone} commit --quiet --message 'End the load test' --all",
                f"git -C {clone} push --quiet",
            ),
            "the four objects of that file are deleted, and nothing else",
        ),
        Experiment(
            "Edit a live object: scale the worker by hand",
            (
                f"{call} scale deployment worker --replicas 5",
                f"{call} get deployment worker --watch",
            ),
            "at once it has one replica again, and the status page says what was changed",
        ),
    )


def _short(path: Path) -> str:
    """Return a path relative to the working directory where that is shorter."""
    relative = os.path.relpath(path)
    return relative if len(relative) < len(str(path)) else str(path)
