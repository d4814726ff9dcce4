"""How files become manifests."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pathspec import GitIgnoreSpec
from pydantic import Field, field_validator

from syncd.spec.base import Model

Patterns = Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Field(strict=False)]
"""Lines of a ``.gitignore``."""


RemoteHost = Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?(:[0-9]{1,5})?$")]


class PlainRender(Model):
    """Which files count, by patterns with the rules of `.gitignore`, relative to the path.

    What is left out counts for nothing: neither as a manifest nor as a folder for Kustomize or Helm. A `.syncdignore`
    at the path leaves out more.
    """

    include: Patterns = ()
    """Only what matches one of these counts; without any, everything does."""
    exclude: Patterns = ()
    """What matches one of these does not count, whatever `include` says."""

    @field_validator("include", "exclude")
    @classmethod
    def _patterns(cls, patterns: tuple[str, ...]) -> tuple[str, ...]:
        for pattern in patterns:
            try:
                means_nothing = GitIgnoreSpec.from_lines([pattern]).patterns[0].include is None
            except ValueError:  # as of a lone "!"
                means_nothing = True
            if means_nothing:
                raise ValueError(f"{pattern!r} is not a pattern as in a .gitignore")
        return patterns


class KustomizeRender(Model):
    """Build kustomizations with the real kustomize."""

    remote_hosts: Annotated[tuple[RemoteHost, ...], Field(strict=False)] = ()
    """Hosts, as `github.com` or `git.example.com:8443`, from which remote bases and files may be fetched, over https
    and without credentials; anew every five minutes. Without any, everything must be in the repository."""


class HelmRender(Model):
    """Render the chart at the path with the real Helm, as `helm template` does. Dependencies must be vendored."""

    release_name: str | None = Field(default=None, pattern=r"^[a-z0-9]([-a-z0-9]{0,51}[a-z0-9])?$")
    """The release's name; without it the chart's own."""
    values_files: Annotated[tuple[str, ...], Field(strict=False)] = ()
    """Values files below the path, relative to it; a later one wins over an earlier one."""
    values: dict[str, Any] = Field(default_factory=dict)
    """Values that win over those of all files."""
    include_crds: bool = True
    """Whether the chart's `crds` folder is rendered too."""
    hooks: Literal["Refuse", "Apply", "Omit"] = "Refuse"
    """What becomes of Helm hooks, which syncd does not run: an error, objects like all others, or nothing."""
    kube_version: str = ""
    """The version of Kubernetes that templates see; without it the cluster's."""
    api_versions: Annotated[tuple[str, ...], Field(strict=False)] = ()
    """API versions, such as `monitoring.coreos.com/v1`, that templates see besides those that Helm always knows;
    without any, those that the cluster serves."""

    @field_validator("values_files")
    @classmethod
    def _relative_paths(cls, paths: tuple[str, ...]) -> tuple[str, ...]:
        for path in paths:
            if not path or path.startswith("/") or ".." in path.split("/") or "\x00" in path:
                raise ValueError(f"{path!r} must be a path below the Sync's path, without '..'")
        return paths

    @field_validator("kube_version", "api_versions")
    @classmethod
    def _versions(cls, value: str | tuple[str, ...]) -> str | tuple[str, ...]:
        for text in (value,) if isinstance(value, str) else value:
            if not re.fullmatch(r"[\w./+-]*", text):
                raise ValueError(f"{text!r} is not a version")
        return value


class Render(Model):
    """How files become manifests.

    Every topmost folder with a kustomization file is built with Kustomize, every one with a `Chart.yaml` rendered with
    Helm, and all other manifests are read as they are. With one of these fields, only that renderer is used, and
    Kustomize and Helm then render the path itself; with several, these are used, each folder by its own.
    """

    plain: PlainRender | None = None
    """YAML and JSON files, as they are."""
    kustomize: KustomizeRender | None = None
    """What kustomizations build."""
    helm: HelmRender | None = None
    """What charts render."""

    @property
    def only(self) -> str:
        """The one renderer that is asked for, or "" when folders tell."""
        given = [name for name in ("plain", "kustomize", "helm") if getattr(self, name) is not None]
        return given[0] if len(given) == 1 else ""
