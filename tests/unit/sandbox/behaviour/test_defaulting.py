from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import pytest

from syncd.sandbox.defaulting import apply_defaults
from syncd.sandbox.kinds import BUILT_IN, built_in
from syncd.sandbox.strategies import prepare_create

if TYPE_CHECKING:
    from pathlib import Path

POD_DEFAULTS = {
    "dnsPolicy": "ClusterFirst",
    "restartPolicy": "Always",
    "schedulerName": "default-scheduler",
    "securityContext": {},
    "terminationGracePeriodSeconds": 30,
}


def default(group: str, kind: str, **fields: Any) -> dict[str, Any]:
    served = built_in(group, kind)
    metadata = {"name": "web", "namespace": "shop"} | fields.pop("metadata", {})
    given = {"apiVersion": served.api_version, "kind": kind, "metadata": metadata} | fields
    before = copy.deepcopy(given)
    defaulted = apply_defaults(served, given)
    assert given == before, "the given object is left alone"
    assert apply_defaults(served, defaulted) == defaulted, "once is enough"
    before = copy.deepcopy(defaulted)
    created = prepare_create(served, defaulted)
    assert defaulted == before, "the given object is left alone"
    assert apply_defaults(served, created) == created, "what is stored has its defaults"
    return created


def test_a_deployment_gets_what_a_real_server_fills_in() -> None:
    probe = {"httpGet": {"port": 80}}
    container = {"name": "web", "image": "web:1", "ports": [{"containerPort": 80}], "livenessProbe": probe}
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container]}}
    selector = {"matchLabels": {"app": "web"}}

    spec = default("apps", "Deployment", spec={"selector": selector, "template": template})["spec"]

    assert spec == {
        "replicas": 1,
        "revisionHistoryLimit": 10,
        "progressDeadlineSeconds": 600,
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}},
        "selector": selector,
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": POD_DEFAULTS
            | {
                "containers": [
                    {
                        "name": "web",
                        "image": "web:1",
                        "imagePullPolicy": "IfNotPresent",
                        "ports": [{"containerPort": 80, "protocol": "TCP"}],
                        "livenessProbe": {
                            "httpGet": {"path": "/", "port": 80, "scheme": "HTTP"},
                            "timeoutSeconds": 1,
                            "periodSeconds": 10,
                            "successThreshold": 1,
                            "failureThreshold": 3,
                        },
                        "resources": {},
                        "terminationMessagePath": "/dev/termination-log",
                        "terminationMessagePolicy": "File",
                    }
                ]
            },
        },
    }


def test_recreate_gets_no_rolling_update() -> None:
    assert default("apps", "Deployment", spec={"strategy": {"type": "Recreate"}})["spec"]["strategy"] == {
        "type": "Recreate"
    }


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("web", "Always"),
        ("web:latest", "Always"),
        ("web:1.2", "IfNotPresent"),
        ("registry.example:5000/team/web", "Always"),
        ("registry.example:5000/team/web:1", "IfNotPresent"),
        ("web@sha256:" + "0" * 64, "IfNotPresent"),
    ],
)
def test_the_pull_policy_follows_from_the_tag(image: str, policy: str) -> None:
    pod = default("", "Pod", spec={"containers": [{"name": "web", "image": image}]})

    assert pod["spec"]["containers"][0]["imagePullPolicy"] == policy


def test_a_new_pod_gets_account_token_tolerations_and_status() -> None:
    limits = {"cpu": "1", "memory": "1Gi"}
    pod = default("", "Pod", spec={"containers": [{"name": "web", "image": "w:1", "resources": {"limits": limits}}]})

    spec = pod["spec"]
    assert spec["containers"][0]["resources"] == {"limits": limits, "requests": limits}
    assert (spec["serviceAccountName"], spec["serviceAccount"]) == ("default", "default")
    assert spec["containers"][0]["volumeMounts"][0]["name"] == spec["volumes"][0]["name"]
    assert [toleration["key"] for toleration in spec["tolerations"]] == [
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
    ]
    assert pod["status"] == {"phase": "Pending", "qosClass": "Guaranteed"}


def test_a_service_gets_address_and_ports() -> None:
    spec = default("", "Service", spec={"type": "NodePort", "selector": {"a": "b"}, "ports": [{"port": 80}]})["spec"]

    assert spec["clusterIP"].startswith("10.")
    assert spec["clusterIPs"] == [spec["clusterIP"]]
    assert 30000 <= spec["ports"][0]["nodePort"] <= 32767
    assert spec["ports"][0] | {"nodePort": 0} == {"port": 80, "protocol": "TCP", "targetPort": 80, "nodePort": 0}
    assert spec["externalTrafficPolicy"] == spec["internalTrafficPolicy"] == "Cluster"
    assert (spec["ipFamilies"], spec["ipFamilyPolicy"], spec["sessionAffinity"]) == (["IPv4"], "SingleStack", "None")


