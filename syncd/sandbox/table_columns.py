"""The columns that ``kubectl get`` shows of each kind, as the real server's printers have them.

A column is a path into the object, or the name of a function of :mod:`syncd.sandbox.table_cells`.
"""

from __future__ import annotations

from typing import NamedTuple


class Column(NamedTuple):
    """One column of a table."""

    name: str
    path: str = ""
    """A JSON path such as ``.spec.replicas``; "" when ``cell`` says what stands there."""
    cell: str = ""
    type: str = "string"
    format: str = ""
    priority: int = 0
    """0 is always shown, 1 with ``-o wide``."""
    description: str = ""


NAME = Column("Name", ".metadata.name", format="name")
_AGE = Column("Age", cell="age")
CREATED_AT = Column("Created At", ".metadata.creationTimestamp", type="date")
DEFAULT = (NAME, CREATED_AT)
"""What built-in kinds without columns of their own show."""
DEFAULT_CUSTOM = (NAME, Column("Age", ".metadata.creationTimestamp", type="date"))
"""What custom kinds without columns of their own show."""


def _text(name: str, path: str, *, wide: bool = False) -> Column:
    return Column(name, path, priority=int(wide))


def _number(name: str, path: str, *, wide: bool = False) -> Column:
    return Column(name, path, type="integer", priority=int(wide))


def _made(name: str, cell: str, *, wide: bool = False) -> Column:
    return Column(name, cell=cell, priority=int(wide))


def _count(name: str, cell: str) -> Column:
    return Column(name, cell=cell, type="integer")


def _flag(name: str, cell: str) -> Column:
    return Column(name, cell=cell, type="boolean")


_CONTAINERS = (
    _made("Containers", "containers", wide=True),
    _made("Images", "images", wide=True),
    _made("Selector", "selector", wide=True),
)
_RBAC = "rbac.authorization.k8s.io"
_BINDING = (
    NAME,
    _made("Role", "role_ref"),
    _AGE,
    _made("Users", "users", wide=True),
    _made("Groups", "groups", wide=True),
    _made("ServiceAccounts", "service_accounts", wide=True),
)
_EVENT = (
    _made("Last Seen", "last_seen"),
    _text("Type", ".type"),
    _text("Reason", ".reason"),
    _made("Object", "event_object"),
    _text("Subobject", ".involvedObject.fieldPath", wide=True),
    _made("Source", "event_source", wide=True),
    _text("Message", ".message"),
    _made("First Seen", "first_seen", wide=True),
    _number("Count", ".count", wide=True),
    Column("Name", ".metadata.name", format="name", priority=1),
)
_WEBHOOKS = (NAME, _count("Webhooks", "webhooks"), _AGE)

