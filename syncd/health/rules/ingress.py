"""Ingress."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.health.fields import dicts, text
from syncd.health.status import HealthStatus, healthy

if TYPE_CHECKING:
    from syncd.model import JSONObject


def assess(obj: JSONObject) -> HealthStatus:
    """Ready as soon as it is there, as for kstatus and kapp.

    An address in its status proves little: many controllers never publish one, and whoever waits for it waits for ever.
    """
    addresses = [text(item, "ip") or text(item, "hostname") for item in dicts(obj, "status", "loadBalancer", "ingress")]
    return healthy(", ".join(addresses) or "no address is published")
