"""Service."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.health.fields import dicts, text
from syncd.health.status import HealthStatus, healthy, progressing

if TYPE_CHECKING:
    from syncd.model import JSONObject


def assess(obj: JSONObject) -> HealthStatus:
    """A load balancer is ready when it has an address (kapp's rule); other types when they are there."""
    if text(obj, "spec", "type") != "LoadBalancer":
        return healthy()
    addresses = [text(item, "ip") or text(item, "hostname") for item in dicts(obj, "status", "loadBalancer", "ingress")]
    if not addresses:
        return progressing("its load balancer has no address yet")
    return healthy(", ".join(addresses))
