"""How files become manifests."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, field_validator, model_validator

from syncd.spec.base import Model, at_most_one, rules


class PlainRender(Model):
    """Read every YAML and JSON file below the path."""


class KustomizeRender(Model):
    """Build the kustomization at the path with the real kustomize."""


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
    """The version of Kubernetes that templates see; without it the one that Helm was built for."""
    api_versions: Annotated[tuple[str, ...], Field(strict=False)] = ()
    """API versions, such as `monitoring.coreos.com/v1`, that templates see besides the built-in ones."""

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

    Without any of these, every topmost folder with a kustomization file is built with Kustomize, every one with a
    `Chart.yaml` rendered with Helm, and all other manifests are read as they are.
    """

    model_config = ConfigDict(json_schema_extra=rules(at_most_one("plain", "kustomize", "helm")))

    plain: PlainRender | None = None
    """Every YAML and JSON file below the path, as it is."""
    kustomize: KustomizeRender | None = None
    """What the kustomization at the path builds."""
    helm: HelmRender | None = None
    """What the chart at the path renders."""

    @model_validator(mode="after")
    def _at_most_one(self) -> Render:
        given = [name for name in ("plain", "kustomize", "helm") if getattr(self, name) is not None]
        if len(given) > 1:
            raise ValueError(f"give one of plain, kustomize and helm, not {' and '.join(given)}")
        return self
