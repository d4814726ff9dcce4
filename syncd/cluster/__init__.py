"""One API server: transport, discovery, OpenAPI, and the live cache."""

from syncd.cluster.cache import KindStatus, LiveCache, Moment
from syncd.cluster.client import Client
from syncd.cluster.cluster import Cluster
from syncd.cluster.discovery import ApiResources, Discovery, Resource
from syncd.cluster.live import Event, EventType, LiveObject
from syncd.cluster.transport import Transport

__all__ = [
    "ApiResources",
    "Client",
    "Cluster",
    "Discovery",
    "Event",
    "EventType",
    "KindStatus",
    "LiveCache",
    "LiveObject",
    "Moment",
    "Resource",
    "Transport",
]
