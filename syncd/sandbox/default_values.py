"""Defaults of single fields, by struct: they hold where the field is absent or an empty string.

From the ``SetDefaults_*`` functions and ``+default`` markers of Kubernetes 1.36. Defaults that depend on other fields
are in :mod:`syncd.sandbox.default_kinds`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from syncd.model import JSONObject

_MODE = 0o644
_RBAC = "rbac.authorization.k8s.io"
_RBD: JSONObject = {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"}
_SCALE_IO: JSONObject = {"storageMode": "ThinProvisioned", "fsType": "xfs"}
_PORT_443: JSONObject = {"port": 443}
_WEBHOOK: JSONObject = {
    "failurePolicy": "Fail",
    "matchPolicy": "Equivalent",
    "namespaceSelector": {},
    "objectSelector": {},
    "timeoutSeconds": 10,
}
_CONTAINER: JSONObject = {"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"}

VALUES: dict[str, JSONObject] = {
    # core
    "core.v1.AzureDiskVolumeSource": {
        "cachingMode": "ReadWrite",
        "fsType": "ext4",
        "readOnly": False,
        "kind": "Shared",
    },
    "core.v1.ConfigMapVolumeSource": {"defaultMode": _MODE},
    "core.v1.Container": _CONTAINER,
    "core.v1.ContainerPort": {"protocol": "TCP"},
    "core.v1.DownwardAPIVolumeSource": {"defaultMode": _MODE},
    "core.v1.EndpointPort": {"protocol": "TCP"},
    "core.v1.EphemeralContainer": _CONTAINER,
    "core.v1.FileKeySelector": {"optional": False},
    "core.v1.GRPCAction": {"service": ""},
    "core.v1.HTTPGetAction": {"path": "/", "scheme": "HTTP"},
    "core.v1.HostPathVolumeSource": {"type": ""},
    "core.v1.ISCSIPersistentVolumeSource": {"iscsiInterface": "default"},
    "core.v1.ISCSIVolumeSource": {"iscsiInterface": "default"},
    "core.v1.NamespaceStatus": {"phase": "Active"},
    "core.v1.ObjectFieldSelector": {"apiVersion": "v1"},
    "core.v1.PersistentVolumeClaimSpec": {"volumeMode": "Filesystem"},
    "core.v1.PersistentVolumeClaimStatus": {"phase": "Pending"},
    "core.v1.PersistentVolumeSpec": {"persistentVolumeReclaimPolicy": "Retain", "volumeMode": "Filesystem"},
    "core.v1.PersistentVolumeStatus": {"phase": "Pending"},
    "core.v1.PodSpec": {
        "dnsPolicy": "ClusterFirst",
        "restartPolicy": "Always",
        "schedulerName": "default-scheduler",
        "securityContext": {},
        "terminationGracePeriodSeconds": 30,
    },
    "core.v1.ProjectedVolumeSource": {"defaultMode": _MODE},
    "core.v1.RBDPersistentVolumeSource": _RBD,
    "core.v1.RBDVolumeSource": _RBD,
    "core.v1.ReplicationControllerSpec": {"replicas": 1},
    "core.v1.ScaleIOPersistentVolumeSource": _SCALE_IO,
    "core.v1.ScaleIOVolumeSource": _SCALE_IO,
    "core.v1.Secret": {"type": "Opaque"},
    "core.v1.SecretVolumeSource": {"defaultMode": _MODE},
    "core.v1.ServiceAccountTokenProjection": {"expirationSeconds": 3600},
    "core.v1.ServicePort": {"protocol": "TCP"},
    "core.v1.ServiceSpec": {"sessionAffinity": "None", "type": "ClusterIP"},
    # workloads
    "apps.v1.DaemonSetSpec": {"revisionHistoryLimit": 10},
    "apps.v1.DaemonSetUpdateStrategy": {"type": "RollingUpdate"},
    "apps.v1.DeploymentSpec": {"replicas": 1, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600},
    "apps.v1.DeploymentStrategy": {"type": "RollingUpdate"},
    "apps.v1.ReplicaSetSpec": {"replicas": 1},
    "apps.v1.StatefulSetPersistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
    "apps.v1.StatefulSetSpec": {
        "podManagementPolicy": "OrderedReady",
        "persistentVolumeClaimRetentionPolicy": {},
        "replicas": 1,
        "revisionHistoryLimit": 10,
    },
    "batch.v1.CronJobSpec": {
        "concurrencyPolicy": "Allow",
        "suspend": False,
        "successfulJobsHistoryLimit": 3,
        "failedJobsHistoryLimit": 1,
    },
    "batch.v1.PodFailurePolicyOnPodConditionsPattern": {"status": "True"},
    "autoscaling.v1.HorizontalPodAutoscalerSpec": {"minReplicas": 1},
    "autoscaling.v2.HorizontalPodAutoscalerSpec": {"minReplicas": 1},
    # network
    "networking.v1.NetworkPolicyPort": {"protocol": "TCP"},
    "networking.v1.IngressClassParametersReference": {"scope": "Cluster"},
    "discovery.v1.EndpointPort": {"name": "", "protocol": "TCP"},
    # access
    "rbac.v1.RoleRef": {"apiGroup": _RBAC},
    # storage, scheduling
    "storage.v1.CSIDriverSpec": {
        "attachRequired": True,
        "podInfoOnMount": False,
        "storageCapacity": False,
        "fsGroupPolicy": "ReadWriteOnceWithFSType",
        "volumeLifecycleModes": ["Persistent"],
        "requiresRepublish": False,
        "seLinuxMount": False,
    },
    "storage.v1.StorageClass": {"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"},
    "scheduling.v1.PriorityClass": {"preemptionPolicy": "PreemptLowerPriority"},
    # the API itself
    "admissionregistration.v1.MatchResources": {
        "matchPolicy": "Equivalent",
        "namespaceSelector": {},
        "objectSelector": {},
    },
    "admissionregistration.v1.MutatingAdmissionPolicySpec": {"failurePolicy": "Fail"},
    "admissionregistration.v1.MutatingWebhook": _WEBHOOK | {"reinvocationPolicy": "Never"},
    "admissionregistration.v1.Rule": {"scope": "*"},
    "admissionregistration.v1.RuleWithOperations": {"scope": "*"},
    "admissionregistration.v1.NamedRuleWithOperations": {"scope": "*"},
    "admissionregistration.v1.ServiceReference": _PORT_443,
    "admissionregistration.v1.ValidatingAdmissionPolicySpec": {"failurePolicy": "Fail"},
    "admissionregistration.v1.ValidatingWebhook": _WEBHOOK,
    "apiextensions.v1.CustomResourceDefinitionSpec": {"conversion": {"strategy": "None"}},
    "apiextensions.v1.ServiceReference": _PORT_443,
    "apiregistration.v1.ServiceReference": _PORT_443,
}
