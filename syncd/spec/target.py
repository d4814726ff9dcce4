"""Where objects go."""

from __future__ import annotations

from pydantic import ConfigDict, Field, model_validator

from syncd.spec.base import DNS_LABEL, Model, rules


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

    @model_validator(mode="after")
    def _namespace_to_create(self) -> Target:
        if self.create_namespace and not self.namespace:
            raise ValueError("createNamespace needs a namespace")
        return self
