"""One rule per kind, one kind (or twins) per module: what is left to judge when common conditions are silent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from syncd.health.rules import (
    apiservice,
    cronjob,
    customresourcedefinition,
    daemonset,
    deployment,
    gateway,
    horizontalpodautoscaler,
    ingress,
    job,
    namespace,
    persistentvolume,
    persistentvolumeclaim,
    pod,
    poddisruptionbudget,
    replicaset,
    route,
    service,
    statefulset,
)
from syncd.health.status import HealthStatus
from syncd.model import GroupKind, JSONObject

Rule = Callable[[JSONObject], HealthStatus]

RULES: Final[Mapping[GroupKind, Rule]] = {
    GroupKind("", "Namespace"): namespace.assess,
    GroupKind("", "PersistentVolume"): persistentvolume.assess,
    GroupKind("", "PersistentVolumeClaim"): persistentvolumeclaim.assess,
    GroupKind("", "Pod"): pod.assess,
    GroupKind("", "ReplicationController"): replicaset.assess,
    GroupKind("", "Service"): service.assess,
    GroupKind("apiextensions.k8s.io", "CustomResourceDefinition"): customresourcedefinition.assess,
    GroupKind("apiregistration.k8s.io", "APIService"): apiservice.assess,
    GroupKind("apps", "DaemonSet"): daemonset.assess,
    GroupKind("apps", "Deployment"): deployment.assess,
    GroupKind("apps", "ReplicaSet"): replicaset.assess,
    GroupKind("apps", "StatefulSet"): statefulset.assess,
    GroupKind("autoscaling", "HorizontalPodAutoscaler"): horizontalpodautoscaler.assess,
    GroupKind("batch", "CronJob"): cronjob.assess,
    GroupKind("batch", "Job"): job.assess,
    GroupKind("gateway.networking.k8s.io", "GRPCRoute"): route.assess,
    GroupKind("gateway.networking.k8s.io", "Gateway"): gateway.assess,
    GroupKind("gateway.networking.k8s.io", "HTTPRoute"): route.assess,
    GroupKind("networking.k8s.io", "Ingress"): ingress.assess,
    GroupKind("policy", "PodDisruptionBudget"): poddisruptionbudget.assess,
}
"""Every kind with a rule of its own."""
