"""Changes that the Sync itself makes to everything that was rendered."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field, model_validator

from syncd.spec.base import DNS_LABEL, Model, rules

_NAME_PART = r"^[-a-z0-9.]*$"


class Image(Model):
    """What becomes of one image in containers, as in Kustomize."""

    name: str = Field(min_length=1)
    """The image as it is written, without tag and digest."""
    new_name: str = ""
    """The image to take instead."""
    new_tag: str = ""
    """The tag to take instead."""
    digest: str = Field(default="", pattern=r"^([a-z0-9+._-]+:[0-9a-fA-F]{32,})?$")
    """The digest to take instead of any tag."""


class PatchTarget(Model):
    """Which objects a patch is for: those that match all of it. Texts are whole regular expressions."""

    group: str = ""
    """The API group."""
    version: str = ""
    """The version in it."""
    kind: str = ""
    """The kind."""
    namespace: str = ""
    """The namespace, as it was rendered."""
    name: str = ""
    """The name, as it was rendered."""
    label_selector: str = ""
    """Labels, as in `kubectl get -l`."""
    annotation_selector: str = ""
    """Annotations, in the same form."""


class Patch(Model):
    """One patch."""

    patch: str = Field(min_length=1)
    """In YAML or JSON: a strategic merge patch, or a list of JSON patch operations (RFC 6902)."""
    target: PatchTarget | None = None
    """What it is for; without it, a strategic merge patch is for the one object that it names."""


class Overrides(Model):
    """Changes to everything that was rendered, by whatever renderer; made by the real kustomize."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            ("!has(self.images) || self.images.all(i, has(i.newName) || has(i.newTag) || has(i.digest))",
             "an image needs newName, newTag or digest"),
        )
    )  # fmt: skip

    namespace: str = Field(default="", pattern=rf"{DNS_LABEL}|^$")
    """The namespace of every namespaced object, whatever it names; what refers to it follows. Namespaces themselves
    keep their names. (`target.namespace` is for objects that name none.)"""
    name_prefix: str = Field(default="", pattern=_NAME_PART)
    """Put before every name; what refers to the name follows. Not for Namespaces and CustomResourceDefinitions."""
    name_suffix: str = Field(default="", pattern=_NAME_PART)
    """Put after every name, in the same way."""
    labels: dict[str, str] = Field(default_factory=dict)
    """Labels for every object; not for selectors and pod templates, which may be immutable."""
    annotations: dict[str, str] = Field(default_factory=dict)
    """Annotations for every object; not for pod templates, whose pods would restart."""
    images: Annotated[tuple[Image, ...], Field(strict=False)] = ()
    """Images to replace."""
    patches: Annotated[tuple[Patch, ...], Field(strict=False)] = ()
    """Patches, in this order, before everything else."""

    @model_validator(mode="after")
    def _images_change(self) -> Overrides:
        for image in self.images:
            if not (image.new_name or image.new_tag or image.digest):
                raise ValueError("an image needs newName, newTag or digest")
        return self
