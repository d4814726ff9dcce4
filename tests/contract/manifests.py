"""Small manifests of most kinds, as data."""

from __future__ import annotations

from typing import Any

CONTAINER = {"name": "web", "image": "web:1"}
LABELS = {"app": "web"}
POD = {"metadata": {"labels": LABELS}, "spec": {"containers": [CONTAINER]}}
ONCE = {"spec": {"containers": [{"name": "once", "image": "once:1"}], "restartPolicy": "Never"}}
WORKLOAD = {"selector": {"matchLabels": LABELS}, "template": POD}
RULE = {
    "http": {
        "paths": [{"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "a", "port": {"number": 1}}}}]
    }
}
ROLE_GROUP = "rbac.authorization.k8s.io"
HOOK = {"name": "a.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"]}
HOOK_RULE = {"apiGroups": ["nowhere.example.com"], "apiVersions": ["v1"], "resources": ["x"], "operations": ["CREATE"]}
BUSY = {
    **CONTAINER,
    "image": "web",
    "ports": [{"containerPort": 80}, {"containerPort": 53, "protocol": "UDP"}],
    "env": [{"name": "A"}, {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
    "envFrom": [{"configMapRef": {"name": "a"}}],
    "resources": {"limits": {"cpu": "0.5", "memory": "1024Mi"}, "requests": {"cpu": "1e-1"}},
    "livenessProbe": {"httpGet": {"port": 80}},
    "readinessProbe": {"tcpSocket": {"port": "http"}},
    "startupProbe": {"grpc": {"port": 9}},
    "lifecycle": {"preStop": {"exec": {"command": ["true"]}}},
    "securityContext": {"runAsNonRoot": True},
    "volumeMounts": [{"name": "a", "mountPath": "/a"}],
}
VOLUMES = [
    {"name": "a", "configMap": {"name": "a"}},
    {"name": "b", "secret": {"secretName": "b"}},
    {"name": "c", "emptyDir": {}},
    {"name": "d", "hostPath": {"path": "/d"}},
    {"name": "e", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}, {"downwardAPI": {}}]}},
    {"name": "f", "downwardAPI": {"items": [{"path": "l", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
    {"name": "g", "persistentVolumeClaim": {"claimName": "g"}},
]

MANIFESTS: dict[str, tuple[str, dict[str, Any]]] = {
    "configmap": ("configmaps", {"data": {"a": "1"}, "binaryData": {"b": "MQ=="}}),
    "configmap-empty": ("configmaps", {}),
    "secret": ("secrets", {"stringData": {"a": "1"}, "data": {"b": "Mg=="}}),
    "secret-typed": ("secrets", {"type": "kubernetes.io/basic-auth", "stringData": {"username": "u"}}),
    "service": ("services", {"spec": {"selector": LABELS, "ports": [{"port": 80}]}}),
    "service-headless": ("services", {"spec": {"clusterIP": "None", "selector": LABELS}}),
    "service-node-port": ("services", {"spec": {"type": "NodePort", "ports": [{"port": 80, "targetPort": "http"}]}}),
    "service-balancer": (
        "services",
        {
            "spec": {
                "type": "LoadBalancer",
                "externalTrafficPolicy": "Local",
                "ports": [{"port": 53, "protocol": "UDP"}],
            }
        },
    ),
    "service-external": ("services", {"spec": {"type": "ExternalName", "externalName": "example.com"}}),
    "service-sticky": ("services", {"spec": {"sessionAffinity": "ClientIP", "ports": [{"port": 80}]}}),
    "serviceaccount": ("serviceaccounts", {}),
    "endpointslice": (
        "endpointslices",
        {"addressType": "IPv4", "endpoints": [{"addresses": ["10.0.0.1"]}], "ports": [{"port": 80}]},
    ),
    "limitrange": (
        "limitranges",
        {"spec": {"limits": [{"type": "Container", "max": {"cpu": "2"}, "default": {"cpu": "1"}}]}},
    ),
    "resourcequota": ("resourcequotas", {"spec": {"hard": {"pods": "1k", "cpu": "1000m"}}}),
    "claim": (
        "persistentvolumeclaims",
        {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1024Mi"}}}},
    ),
    "pod": ("pods", {"spec": {"containers": [CONTAINER]}}),
    "pod-busy": (
        "pods",
        {"spec": {"containers": [BUSY], "volumes": VOLUMES, "initContainers": [CONTAINER | {"name": "i"}]}},
    ),
    "podtemplate": ("podtemplates", {"template": POD}),
    "replicationcontroller": ("replicationcontrollers", {"spec": {"template": POD}}),
    "deployment": ("deployments", {"spec": WORKLOAD}),
    "deployment-busy": (
        "deployments",
        {
            "spec": {
                **WORKLOAD,
                "strategy": {"rollingUpdate": {"maxSurge": 1}},
                "template": {
                    "metadata": {"labels": LABELS},
                    "spec": {
                        "containers": [BUSY],
                        "volumes": VOLUMES,
                        "serviceAccount": "builder",
                        "securityContext": {"fsGroup": 1},
                        "tolerations": [{"key": "a"}],
                        "topologySpreadConstraints": [
                            {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"}
                        ],
                    },
                },
            }
        },
    ),
    "deployment-recreate": ("deployments", {"spec": {**WORKLOAD, "strategy": {"type": "Recreate"}, "replicas": 0}}),
    "replicaset": ("replicasets", {"spec": WORKLOAD}),
    "statefulset": (
        "statefulsets",
        {
            "spec": {
                **WORKLOAD,
                "serviceName": "web",
                "volumeClaimTemplates": [
                    {
                        "metadata": {"name": "data"},
                        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
                    }
                ],
            }
        },
    ),
    "daemonset": ("daemonsets", {"spec": WORKLOAD}),
    "job": ("jobs", {"spec": {"template": ONCE}}),
    "job-indexed": ("jobs", {"spec": {"template": ONCE, "completionMode": "Indexed", "completions": 3}}),
    "cronjob": ("cronjobs", {"spec": {"schedule": "0 * * * *", "jobTemplate": {"spec": {"template": ONCE}}}}),
    "autoscaler": (
        "horizontalpodautoscalers",
        {
            "spec": {
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
                "maxReplicas": 3,
            }
        },
    ),
    "autoscaler-behaviour": (
        "horizontalpodautoscalers",
        {
            "spec": {
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
                "maxReplicas": 3,
                "behavior": {"scaleDown": {"stabilizationWindowSeconds": 60}},
                "metrics": [
                    {
                        "type": "Resource",
                        "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "0.5Gi"}},
                    }
                ],
            }
        },
    ),
    "autoscaler-v1": (
        "horizontalpodautoscalers.autoscaling/v1",
        {
            "spec": {
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
                "maxReplicas": 3,
                "targetCPUUtilizationPercentage": 50,
            }
        },
    ),
    "budget": ("poddisruptionbudgets", {"spec": {"minAvailable": 1, "selector": {"matchLabels": LABELS}}}),
    "ingress": ("ingresses", {"spec": {"rules": [{"host": "a.example.com", **RULE}]}}),
    "networkpolicy": ("networkpolicies", {"spec": {"podSelector": {}}}),
    "networkpolicy-egress": (
        "networkpolicies",
        {
            "spec": {
                "podSelector": {"matchLabels": LABELS},
                "ingress": [{"ports": [{"port": 80}], "from": [{"podSelector": {}}]}],
                "egress": [{}],
            }
        },
    ),
    "role": ("roles", {"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}),
    "rolebinding": (
        "rolebindings",
        {
            "roleRef": {"kind": "Role", "name": "a", "apiGroup": ROLE_GROUP},
            "subjects": [{"kind": "ServiceAccount", "name": "a", "namespace": "b"}, {"kind": "User", "name": "c"}],
        },
    ),
    "lease": ("leases", {"spec": {"holderIdentity": "a", "leaseDurationSeconds": 15}}),
    "controllerrevision": ("controllerrevisions.apps/v1", {"revision": 1, "data": {"a": 1}}),
    "/namespace": ("namespaces", {}),
    "/clusterrole": ("clusterroles", {"aggregationRule": {"clusterRoleSelectors": [{"matchLabels": LABELS}]}}),
    "/clusterrolebinding": (
        "clusterrolebindings",
        {
            "roleRef": {"kind": "ClusterRole", "name": "a", "apiGroup": ROLE_GROUP},
            "subjects": [{"kind": "Group", "name": "c"}],
        },
    ),
    "/priorityclass": ("priorityclasses", {"value": 7}),
    "/storageclass": ("storageclasses", {"provisioner": "example.com/disk"}),
    "/ingressclass": ("ingressclasses", {"spec": {"controller": "example.com/ingress"}}),
    "/volume": (
        "persistentvolumes",
        {
            "spec": {
                "capacity": {"storage": "1Gi"},
                "accessModes": ["ReadWriteOnce"],
                "hostPath": {"path": "/x"},
            }
        },
    ),
    "/runtimeclass": ("runtimeclasses.node.k8s.io/v1", {"handler": "a"}),
    "/csidriver": ("csidrivers.storage.k8s.io/v1", {"spec": {}}),
    "/mutatingwebhook": (
        "mutatingwebhookconfigurations",
        {"webhooks": [{**HOOK, "rules": [HOOK_RULE], "clientConfig": {"service": {"name": "a", "namespace": "b"}}}]},
    ),
    "/validatingwebhook": (
        "validatingwebhookconfigurations",
        {"webhooks": [{**HOOK, "rules": [HOOK_RULE], "clientConfig": {"url": "https://example.com"}}]},
    ),
    "/apiservice": (
        "apiservices.apiregistration.k8s.io/v1",
        {
            "spec": {
                "group": "nowhere.example.com",
                "version": "v1",
                "groupPriorityMinimum": 100,
                "versionPriority": 10,
                "service": {"name": "a", "namespace": "b"},
                "insecureSkipTLSVerify": True,
            }
        },
    ),
}
"""By a name, what the resource is and what is sent besides a name; those with a slash are in no namespace."""

NAMES = {"/apiservice": "v1.nowhere.example.com"}
