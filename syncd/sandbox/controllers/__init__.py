"""What makes an API server a cluster: controllers that work on the objects, in one thread of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.sandbox.controllers import pods
from syncd.sandbox.controllers.apiservices import ApiServices
from syncd.sandbox.controllers.autoscalers import Autoscalers
from syncd.sandbox.controllers.budgets import Budgets
from syncd.sandbox.controllers.claims import Claims
from syncd.sandbox.controllers.daemonsets import DaemonSets
from syncd.sandbox.controllers.definitions import Definitions
from syncd.sandbox.controllers.deployments import Deployments
from syncd.sandbox.controllers.endpoints import ServiceEndpoints
from syncd.sandbox.controllers.garbage import GarbageCollector
from syncd.sandbox.controllers.jobs import Jobs
from syncd.sandbox.controllers.namespaces import Namespaces
from syncd.sandbox.controllers.replicas import ReplicaSets
from syncd.sandbox.controllers.statefulsets import StatefulSets
from syncd.sandbox.controllers.worker import Controllers

if TYPE_CHECKING:
    from syncd.sandbox.kinds import Objects

_ALL = (
    Definitions,
    Namespaces,
    GarbageCollector,
    Deployments,
    ReplicaSets,
    StatefulSets,
    DaemonSets,
    Jobs,
    pods.Pods,
    Claims,
    ServiceEndpoints,
    Autoscalers,
    Budgets,
    ApiServices,
)


def start(objects: Objects) -> Controllers:
    """Create the node that Pods run on, and start all controllers."""
    pods.create_node(objects)
    return Controllers(objects, [controller(objects) for controller in _ALL])