BUILT_IN: dict[tuple[str, str], tuple[Column, ...]] = {
    ("", "ConfigMap"): (NAME, _made("Data", "data"), _AGE),
    ("", "Endpoints"): (NAME, _made("Endpoints", "endpoints"), _AGE),
    ("", "Event"): _EVENT,
    ("events.k8s.io", "Event"): _EVENT,
    ("", "Namespace"): (NAME, _text("Status", ".status.phase"), _AGE),
    ("", "Node"): (
        NAME,
        _made("Status", "node_status"),
        _made("Roles", "node_roles"),
        _AGE,
        _text("Version", ".status.nodeInfo.kubeletVersion"),
    ),
    ("", "PersistentVolume"): (
        NAME,
        _text("Capacity", ".spec.capacity.storage"),
        _made("Access Modes", "access_modes"),
        _text("Reclaim Policy", ".spec.persistentVolumeReclaimPolicy"),
        _made("Status", "phase"),
        _made("Claim", "claim"),
        _made("StorageClass", "storage_class"),
        _made("VolumeAttributesClass", "attributes_class"),
        _made("Reason", "volume_reason"),
        _AGE,
        _text("VolumeMode", ".spec.volumeMode", wide=True),
    ),
    ("", "PersistentVolumeClaim"): (
        NAME,
        _made("Status", "phase"),
        _made("Volume", "volume"),
        _made("Capacity", "claimed_capacity"),
        _made("Access Modes", "claimed_modes"),
        _made("StorageClass", "storage_class"),
        _made("VolumeAttributesClass", "attributes_class"),
        _AGE,
        _text("VolumeMode", ".spec.volumeMode", wide=True),
    ),
    ("", "Pod"): (
        NAME,
        _made("Ready", "pod_ready"),
        _made("Status", "pod_status"),
        Column("Restarts", cell="pod_restarts"),
        _AGE,
        _made("IP", "pod_ip", wide=True),
        _made("Node", "pod_node", wide=True),
        _made("Nominated Node", "pod_nominated", wide=True),
        _made("Readiness Gates", "pod_gates", wide=True),
    ),
    ("", "PodTemplate"): (
        NAME,
        _made("Containers", "template_containers"),
        _made("Images", "template_images"),
        _made("Pod Labels", "template_labels"),
    ),
    ("", "ReplicationController"): (
        NAME,
        _count("Desired", "replicas"),
        _count("Current", "current"),
        _count("Ready", "ready"),
        _AGE,
        *_CONTAINERS,
    ),
    ("", "ResourceQuota"): (NAME, _made("Request", "quota_requests"), _made("Limit", "quota_limits"), _AGE),
    ("", "Secret"): (NAME, _text("Type", ".type"), _made("Data", "data"), _AGE),
    ("", "Service"): (
        NAME,
        _text("Type", ".spec.type"),
        _made("Cluster-IP", "cluster_ip"),
        _made("External-IP", "external_ip"),
        _made("Port(s)", "ports"),
        _AGE,
        _made("Selector", "selector", wide=True),
    ),
    ("", "ServiceAccount"): (NAME, _AGE),
    ("apps", "ControllerRevision"): (
        NAME,
        _made("Controller", "controller"),
        _made("Revision", "revision"),
        _AGE,
    ),
    ("apps", "DaemonSet"): (
        NAME,
        _count("Desired", "desired_scheduled"),
        _count("Current", "current_scheduled"),
        _count("Ready", "number_ready"),
        _count("Up-to-date", "updated_scheduled"),
        _count("Available", "number_available"),
        _made("Node Selector", "node_selector"),
        _AGE,
        *_CONTAINERS,
    ),
    ("apps", "Deployment"): (
        NAME,
        _made("Ready", "ready_of_desired"),
        _made("Up-to-date", "updated"),
        _made("Available", "available"),
        _AGE,
        *_CONTAINERS,
    ),
    ("apps", "ReplicaSet"): (
        NAME,
        _count("Desired", "replicas"),
        _count("Current", "current"),
        _count("Ready", "ready"),
        _AGE,
        *_CONTAINERS,
    ),
    ("apps", "StatefulSet"): (
        NAME,
        _made("Ready", "ready_of_desired"),
        _AGE,
        _made("Containers", "containers", wide=True),
        _made("Images", "images", wide=True),
    ),
    ("batch", "CronJob"): (
        NAME,
        _text("Schedule", ".spec.schedule"),
        _made("Timezone", "time_zone"),
        Column("Suspend", cell="suspend", type="boolean"),
        Column("Active", cell="active", type="integer"),
        _made("Last Schedule", "last_schedule"),
        _AGE,
        _made("Containers", "cron_containers", wide=True),
        _made("Images", "cron_images", wide=True),
        _made("Selector", "none", wide=True),
    ),
    ("batch", "Job"): (
        NAME,
        _made("Status", "job_status"),
        _made("Completions", "completions"),
        _made("Duration", "duration"),
        _AGE,
        *_CONTAINERS,
    ),
    ("autoscaling", "HorizontalPodAutoscaler"): (
        NAME,
        _made("Reference", "scale_target"),
        _made("Targets", "metrics"),
        _made("MinPods", "min_replicas"),
        _made("MaxPods", "max_replicas"),
        _made("Replicas", "current_replicas"),
        _AGE,
    ),
    ("networking.k8s.io", "Ingress"): (
        NAME,
        _made("Class", "ingress_class"),
        _made("Hosts", "hosts"),
        _made("Address", "address"),
        _made("Ports", "ingress_ports"),
        _AGE,
    ),
    ("networking.k8s.io", "IngressClass"): (
        NAME,
        _text("Controller", ".spec.controller"),
        _made("Parameters", "parameters"),
        _AGE,
    ),
    ("networking.k8s.io", "NetworkPolicy"): (NAME, _made("Pod-Selector", "pod_selector"), _AGE),
    ("policy", "PodDisruptionBudget"): (
        NAME,
        _made("Min Available", "min_available"),
        _made("Max Unavailable", "max_unavailable"),
        _count("Allowed Disruptions", "disruptions_allowed"),
        _AGE,
    ),
    (_RBAC, "ClusterRoleBinding"): _BINDING,
    (_RBAC, "RoleBinding"): _BINDING,
    ("storage.k8s.io", "CSIDriver"): (
        NAME,
        _flag("AttachRequired", "attach_required"),
        _flag("PodInfoOnMount", "pod_info"),
        _flag("StorageCapacity", "storage_capacity"),
        _made("TokenRequests", "token_requests"),
        _flag("RequiresRepublish", "republish"),
        _made("Modes", "driver_modes"),
        _AGE,
    ),
    ("storage.k8s.io", "StorageClass"): (
        NAME,
        _text("Provisioner", ".provisioner"),
        _text("ReclaimPolicy", ".reclaimPolicy"),
        _text("VolumeBindingMode", ".volumeBindingMode"),
        _made("AllowVolumeExpansion", "volume_expansion"),
        _AGE,
    ),
    ("scheduling.k8s.io", "PriorityClass"): (
        NAME,
        _number("Value", ".value"),
        _flag("Global-Default", "global_default"),
        _AGE,
        _text("PreemptionPolicy", ".preemptionPolicy"),
    ),
    ("coordination.k8s.io", "Lease"): (NAME, _text("Holder", ".spec.holderIdentity"), _AGE),
    ("discovery.k8s.io", "EndpointSlice"): (
        NAME,
        _text("AddressType", ".addressType"),
        _made("Ports", "slice_ports"),
        _made("Endpoints", "slice_endpoints"),
        _AGE,
    ),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): _WEBHOOKS,
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): _WEBHOOKS,
    ("apiregistration.k8s.io", "APIService"): (
        NAME,
        _made("Service", "api_service"),
        _made("Available", "api_available"),
        _AGE,
    ),
    ("node.k8s.io", "RuntimeClass"): (NAME, _text("Handler", ".handler"), _AGE),
}
