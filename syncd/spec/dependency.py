"""What has to be there first."""

from __future__ import annotations

from pydantic import Field

from syncd.spec.base import DNS_LABEL, DNS_SUBDOMAIN, Model


class Dependency(Model):
    """Another Sync, which must be applied and healthy first."""

    name: str = Field(pattern=DNS_SUBDOMAIN, max_length=253)
    """The name of the other Sync."""
    namespace: str = Field(default="", pattern=rf"{DNS_LABEL}|^$", max_length=63)
    """Its namespace; that of this Sync when it is empty."""
