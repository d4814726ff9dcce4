from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from syncd.sandbox.controllers import base

if TYPE_CHECKING:
    from tests.unit.sandbox.behaviour.conftest import Cluster

LABELS = {"app": "web"}


def template(image: str = "web:1", **spec: Any) -> dict[str, Any]:
    return {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "web", "image": image}]} | spec}


def workload(image: str = "web:1", **fields: Any) -> dict[str, Any]:
    return {"spec": {"selector": {"matchLabels": LABELS}, "template": template(image)} | fields}


def status(cluster: Cluster, obj: dict[str, Any]) -> dict[str, Any]:
    now = cluster.get(obj)
    return dict(now.get("status", {})) if now is not None else {}


def conditions(cluster: Cluster, obj: dict[str, Any]) -> dict[str, tuple[str, str]]:
    found = status(cluster, obj).get("conditions") or ()
    return {item["type"]: (item["status"], item.get("reason", "")) for item in found}


def ready(cluster: Cluster, deployment: dict[str, Any]) -> bool:
    now = cluster.get(deployment)
    if now is None:
        return False
    state, wanted = now.get("status", {}), now["spec"]["replicas"]
    return bool(
        state.get("observedGeneration") == now["metadata"]["generation"]
        and state.get("updatedReplicas", 0) == state.get("availableReplicas", 0) == state.get("replicas", 0) == wanted
    )


def test_a_deployment_becomes_available(cluster: Cluster) -> None:
    deployment = cluster.create("apps", "Deployment", "web", **workload(replicas=3))

    cluster.until(lambda: ready(cluster, deployment))

    assert len(cluster.all("", "Pod")) == 3
    assert conditions(cluster, deployment) == {
        "Available": ("True", "MinimumReplicasAvailable"),
        "Progressing": ("True", "NewReplicaSetAvailable"),
    }


def test_a_new_image_is_rolled_out_and_the_old_replica_set_kept(cluster: Cluster) -> None:
    deployment = cluster.create("apps", "Deployment", "web", **workload(replicas=2))
    cluster.until(lambda: ready(cluster, deployment))

    cluster.change(deployment, template=template("web:2"))
    cluster.until(lambda: {pod["spec"]["containers"][0]["image"] for pod in cluster.all("", "Pod")} == {"web:2"})
    cluster.until(lambda: ready(cluster, deployment))

    assert sorted(item["spec"]["replicas"] for item in cluster.all("apps", "ReplicaSet")) == [0, 2]


def test_an_image_that_cannot_be_pulled_stops_the_rollout_but_not_the_service(cluster: Cluster) -> None:
    deployment = cluster.create("apps", "Deployment", "web", **workload(replicas=4))
    cluster.until(lambda: ready(cluster, deployment))

    cluster.change(deployment, template=template("web:bad"))
    cluster.until(
        lambda: any(
            item["state"].get("waiting", {}).get("reason") == "ImagePullBackOff"
            for pod in cluster.all("", "Pod")
            for item in pod.get("status", {}).get("containerStatuses", ())
        )
    )

    assert conditions(cluster, deployment)["Available"] == ("True", "MinimumReplicasAvailable")
    assert status(cluster, deployment)["availableReplicas"] >= 3


def test_a_stuck_rollout_passes_its_deadline(cluster: Cluster) -> None:
    fields = workload("web:bad", replicas=1, progressDeadlineSeconds=1)
    deployment = cluster.create("apps", "Deployment", "web", **fields)

    cluster.until(lambda: conditions(cluster, deployment).get("Progressing") == ("False", "ProgressDeadlineExceeded"))


def test_recreate_never_runs_two_templates_at_once(cluster: Cluster) -> None:
    deployment = cluster.create("apps", "Deployment", "web", **workload(strategy={"type": "Recreate"}))
    cluster.until(lambda: ready(cluster, deployment))
    seen: list[set[str]] = []
    cluster.context.storage.subscribe(
        None, lambda _: seen.append({pod["spec"]["containers"][0]["image"] for pod in cluster.all("", "Pod")})
    )

    cluster.change(deployment, template=template("web:2"))
    cluster.until(lambda: {"web:2"} in seen)

    assert {"web:1", "web:2"} not in seen


