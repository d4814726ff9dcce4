"""Which form of answer a client accepts."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from syncd.sandbox import errors

JSON = "application/json"
YAML = "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
_SERVED = (JSON, YAML)
_TRANSFORMS = ("Table", "PartialObjectMetadata", "PartialObjectMetadataList")
_TRANSFORM_VERSIONS = ("v1", "v1beta1")


class Form(NamedTuple):
    """A form that an answer can take."""

    media_type: str = JSON
    transform: str = ""
    """``Table``, ``PartialObjectMetadata``, ``PartialObjectMetadataList``, ``APIGroupDiscoveryList`` or ""."""
    version: str = ""
    """The version of the transformed kind."""


def accepted(header: str, transforms: tuple[str, ...] = _TRANSFORMS) -> Form:
    """The first form of an Accept header that can be made.

    Raises:
        StatusError: 406, none can.
    """
    form = _accepted(header, transforms)
    if form is None:
        raise errors.not_acceptable((*_SERVED, f"{JSON};stream=watch"))
    return form


@lru_cache(maxsize=256)
def _accepted(header: str, transforms: tuple[str, ...]) -> Form | None:
    if not header:
        return Form()
    for clause in header.split(","):
        media_type, *parameters = (part.strip() for part in clause.split(";"))
        if media_type in ("*/*", "application/*"):
            media_type = JSON
        if media_type not in _SERVED:
            continue
        values = dict(parameter.partition("=")[::2] for parameter in parameters)
        transform, version = values.get("as", ""), values.get("v", "")
        if not transform:
            return Form(media_type)
        if transform in transforms and (version in _TRANSFORM_VERSIONS or transform not in _TRANSFORMS):
            return Form(media_type, transform, version)
    return None
