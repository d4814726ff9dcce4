"""Where objects go, and which may."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Annotated

from pydantic import ConfigDict, Field, model_validator

from syncd.spec.base import DNS_LABEL, Model, rules

Namespace = Annotated[str, Field(pattern=r"^[-a-z0-9*?\[\]!]+$")]
Kind = Annotated[str, Field(pattern=r"^([-a-z0-9.*?\[\]!]+/)?[A-Za-z0-9*?\[\]!-]+$")]


class Target(Model):
    """Where objects go that name no namespace."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            (
                "!has(self.createNamespace) || !self.createNamespace || has(self.namespace) && self.namespace != ''",
                "createNamespace needs a namespace",
            )
        )
    )

    namespace: str = Field(default="", pattern=rf"{DNS_LABEL}|^$")
    """The namespace of objects that name none."""
    create_namespace: bool = False
    """Create that namespace when it is missing."""
    allowed_namespaces: Annotated[tuple[Namespace, ...], Field(strict=False)] = ()
    """The only namespaces that objects may be in, by name or glob such as `shop-*`; a Namespace counts as being in
    itself. Objects in no namespace are then refused, unless `allowedKinds` allows their kind. A manifest outside
    refuses its whole revision."""
    allowed_kinds: Annotated[tuple[Kind, ...], Field(strict=False)] = ()
    """The only kinds that may be applied, such as `ConfigMap`, `apps/Deployment`, `core/Secret` (the group without a
    name) or `networking.k8s.io/*`. A manifest outside refuses its whole revision."""

    @property
    def is_allowed(self) -> bool:
        """Whether the namespace of objects that name none is one that they may be in."""
        allowed = self.allowed_namespaces
        return not self.namespace or not allowed or any(fnmatchcase(self.namespace, pattern) for pattern in allowed)

    @model_validator(mode="after")
    def _namespace_to_create(self) -> Target:
        if self.create_namespace and not self.namespace:
            raise ValueError("createNamespace needs a namespace")
        if not self.is_allowed:
            raise ValueError(f"namespace {self.namespace!r} is not in allowedNamespaces")
        return self