def test_a_paused_deployment_waits(cluster: Cluster) -> None:
    deployment = cluster.create("apps", "Deployment", "web", **workload(paused=True))

    cluster.until(lambda: conditions(cluster, deployment).get("Progressing") == ("Unknown", "DeploymentPaused"))

    assert cluster.all("", "Pod") == []


def test_scaling_down_to_nothing_takes_every_pod(cluster: Cluster) -> None:
    deployment = cluster.create("apps", "Deployment", "web", **workload(replicas=3))
    cluster.until(lambda: ready(cluster, deployment))

    cluster.change(deployment, replicas=0)

    cluster.until(lambda: ready(cluster, deployment) and not cluster.all("", "Pod"))


def test_orphaned_pods_are_adopted_by_the_next_owner(cluster: Cluster) -> None:
    deployment = cluster.create("apps", "Deployment", "web", **workload())
    cluster.until(lambda: ready(cluster, deployment))
    (pod,) = cluster.all("", "Pod")
    cluster.delete(deployment, "Orphan")
    cluster.until_gone(deployment)

    again = cluster.create("apps", "Deployment", "web", **workload())
    cluster.until(lambda: ready(cluster, again))

    assert [item["metadata"]["uid"] for item in cluster.all("", "Pod")] == [pod["metadata"]["uid"]]


@pytest.mark.parametrize("propagation", ["Background", "Foreground"])
def test_what_a_deployment_owns_goes_with_it(cluster: Cluster, propagation: str) -> None:
    deployment = cluster.create("apps", "Deployment", "web", **workload(replicas=2))
    cluster.until(lambda: ready(cluster, deployment))

    cluster.delete(deployment, propagation)
    cluster.until_gone(deployment)

    cluster.until(lambda: not cluster.all("apps", "ReplicaSet") and not cluster.all("", "Pod"))


def test_in_the_foreground_the_owner_goes_last(cluster: Cluster) -> None:
    deployment = cluster.create("apps", "Deployment", "web", **workload(replicas=2))
    cluster.until(lambda: ready(cluster, deployment))
    gone: list[str] = []
    cluster.context.storage.subscribe(
        None, lambda change: gone.append(change.resource.resource) if change.type == "DELETED" else None
    )

    cluster.delete(deployment, "Foreground")
    cluster.until_gone(deployment)

    owned = [item for item in gone if item in ("pods", "replicasets", "deployments")]
    assert owned == ["pods", "pods", "replicasets", "deployments"]


def test_an_object_whose_owner_never_was_is_collected(cluster: Cluster) -> None:
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": "0"}
    orphan = cluster.create("", "ConfigMap", "orphan", metadata={"ownerReferences": [reference]})

    cluster.until_gone(orphan)


def test_an_object_with_one_owner_left_stays_and_forgets_the_other(cluster: Cluster) -> None:
    first, second = (cluster.create("", "ConfigMap", name) for name in ("first", "second"))
    references = [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": o["metadata"]["name"], "uid": o["metadata"]["uid"]}
        for o in (first, second)
    ]
    dependent = cluster.create("", "ConfigMap", "dependent", metadata={"ownerReferences": references})

    cluster.delete(first)

    def forgot() -> bool:
        now = cluster.get(dependent)
        return now is not None and now["metadata"]["ownerReferences"] == references[1:]

    cluster.until(forgot)


def test_an_object_with_an_owner_of_unknown_kind_is_kept(cluster: Cluster) -> None:
    reference = {"apiVersion": "example.com/v1", "kind": "Unknown", "name": "owner", "uid": "0"}
    kept = cluster.create("", "ConfigMap", "kept", metadata={"ownerReferences": [reference]})
    probe = {"apiVersion": "v1", "kind": "ConfigMap", "name": "none", "uid": "1"}
    collected = cluster.create("", "ConfigMap", "collected", metadata={"ownerReferences": [probe]})

    cluster.until_gone(collected)  # by then the collector has seen the other one too

    assert cluster.get(kept) is not None


