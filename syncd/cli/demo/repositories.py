"""Makes one bare Git repository for each sample environment, with a clone to work in beside it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from syncd import kubeyaml
from syncd.model import Origin, SyncdError

if TYPE_CHECKING:
    from syncd.model import JSONObject

_MARK: Final = ".made-by-syncd-demo"
_SHARED_FOLDERS: Final = ("base", "components")
_GIT_SECONDS: Final = 60
_INTERVAL: Final = "2s"


class DemoError(SyncdError):
    """The demo cannot be set up."""

    reason = "DemoFailed"


class Environment(NamedTuple):
    """One environment of the demo."""

    name: str
    sync: str
    """The name of its Sync."""
    path: str
    """The Sync's path in the repository."""
    repository: Path
    """Bare; what syncd follows."""
    clone: Path
    """Where a person edits, commits and pushes."""


def sample_manifests() -> Path:
    """Return the folder of sample environments: of the sources that this runs from, or installed with the package.

    Raises:
        DemoError: There is neither.
    """
    candidates = (
        Path(__file__).parents[3] / "manifests",
        Path(sysconfig.get_path("data")) / "share" / "syncd" / "manifests",
    )
    for folder in candidates:
        if (folder / "syncs.yaml").is_file():
            return folder
    raise DemoError(f"the sample environments are missing: looked for {' and '.join(map(str, candidates))}")


def prepare_folder(folder: Path) -> None:
    """Make the demo's folder anew: every demo starts with fresh repositories and an empty cluster.

    Raises:
        DemoError: There is something in it that no demo has made.
    """
    if folder.exists():
        if not folder.is_dir() or (any(folder.iterdir()) and not (folder / _MARK).is_file()):
            raise DemoError(f"{folder} holds something that is not a demo of syncd; choose another folder with --dir")
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    (folder / _MARK).touch()


def make_environments(manifests: Path, folder: Path) -> tuple[Environment, ...]:
    """Make a repository and a clone for each Sync of the samples, and ``syncs.yaml`` for all of them.

    Args:
        manifests: The sample environments.
        folder: Where to put everything; made by :func:`prepare_folder`.

    Raises:
        DemoError: Git is missing, or failed.
    """
    source = manifests / "syncs.yaml"
    documents = [item.value for item in kubeyaml.load_all(source.read_bytes(), Origin(path=str(source)))]
    environments = tuple(_environment(document, folder) for document in documents)
    for environment in environments:
        _make_repository(manifests, environment)
    rewritten = [_with_repository(document, made) for document, made in zip(documents, environments, strict=True)]
    (folder / "syncs.yaml").write_text("---\n".join(map(kubeyaml.dump, rewritten)), encoding="utf-8")
    return environments


def _environment(document: JSONObject, folder: Path) -> Environment:
    name = document["spec"]["source"]["git"]["url"].rpartition("/")[2].removesuffix(".git")
    return Environment(
        name=name,
        sync=document["metadata"]["name"],
        path=document["spec"]["path"],
        repository=folder / "repositories" / f"{name}.git",
        clone=folder / name,
    )


def _with_repository(document: JSONObject, environment: Environment) -> JSONObject:
    """Point a Sync at the repository that was made, and let it look often enough for somebody who waits."""
    git = {**document["spec"]["source"]["git"], "url": environment.repository.as_uri()}
    spec = {**document["spec"], "source": {"git": git}, "interval": _INTERVAL}
    return {**document, "spec": spec}


def _make_repository(manifests: Path, environment: Environment) -> None:
    _git("init", "--quiet", "--bare", "--initial-branch=main", str(environment.repository), folder=manifests)
    _git("init", "--quiet", "--initial-branch=main", str(environment.clone), folder=manifests)
    for part in (*_SHARED_FOLDERS, environment.path):
        shutil.copytree(manifests / part, environment.clone / part)
    (environment.clone / ".git" / "info" / "exclude").write_text("*.bak\n")  # what sed leaves behind
    # Of the clone, not of the user: a commit must work where nobody has told Git a name yet.
    _git("config", "user.name", "Demo User", folder=environment.clone)
    _git("config", "user.email", "demo@example.com", folder=environment.clone)
    _git("add", "--all", folder=environment.clone)
    _git("commit", "--quiet", "--message", f"Add the {environment.name} environment", folder=environment.clone)
    _git("remote", "add", "origin", str(environment.repository), folder=environment.clone)
    _git("push", "--quiet", "--set-upstream", "origin", "main", folder=environment.clone)


def _git(*arguments: str, folder: Path) -> None:
    """Run git with nobody's configuration but the repository's own."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    own = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    try:
        done = subprocess.run(
            ["git", *arguments],
            cwd=folder,
            env={**inherited, **own},
            capture_output=True,
            text=True,
            timeout=_GIT_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except FileNotFoundError:
        raise DemoError("git is not installed, or not on PATH") from None
    except subprocess.TimeoutExpired:
        raise DemoError(f"git {arguments[0]} did not end within {_GIT_SECONDS} seconds") from None
    if done.returncode:
        raise DemoError(f"git {arguments[0]} failed: {done.stderr.strip()}")
