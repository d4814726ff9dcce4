"""Lives of single objects: what Git says step by step, and what others do to the live object before each step."""

from __future__ import annotations

from typing import Any, NamedTuple

LABELS = {"app": "web"}


class Step(NamedTuple):
    """What others do, as a JSON merge patch, and what Git then says."""

    body: dict[str, Any]
    edit: dict[str, Any] | None = None


class Story(NamedTuple):
    """The life of one object."""

    api_version: str
    kind: str
    steps: tuple[Step, ...]


def pod(*containers: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"metadata": {"labels": LABELS}, "spec": {"containers": list(containers) or [container()], **more}}


def container(name: str = "web", **more: Any) -> dict[str, Any]:
    return {"name": name, "image": f"{name}:1", **more}


def workload(*containers: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"spec": {"selector": {"matchLabels": LABELS}, "template": pod(*containers), **more}}


def with_pod(**more: Any) -> dict[str, Any]:
    return {"spec": {"selector": {"matchLabels": LABELS}, "template": pod(**more)}}


def deployment(*steps: dict[str, Any] | Step) -> Story:
    return _story("apps/v1", "Deployment", *steps)


def live_pod(**spec: Any) -> dict[str, Any]:
    """An edit of the Pods of a workload."""
    return {"spec": {"template": {"spec": spec}}}


def _story(api_version: str, kind: str, *steps: dict[str, Any] | Step) -> Story:
    return Story(api_version, kind, tuple(step if isinstance(step, Step) else Step(step) for step in steps))


def _service(*ports: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"spec": {"selector": LABELS, "ports": list(ports), **more}}


_HTTP, _METRICS = {"name": "http", "port": 80}, {"name": "metrics", "port": 9090, "targetPort": "metrics"}
_BALANCER = {"type": "LoadBalancer", "externalTrafficPolicy": "Local"}
_PATHS = [
    {"path": path, "pathType": "Prefix", "backend": {"service": {"name": "web", "port": {"number": 80}}}}
    for path in ("/", "/a", "/b")
]
_ROLE = {"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "a"}}
_SUBJECTS = [{"kind": "ServiceAccount", "name": name, "namespace": "default"} for name in ("a", "b", "c")]
_CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
_STATEFUL = {"serviceName": "web"}
_TARGET = {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}
_SPREAD = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}