def test_a_namespace_is_emptied_before_it_goes(cluster: Cluster) -> None:
    namespace = cluster.create("", "Namespace", "shop")
    cluster.until(lambda: len(cluster.all("", "ServiceAccount", "shop")) == 1)
    cluster.create("apps", "Deployment", "web", metadata={"namespace": "shop"}, **workload(replicas=2))
    cluster.until(lambda: len(cluster.all("", "Pod", "shop")) == 2)

    cluster.delete(namespace)
    cluster.until_gone(namespace)

    assert not cluster.context.storage.namespaced_resources("shop")


def test_a_namespace_waits_for_finalizers_and_says_so(cluster: Cluster) -> None:
    namespace = cluster.create("", "Namespace", "shop")
    held = cluster.create("", "ConfigMap", "held", metadata={"namespace": "shop", "finalizers": ["example.com/hold"]})
    cluster.delete(namespace)
    cluster.until(lambda: conditions(cluster, namespace).get("NamespaceFinalizersRemaining", ("",))[0] == "True")

    now = cluster.get(held)
    assert now is not None
    cluster.objects.update(cluster.kind(held), now | {"metadata": now["metadata"] | {"finalizers": []}}, manager="test")

    cluster.until_gone(namespace)


def test_every_namespace_has_an_account_and_a_certificate_again(cluster: Cluster) -> None:
    cluster.until(lambda: len(cluster.all("", "ServiceAccount")) == 1)
    account = cluster.all("", "ServiceAccount")[0]

    cluster.delete(account)

    cluster.until(
        lambda: [item["metadata"]["uid"] for item in cluster.all("", "ServiceAccount")] not in ([], [account])
    )


def test_a_stateful_set_has_pods_and_claims_by_ordinal(cluster: Cluster) -> None:
    storage = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    claim = {"metadata": {"name": "data"}, "spec": storage}
    fields = workload(replicas=2, serviceName="web", volumeClaimTemplates=[claim])
    stateful_set = cluster.create("apps", "StatefulSet", "web", **fields)

    cluster.until(lambda: status(cluster, stateful_set).get("readyReplicas") == 2)

    assert [pod["metadata"]["name"] for pod in cluster.all("", "Pod")] == ["web-0", "web-1"]
    cluster.until(
        lambda: [claim["status"].get("phase") for claim in cluster.all("", "PersistentVolumeClaim")] == ["Bound"] * 2
    )

    cluster.change(stateful_set, template=template("web:2"))
    cluster.until(lambda: [p["spec"]["containers"][0]["image"] for p in cluster.all("", "Pod")] == ["web:2"] * 2)
    cluster.until(
        lambda: status(cluster, stateful_set)["currentRevision"] == status(cluster, stateful_set)["updateRevision"]
    )


def test_a_daemon_set_runs_on_the_one_node(cluster: Cluster) -> None:
    daemon_set = cluster.create("apps", "DaemonSet", "agent", **workload())

    cluster.until(lambda: status(cluster, daemon_set).get("numberReady") == 1)

    assert cluster.all("", "Pod")[0]["spec"]["nodeName"] == base.NODE_NAME


def test_a_job_completes(cluster: Cluster) -> None:
    spec = {"completions": 3, "parallelism": 2, "template": template(restartPolicy="Never")}
    job = cluster.create("batch", "Job", "once", spec=spec)

    cluster.until(lambda: conditions(cluster, job).get("Complete", ("",))[0] == "True")

    assert status(cluster, job)["succeeded"] == 3
    assert {pod["status"]["phase"] for pod in cluster.all("", "Pod")} == {"Succeeded"}


def test_endpoints_follow_the_pods_and_copy_the_labels_of_their_service(cluster: Cluster) -> None:
    deployment = cluster.create("apps", "Deployment", "web", **workload(replicas=2))
    spec = {"selector": LABELS, "ports": [{"port": 80}]}
    service = cluster.create("", "Service", "web", metadata={"labels": {"mark": "ours"}}, spec=spec)

    def addresses() -> int:
        found = cluster.all("discovery.k8s.io", "EndpointSlice")
        return sum(len(item["endpoints"] or ()) for item in found)

    cluster.until(lambda: ready(cluster, deployment) and addresses() == 2)
    assert [item["metadata"]["labels"]["mark"] for item in cluster.all("discovery.k8s.io", "EndpointSlice")] == ["ours"]
    assert cluster.all("", "Endpoints")[0]["metadata"]["labels"]["mark"] == "ours"

    cluster.delete(service)
    cluster.until(lambda: not cluster.all("", "Endpoints") and not cluster.all("discovery.k8s.io", "EndpointSlice"))


