"""The order in which objects are taken up when nothing forces one, as data.

Dependencies are edges (:mod:`syncd.plan.order`); a rank only says who goes first among those that may all go. It
follows the orders of kubectl's peers (cli-utils ``ordering``, Argo CD ``sync_tasks``), with custom resources before
webhooks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from syncd.model import ObjectKey

_ORDER: Final = (
    "Namespace",
    "CustomResourceDefinition",
    "PriorityClass",
    "StorageClass",
    "IngressClass",
    "RuntimeClass",
    "ResourceQuota",
    "LimitRange",
    "NetworkPolicy",
    "ServiceAccount",
    "Role",
    "ClusterRole",
    "RoleBinding",
    "ClusterRoleBinding",
    "ConfigMap",
    "Secret",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Service",
    "PodDisruptionBudget",
    "Pod",
    "ReplicationController",
    "ReplicaSet",
    "Deployment",
    "StatefulSet",
    "DaemonSet",
    "Job",
    "CronJob",
    "HorizontalPodAutoscaler",
    "Ingress",
)
_LAST: Final = ("APIService", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
_RANKS: Final = {
    **{kind: rank for rank, kind in enumerate(_ORDER)},
    **{kind: len(_ORDER) + 1 + rank for rank, kind in enumerate(_LAST)},
}


def rank(key: ObjectKey) -> int:
    """Lower goes first; kinds that the table does not know, custom resources above all, come before the last ones."""
    return _RANKS.get(key.kind, len(_ORDER))