def test_a_headless_service_keeps_none_and_an_external_name_gets_no_address() -> None:
    headless = default("", "Service", spec={"clusterIP": "None", "selector": {"a": "b"}})["spec"]
    external = default("", "Service", spec={"type": "ExternalName", "externalName": "example.com"})["spec"]

    assert headless["clusterIPs"] == ["None"]
    assert external == {"type": "ExternalName", "externalName": "example.com", "sessionAffinity": "None"}


def test_string_data_becomes_data() -> None:
    secret = default("", "Secret", data={"a": "eA=="}, stringData={"b": "ü"})

    assert secret["data"] == {"a": "eA==", "b": "w7w="}
    assert "stringData" not in secret
    assert secret["type"] == "Opaque"


def test_a_namespace_is_active_labelled_and_finalized() -> None:
    namespace = default("", "Namespace")

    assert namespace["metadata"]["labels"] == {"kubernetes.io/metadata.name": "web"}
    assert namespace["spec"] == {"finalizers": ["kubernetes"]}
    assert namespace["status"] == {"phase": "Active"}


def test_an_autoscaler_fills_the_behaviour_that_was_begun() -> None:
    spec = default("autoscaling", "HorizontalPodAutoscaler", spec={"behavior": {"scaleDown": {"policies": []}}})["spec"]

    assert spec["minReplicas"] == 1
    assert spec["metrics"][0]["resource"]["target"] == {"type": "Utilization", "averageUtilization": 80}
    assert spec["behavior"]["scaleUp"]["stabilizationWindowSeconds"] == 0
    assert spec["behavior"]["scaleDown"]["selectPolicy"] == "Max"


def test_a_job_gets_a_selector_of_its_own_uid() -> None:
    job = default("batch", "Job", metadata={"uid": "u-1"}, spec={"template": {"spec": {"restartPolicy": "Never"}}})

    assert job["spec"]["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": "u-1"}}
    assert job["spec"]["template"]["metadata"]["labels"]["batch.kubernetes.io/job-name"] == "web"
    assert (job["spec"]["completions"], job["spec"]["parallelism"], job["spec"]["backoffLimit"]) == (1, 1, 6)


def test_a_cron_jobs_template_gets_defaults_but_no_selector() -> None:
    template = {"spec": {"template": {"spec": {"containers": [{"name": "a", "image": "a:1"}]}}}}
    spec = default("batch", "CronJob", spec={"schedule": "* * * * *", "jobTemplate": template})["spec"]

    assert spec["concurrencyPolicy"] == "Allow"
    assert spec["jobTemplate"]["spec"]["template"]["spec"] == POD_DEFAULTS | {
        "containers": spec["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    }
    assert "selector" not in spec["jobTemplate"]["spec"]


def test_rbac_subjects_and_roles_get_their_groups() -> None:
    binding = default(
        "rbac.authorization.k8s.io",
        "RoleBinding",
        roleRef={"kind": "Role", "name": "r"},
        subjects=[{"kind": "User", "name": "u"}, {"kind": "ServiceAccount", "name": "s"}],
    )

    assert binding["roleRef"]["apiGroup"] == "rbac.authorization.k8s.io"
    assert [subject.get("apiGroup") for subject in binding["subjects"]] == ["rbac.authorization.k8s.io", None]


def test_a_definition_gets_names_conversion_and_stored_version() -> None:
    names = {"plural": "things", "kind": "Thing"}
    versions = [{"name": "v1", "served": True, "storage": True}]
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": versions}

    definition = default("apiextensions.k8s.io", "CustomResourceDefinition", spec=spec)

    assert definition["spec"]["names"] == names | {"singular": "thing", "listKind": "ThingList"}
    assert definition["spec"]["conversion"] == {"strategy": "None"}
    assert definition["status"]["storedVersions"] == ["v1"]


@pytest.mark.corpus
def test_real_manifests_take_defaults_once(shared: Path) -> None:
    yaml = pytest.importorskip("yaml")
    kinds = {(kind.api_version, kind.kind): kind for kind in BUILT_IN}
    text = (shared / "corpus/microservices-demo/release/kubernetes-manifests.yaml").read_text()
    for obj in filter(None, yaml.load_all(text, yaml.CSafeLoader)):
        kind = kinds[obj["apiVersion"], obj["kind"]]
        once = apply_defaults(kind, obj)
        assert apply_defaults(kind, once) == once