def test_an_autoscaler_lifts_its_target_to_the_minimum(cluster: Cluster) -> None:
    deployment = cluster.create("apps", "Deployment", "web", **workload(replicas=1))
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    spec = {"minReplicas": 3, "maxReplicas": 5, "scaleTargetRef": target}
    cluster.create("autoscaling", "HorizontalPodAutoscaler", "web", spec=spec)

    cluster.until(lambda: ready(cluster, deployment) and len(cluster.all("", "Pod")) == 3)


def test_a_budget_counts_what_may_go(cluster: Cluster) -> None:
    cluster.create("apps", "Deployment", "web", **workload(replicas=3))
    spec = {"minAvailable": "50%", "selector": {"matchLabels": LABELS}}
    budget = cluster.create("policy", "PodDisruptionBudget", "web", spec=spec)

    cluster.until(lambda: status(cluster, budget).get("disruptionsAllowed") == 1)

    assert conditions(cluster, budget) == {"DisruptionAllowed": ("True", "SufficientPods")}


def test_a_definition_is_established_and_emptied_before_it_goes(cluster: Cluster) -> None:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    spec = {"group": "example.com", "scope": "Namespaced", "names": {"kind": "Widget", "plural": "widgets"}}
    definition = cluster.create(
        "apiextensions.k8s.io", "CustomResourceDefinition", "widgets.example.com", spec=spec | {"versions": [version]}
    )
    cluster.until(lambda: conditions(cluster, definition).get("Established", ("",))[0] == "True")
    kind = next(kind for kind in cluster.objects.kinds() if kind.kind == "Widget")
    metadata = {"name": "a", "namespace": "default", "finalizers": ["example.com/hold"]}
    widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": metadata}
    cluster.objects.create(kind, widget, manager="test")

    cluster.delete(definition)
    cluster.until(lambda: "deletionTimestamp" in (cluster.objects.find(kind, "default", "a") or widget)["metadata"])
    assert cluster.get(definition) is not None, "it waits for the finalizers of its objects"
    held = cluster.objects.find(kind, "default", "a")
    assert held is not None
    cluster.objects.update(kind, held | {"metadata": held["metadata"] | {"finalizers": []}}, manager="test")

    cluster.until_gone(definition)


def test_two_definitions_cannot_share_a_name(cluster: Cluster) -> None:
    schema = {"openAPIV3Schema": {"type": "object"}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    made = []
    for plural in ("widgets", "gadgets"):
        names = {"kind": "Widget", "plural": plural, "singular": plural}
        spec = {"group": "example.com", "scope": "Cluster", "names": names, "versions": [version]}
        made.append(
            cluster.create("apiextensions.k8s.io", "CustomResourceDefinition", f"{plural}.example.com", spec=spec)
        )
        cluster.until(lambda: "Established" in conditions(cluster, made[-1]))

    assert conditions(cluster, made[1])["NamesAccepted"] == ("False", "KindConflict")
    assert conditions(cluster, made[1])["Established"] == ("False", "NotAccepted")


def test_controllers_are_quiet_when_nothing_changes(cluster: Cluster) -> None:
    deployment = cluster.create("apps", "Deployment", "web", **workload(replicas=2))
    cluster.until(lambda: ready(cluster, deployment))
    probe = cluster.create("", "ConfigMap", "probe")
    fence = {"apiVersion": "v1", "kind": "ConfigMap", "name": "none", "uid": "0"}
    cluster.until_gone(cluster.create("", "ConfigMap", "fence", metadata={"ownerReferences": [fence]}))
    revision = cluster.context.storage.revision

    cluster.until_gone(cluster.create("", "ConfigMap", "fence", metadata={"ownerReferences": [fence]}))

    assert cluster.context.storage.revision == revision + 2, "nothing but the second fence came and went"
    assert cluster.get(probe) == probe