STORIES: dict[str, Story] = {
    "replicas-left-to-others": deployment(
        workload(replicas=2),
        Step(workload(), {"spec": {"replicas": 5}}),
        Step(workload(minReadySeconds=3), {"spec": {"replicas": 7}}),
    ),
    "strategy": deployment(
        workload(),
        workload(strategy={"type": "Recreate"}),
        workload(strategy={"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": "50%"}}),
        Step(workload(strategy={"type": "Recreate"}), {"spec": {"paused": True}}),
        workload(),
    ),
    "containers": deployment(
        workload(container("a"), container("b", args=["x", "y"]), container("c")),
        workload(container("c"), container("b", args=["x"]), container("d", tty=True)),
        Step(
            workload(container("d"), container("b", args=["x"])),
            live_pod(containers=[container("z"), container("d", stdin=True), container("b", args=["y"], tty=True)]),
        ),
        workload(container("b"), container("d")),
    ),
    "init-containers-and-volumes": deployment(
        with_pod(
            initContainers=[container("one"), container("two")],
            volumes=[{"name": "a", "emptyDir": {}}, {"name": "b", "configMap": {"name": "b"}}],
        ),
        with_pod(
            initContainers=[container("two"), container("three")],
            volumes=[{"name": "b", "secret": {"secretName": "b"}}, {"name": "c", "emptyDir": {"medium": "Memory"}}],
        ),
        Step(
            with_pod(volumes=[{"name": "b", "configMap": {"name": "b", "items": [{"key": "k", "path": "p"}]}}]),
            live_pod(volumes=[{"name": "theirs", "emptyDir": {}}, {"name": "b", "emptyDir": {}}]),
        ),
        with_pod(),
    ),
    "environment": deployment(
        workload(container(env=[{"name": "A", "value": "1"}, {"name": "B", "value": "2"}])),
        workload(
            container(env=[{"name": "B", "value": "$(A)"}, {"name": "C", "value": ""}, {"name": "A", "value": "1"}])
        ),
        Step(
            workload(container(env=[{"name": "C"}, {"name": "A", "value": "3"}])),
            live_pod(containers=[container(env=[{"name": "THEIRS", "value": "1"}, {"name": "A", "value": "9"}])]),
        ),
        workload(container(envFrom=[{"configMapRef": {"name": "a"}}, {"secretRef": {"name": "b"}}])),
        workload(container(envFrom=[{"secretRef": {"name": "b"}}])),
    ),
    "container-ports-and-mounts": deployment(
        workload(container(ports=[{"containerPort": 80}, {"containerPort": 81, "name": "more"}])),
        workload(container(ports=[{"containerPort": 81, "name": "other"}, {"containerPort": 82, "protocol": "UDP"}])),
        Step(
            workload(container(ports=[{"containerPort": 82, "protocol": "UDP"}])),
            live_pod(containers=[container(ports=[{"containerPort": 99}, {"containerPort": 82, "protocol": "UDP"}])]),
        ),
        workload(container()),
    ),
    "resources-and-probes": deployment(
        workload(
            container(
                resources={"requests": {"cpu": "100m", "memory": "1Gi"}, "limits": {"cpu": "1"}},
                livenessProbe={"httpGet": {"path": "/", "port": 80}},
                readinessProbe={"tcpSocket": {"port": "http"}, "periodSeconds": 3},
            )
        ),
        workload(
            container(
                resources={"requests": {"cpu": "200m"}},
                livenessProbe={"httpGet": {"path": "/health", "port": "http", "scheme": "HTTPS"}, "timeoutSeconds": 5},
                lifecycle={"preStop": {"exec": {"command": ["sleep", "1"]}}},
            )
        ),
        workload(container(lifecycle={"postStart": {"exec": {"command": ["true"]}}})),
        workload(),
    ),
    "pod-lists": deployment(
        with_pod(
            tolerations=[{"key": "a", "operator": "Exists"}, {"key": "b", "operator": "Exists"}],
            imagePullSecrets=[{"name": "a"}, {"name": "b"}],
            hostAliases=[{"ip": "10.0.0.1", "hostnames": ["a", "b"]}],
            topologySpreadConstraints=[_SPREAD],
        ),
        Step(
            with_pod(
                tolerations=[{"key": "b", "operator": "Exists"}],
                imagePullSecrets=[{"name": "b"}, {"name": "c"}],
                hostAliases=[{"ip": "10.0.0.1", "hostnames": ["c"]}, {"ip": "10.0.0.2", "hostnames": ["d"]}],
                topologySpreadConstraints=[_SPREAD, {**_SPREAD, "topologyKey": "host", "maxSkew": 2}],
            ),
            live_pod(imagePullSecrets=[{"name": "theirs"}, {"name": "a"}, {"name": "b"}]),
        ),
        with_pod(nodeSelector={"a": "b"}, securityContext={"runAsUser": 7, "fsGroup": 8}),
        with_pod(nodeSelector={"c": "d"}, securityContext={"runAsUser": 7}),
        with_pod(),
    ),
    "maps-and-metadata": _story(
        "v1",
        "ConfigMap",
        {"data": {"a": "1", "b": "2"}, "metadata": {"labels": {"x": "1", "y": "2"}, "annotations": {"n": "1"}}},
        Step({"data": {"b": "3"}, "metadata": {"labels": {"y": "2"}}}, {"data": {"theirs": "1"}}),
        Step({"data": {"b": "3", "c": ""}}, {"data": {"b": None}, "metadata": {"annotations": {"theirs": "1"}}}),
        {"binaryData": {"b": "AA=="}},
        {},
    ),
    "nulls": deployment(
        workload(replicas=None, paused=True),
        Step(workload(replicas=3, paused=None), {"spec": {"replicas": 5}}),
        Step(workload(replicas=None, paused=None), {"spec": {"paused": True}}),
    ),
    "secret": _story(
        "v1",
        "Secret",
        {"data": {"a": "MQ==", "b": "Mg=="}},
        Step({"data": {"b": "Mw=="}}, {"data": {"b": "NA==", "theirs": "NQ=="}}),
        {"data": {}},
    ),
    "service-ports": _story(
        "v1",
        "Service",
        _service(_HTTP),
        _service(_METRICS, {**_HTTP, "targetPort": 8080}),
        Step(
            _service(_HTTP),
            {"spec": {"ports": [{"name": "x", "port": 99}, _HTTP, _METRICS], "sessionAffinity": "ClientIP"}},
        ),
        _service(_HTTP, sessionAffinity="ClientIP"),
        _service(_HTTP),
    ),
    "service-types": _story(
        "v1",
        "Service",
        _service(_HTTP),
        _service(_HTTP, type="NodePort"),
        _service(_HTTP, _METRICS, **_BALANCER),
        Step(_service(_HTTP, **_BALANCER), {"spec": {"loadBalancerSourceRanges": ["10.0.0.0/8"]}}),
        _service(_HTTP),
    ),
    "service-headless": _story(
        "v1", "Service", _service(_HTTP, clusterIP="None"), _service(_METRICS, clusterIP="None"), _service(_HTTP)
    ),
    "service-external": _story(
        "v1",
        "Service",
        {"spec": {"type": "ExternalName", "externalName": "a.example.com"}},
        {"spec": {"type": "ExternalName", "externalName": "b.example.com"}},
        _service(_HTTP),
    ),
    "statefulset": _story(
        "apps/v1",
        "StatefulSet",
        workload(**_STATEFUL, volumeClaimTemplates=[{"metadata": {"name": "data"}, "spec": _CLAIM}]),
        workload(
            **_STATEFUL,
            volumeClaimTemplates=[{"metadata": {"name": "data"}, "spec": _CLAIM}],
            updateStrategy={"type": "RollingUpdate", "rollingUpdate": {"partition": 2}},
            podManagementPolicy="OrderedReady",
        ),
        Step(
            workload(
                container(image="web:2"),
                **_STATEFUL,
                volumeClaimTemplates=[{"metadata": {"name": "data"}, "spec": _CLAIM}],
                updateStrategy={"rollingUpdate": {"partition": 1}},
            ),
            {"spec": {"replicas": 4}},
        ),
    ),
    "daemonset": _story(
        "apps/v1",
        "DaemonSet",
        workload(),
        workload(updateStrategy={"rollingUpdate": {"maxUnavailable": 2}}),
        workload(updateStrategy={"type": "RollingUpdate"}),
    ),
    "cronjob": _story(
        "batch/v1",
        "CronJob",
        {"spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": pod(restartPolicy="Never")}}}},
        Step(
            {
                "spec": {
                    "schedule": "1 * * * *",
                    "suspend": True,
                    "jobTemplate": {"spec": {"backoffLimit": 1, "template": pod(restartPolicy="OnFailure")}},
                }
            },
            {"spec": {"suspend": False, "concurrencyPolicy": "Forbid"}},
        ),
        {"spec": {"schedule": "1 * * * *", "jobTemplate": {"spec": {"template": pod(restartPolicy="Never")}}}},
    ),
    "job-parallelism": _story(
        "batch/v1",
        "Job",
        {"metadata": {"labels": {"x": "1"}}, "spec": {"template": pod(restartPolicy="Never"), "parallelism": 1}},
        {"metadata": {"labels": {"x": "2"}}, "spec": {"template": pod(restartPolicy="Never"), "parallelism": 2}},
        {"metadata": {"labels": {"x": "2"}}, "spec": {"template": pod(container("no"), restartPolicy="Never")}},
    ),
    "ingress": _story(
        "networking.k8s.io/v1",
        "Ingress",
        {"spec": {"rules": [{"host": "a.example.com", "http": {"paths": _PATHS[:2]}}]}},
        {
            "spec": {
                "rules": [{"host": "a.example.com", "http": {"paths": _PATHS[1:]}}],
                "tls": [{"hosts": ["a.example.com"]}],
            }
        },
        Step(
            {"spec": {"rules": [{"host": "b.example.com", "http": {"paths": _PATHS[:1]}}]}},
            {"spec": {"ingressClassName": "theirs", "tls": [{"secretName": "theirs"}]}},
        ),
    ),
    "networkpolicy": _story(
        "networking.k8s.io/v1",
        "NetworkPolicy",
        {"spec": {"podSelector": {"matchLabels": LABELS}, "ingress": [{"ports": [{"port": 80}]}]}},
        {
            "spec": {
                "podSelector": {},
                "ingress": [{"from": [{"podSelector": {}}]}],
                "egress": [{}],
                "policyTypes": ["Egress"],
            }
        },
        Step(
            {"spec": {"podSelector": {"matchLabels": {"b": "c"}}}},
            {"spec": {"podSelector": {"matchLabels": {"x": "y"}}}},
        ),
    ),
    "rolebinding": _story(
        "rbac.authorization.k8s.io/v1",
        "RoleBinding",
        {**_ROLE, "subjects": _SUBJECTS[:2]},
        Step({**_ROLE, "subjects": _SUBJECTS[1:]}, {"subjects": _SUBJECTS}),
        {**_ROLE},
    ),
    "role": _story(
        "rbac.authorization.k8s.io/v1",
        "Role",
        {"rules": [{"apiGroups": [""], "resources": ["pods", "secrets"], "verbs": ["get", "list"]}]},
        {
            "rules": [
                {"apiGroups": [""], "resources": ["pods"], "verbs": ["list", "get"]},
                {"apiGroups": ["a"], "resources": ["*"], "verbs": ["*"]},
            ]
        },
        {"rules": []},
    ),
    "serviceaccount": _story(
        "v1",
        "ServiceAccount",
        {"secrets": [{"name": "a"}], "imagePullSecrets": [{"name": "a"}]},
        Step(
            {"secrets": [{"name": "b"}]},
            {"secrets": [{"name": "theirs"}, {"name": "a"}], "imagePullSecrets": [{"name": "b"}]},
        ),
        {"automountServiceAccountToken": False},
    ),
    "disruption-budget": _story(
        "policy/v1",
        "PodDisruptionBudget",
        {"spec": {"minAvailable": 1, "selector": {"matchLabels": {"a": "b", "c": "d"}}}},
        {"spec": {"maxUnavailable": "10%", "selector": {"matchLabels": {"a": "b"}}}},
        Step(
            {"spec": {"maxUnavailable": "10%", "selector": {"matchLabels": {"a": "b"}}}},
            {"spec": {"selector": {"matchLabels": {"x": "y"}}}},
        ),
    ),
    "autoscaler": _story(
        "autoscaling/v2",
        "HorizontalPodAutoscaler",
        {"spec": {**_TARGET, "maxReplicas": 3}},
        {
            "spec": {
                **_TARGET,
                "maxReplicas": 4,
                "metrics": [
                    {
                        "type": "Resource",
                        "resource": {"name": "memory", "target": {"type": "Utilization", "averageUtilization": 50}},
                    }
                ],
                "behavior": {"scaleUp": {"policies": [{"type": "Pods", "value": 4, "periodSeconds": 60}]}},
            }
        },
        Step(
            {"spec": {**_TARGET, "maxReplicas": 4, "behavior": {"scaleDown": {"stabilizationWindowSeconds": 3}}}},
            {"spec": {"minReplicas": 2}},
        ),
        {"spec": {**_TARGET, "maxReplicas": 3}},
    ),
    "finalizers": _story(
        "v1",
        "ConfigMap",
        {"metadata": {"finalizers": ["example.com/b", "example.com/a"]}},
        Step(
            {"metadata": {"finalizers": ["example.com/a", "example.com/c"]}},
            {"metadata": {"finalizers": ["example.com/theirs", "example.com/b", "example.com/a"]}},
        ),
        {},
    ),
    "claim": _story(
        "v1",
        "PersistentVolumeClaim",
        {"spec": _CLAIM},
        {"metadata": {"labels": {"a": "b"}}, "spec": _CLAIM},
        {"spec": {**_CLAIM, "accessModes": ["ReadWriteMany"]}},
    ),
}
