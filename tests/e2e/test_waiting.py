"""Waiting for health, for other Syncs and for windows, and living with controllers that write too, on a real server."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.clusters import RealCluster
from tests.support.daemon import DaemonProcess, eventually, metric, sync_document

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.controlplane.fixtures import NewNamespace
    from tests.controlplane.server import ControlPlane
    from tests.support.repository import Repository

pytestmark = pytest.mark.controlplane

JSON = dict[str, Any]


@pytest.fixture
def namespace(namespace_factory: NewNamespace) -> str:
    """A namespace of this test's own, whose name the Sync has too."""
    return namespace_factory()


def workload(kind: str, namespace: str, *, image: str = "example.com/web:1", **pod: Any) -> JSON:
    """A Deployment of one replica, or a Job."""
    spec = {"containers": [{"name": "web", "image": image}], **pod}
    if kind == "Job":
        document: JSON = {"apiVersion": "batch/v1", "spec": {"template": {"spec": {**spec, "restartPolicy": "Never"}}}}
    else:
        template = {"metadata": {"labels": {"app": "web"}}, "spec": spec}
        selector = {"matchLabels": {"app": "web"}}
        wanted = {"replicas": 1, "progressDeadlineSeconds": 2, "selector": selector, "template": template}
        document = {"apiVersion": "apps/v1", "spec": wanted}
    return {**document, "kind": kind, "metadata": {"name": "web", "namespace": namespace}}


def config_map(namespace: str, name: str = "settings", **data: str) -> JSON:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}, "data": data}


def commit(repository: Repository, *documents: JSON, folder: str = "") -> str:
    return repository.commit({f"{folder}all.yaml": "---\n".join(json.dumps(item) + "\n" for item in documents)})


def reason(*wanted: str) -> Callable[[JSON], bool]:
    return lambda status: status["reason"] in wanted


def test_a_stuck_image_is_waited_for_then_told_with_its_events_and_mended_by_the_next_commit(
    control_plane: ControlPlane, repository: Repository, namespace: str, tmp_path: Path
) -> None:
    api = control_plane.api
    # No scheduler takes these Pods, so that nobody but this test plays their kubelet.
    commit(repository, workload("Deployment", namespace, schedulerName="nobody"))
    sync = sync_document(namespace, repository.url, wait=True, timeout="60s")
    with DaemonProcess(tmp_path, control_plane.kubeconfig, sync) as daemon:
        waiting = daemon.wait_for(namespace, "waits", reason("Progressing"))
        assert waiting["state"] == "Synced"
        assert f"waiting for Deployment.apps {namespace}/web" in waiting["message"]
        pods = f"/api/v1/namespaces/{namespace}/pods"
        pod = eventually("there is a Pod", lambda: api.get(pods)["items"])[0]["metadata"]
        state = {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}
        status = {"name": "web", "image": "x", "imageID": "", "ready": False, "restartCount": 0, "state": state}
        api.merge(f"{pods}/{pod['name']}/status", {"status": {"containerStatuses": [status]}})
        about = {"kind": "Pod", "namespace": namespace, "name": pod["name"], "uid": pod["uid"]}
        event: JSON = {"type": "Warning", "reason": "Failed", "message": "pull of example.com/web:1 failed"}
        event |= {"metadata": {"name": "pull", "namespace": namespace}, "involvedObject": about}
        api.create(f"/api/v1/namespaces/{namespace}/events", event)
        failed = daemon.wait_for(namespace, "gives up", reason("HealthCheckFailed"))
        assert failed["health"] == "Degraded"
        for words in ("Deployment.apps", "progress", "ImagePullBackOff", "pull of example.com/web:1 failed"):
            assert words in failed["error"], words
        assert metric(daemon, "syncd_sync_failing_since_timestamp_seconds", sync=f"syncd/{namespace}")
        mended = commit(repository, workload("Deployment", namespace, image="example.com/web:2"))
        daemon.wait_for(
            namespace, "recovers", lambda now: now["reason"] == "Succeeded" and now["applied"]["commit"] == mended
        )


def test_a_job_is_done_when_it_is_complete(
    control_plane: ControlPlane, repository: Repository, namespace: str, tmp_path: Path
) -> None:
    commit(repository, workload("Job", namespace))
    with DaemonProcess(
        tmp_path, control_plane.kubeconfig, sync_document(namespace, repository.url, wait=True)
    ) as daemon:
        done = daemon.wait_for(namespace, "is done", reason("Succeeded"))
    assert [(item["kind"], item["health"], item["healthMessage"]) for item in done["objects"]] == [
        ("Job", "Healthy", "is complete")
    ]


def test_one_sync_waits_for_another_and_is_woken_by_its_health(
    control_plane: ControlPlane, repository: Repository, namespace: str, tmp_path: Path
) -> None:
    commit(repository, config_map(namespace, "shop"), folder="shop/")
    newest = commit(repository, workload("Deployment", namespace), folder="base/")
    base = sync_document(f"{namespace}-base", repository.url, path="base")
    shop = sync_document(
        f"{namespace}-shop", repository.url, path="shop", interval="1h", dependsOn=[{"name": f"{namespace}-base"}]
    )
    lost = sync_document(f"{namespace}-lost", repository.url, path="shop", dependsOn=[{"name": "nobody"}])
    with DaemonProcess(tmp_path, control_plane.kubeconfig, base, shop, lost) as daemon:
        daemon.wait_synced(f"{namespace}-shop", newest)
        error = daemon.wait_for(f"{namespace}-lost", "says what is missing", reason("DependencyNotFound"))["error"]
        assert "syncd/nobody" in error
    found = control_plane.api.get(f"/apis/apps/v1/namespaces/{namespace}/deployments/web")
    ready = next(item for item in found["status"]["conditions"] if item["type"] == "Available")
    made = control_plane.api.get(f"/api/v1/namespaces/{namespace}/configmaps/shop")["metadata"]["creationTimestamp"]
    assert ready["lastTransitionTime"] <= made


def test_a_closed_window_shows_what_it_holds_back(
    control_plane: ControlPlane, repository: Repository, namespace: str, tmp_path: Path
) -> None:
    commit(repository, config_map(namespace))
    always = {"kind": "Deny", "schedule": "* * * * *", "duration": "1h"}
    with DaemonProcess(
        tmp_path, control_plane.kubeconfig, sync_document(namespace, repository.url, windows=[always])
    ) as daemon:
        held = daemon.wait_for(namespace, "is held", reason("WindowClosed"))
        assert "the Deny window '* * * * *' (UTC) is open" in held["message"]
        assert (held["state"], held["applied"], held["error"]) == ("OutOfSync", None, "")
        assert [(item["name"], item["reason"]) for item in held["objects"]] == [("settings", "WindowClosed")]
        assert metric(daemon, "syncd_sync_waiting", sync=f"syncd/{namespace}", reason="WindowClosed") == 1
    assert control_plane.api.find(f"/api/v1/namespaces/{namespace}/configmaps/settings") is None
    assert control_plane.api.find(f"/api/v1/namespaces/syncd/configmaps/{namespace}") is None, "it left a trace"


def test_an_autoscaler_and_an_injector_that_write_too_cause_no_endless_writes(
    control_plane: ControlPlane, repository: Repository, namespace: str, tmp_path: Path
) -> None:
    api, deployments = control_plane.api, f"/apis/apps/v1/namespaces/{namespace}/deployments"
    inject_sidecars(control_plane, namespace)
    newest = commit(repository, workload("Deployment", namespace))
    sync = sync_document(namespace, repository.url, drift={"managers": ["horizontal-pod-autoscaler"]})
    cluster = RealCluster(control_plane)
    with DaemonProcess(tmp_path, control_plane.kubeconfig, sync) as daemon:
        daemon.wait_synced(namespace, newest)
        api.merge(
            f"{deployments}/web/scale?fieldManager=horizontal-pod-autoscaler",
            {"apiVersion": "autoscaling/v1", "kind": "Scale", "spec": {"replicas": 3}},
        )
        mark = cluster.mark()
        for _ in range(5):
            wait_for_next(daemon, namespace)
        assert [asked for asked in cluster.since(mark) if asked.writes] == []
        newest = commit(repository, workload("Deployment", namespace, image="example.com/web:2"))
        daemon.wait_synced(namespace, newest)
    spec = api.get(f"{deployments}/web")["spec"]
    assert spec["replicas"] == 3
    assert [item["image"] for item in spec["template"]["spec"]["containers"]] == ["example.com/web:2", "proxy:1"]


def test_a_webhook_that_rewrites_what_git_says_is_not_fought(
    control_plane: ControlPlane, repository: Repository, namespace: str, tmp_path: Path
) -> None:
    rewrites = '[JSONPatch{op: "replace", path: "/data/colour", value: "mutated"}]'
    mutate(
        control_plane, namespace, "", "configmaps", {"patchType": "JSONPatch", "jsonPatch": {"expression": rewrites}}
    )
    probe = config_map(namespace, "probe", colour="blue")
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    eventually(
        "the server rewrites",
        lambda: control_plane.api.create(f"{path}?dryRun=All", probe)["data"]["colour"] == "mutated",
    )
    newest = commit(repository, config_map(namespace, colour="blue"))
    cluster = RealCluster(control_plane)
    with DaemonProcess(tmp_path, control_plane.kubeconfig, sync_document(namespace, repository.url)) as daemon:
        daemon.wait_synced(namespace, newest)
        mark = cluster.mark()
        for _ in range(5):
            wait_for_next(daemon, namespace)
        assert [asked for asked in cluster.since(mark) if asked.writes] == []
        newest = commit(repository, config_map(namespace, colour="green"))
        daemon.wait_synced(namespace, newest)
        mark = cluster.mark()
        for _ in range(5):
            wait_for_next(daemon, namespace)
        assert [asked for asked in cluster.since(mark) if asked.writes] == []
        daemon.kill()
        mark = cluster.mark()
        daemon.start()
        daemon.wait_synced(namespace, newest)
        for _ in range(5):
            wait_for_next(daemon, namespace)
        assert len([asked for asked in cluster.since(mark) if asked.writes]) <= 1, (
            "it is asked once whether it is equal"
        )
    assert control_plane.api.get(f"{path}/settings")["data"] == {"colour": "mutated"}


def wait_for_next(daemon: DaemonProcess, name: str) -> None:
    """Wait until another reconcile has ended."""
    seen = daemon.status(name)["lastAttempt"]
    daemon.wait_for(name, "is reconciled again", lambda now: now["lastAttempt"] != seen)


def inject_sidecars(control_plane: ControlPlane, namespace: str) -> None:
    """Have the server add a container and a label to every Deployment of a namespace, as an injecting webhook would."""
    expression = (
        "Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{containers: "
        '[Object.spec.template.spec.containers{name: "proxy", image: "proxy:1"}]}}}}'
    )
    applied = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}
    mutate(control_plane, namespace, "apps", "deployments", applied)
    api = control_plane.api

    def injects() -> bool:
        made = api.create(
            f"/apis/apps/v1/namespaces/{namespace}/deployments?dryRun=All", workload("Deployment", namespace)
        )
        return len(made["spec"]["template"]["spec"]["containers"]) == 2

    eventually("the server injects", injects)


def mutate(control_plane: ControlPlane, namespace: str, group: str, resource: str, mutation: JSON) -> None:
    """Have the server change every object of a kind in one namespace, as a mutating webhook would."""
    policies = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies"
    rule = {"apiGroups": [group], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": [resource]}
    only_here = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
    policy = {
        "matchConstraints": {"resourceRules": [rule], "namespaceSelector": only_here},
        "mutations": [mutation],
        "reinvocationPolicy": "Never",
        "failurePolicy": "Fail",
    }
    api = control_plane.api
    api.create(policies, {"metadata": {"name": namespace}, "spec": policy})
    binding = {"metadata": {"name": namespace}, "spec": {"policyName": namespace}}
    api.create(policies.replace("policies", "policybindings"), binding)


def test_a_tug_of_war_is_slowed_down_and_the_rival_named(
    control_plane: ControlPlane, repository: Repository, namespace: str, tmp_path: Path
) -> None:
    api, path = control_plane.api, f"/api/v1/namespaces/{namespace}/configmaps"
    newest = commit(repository, config_map(namespace, colour="blue"), config_map(namespace, "other", colour="blue"))
    over = threading.Event()

    def rival() -> None:
        while not over.wait(0.02):
            if api.get(f"{path}/settings")["data"]["colour"] == "blue":
                api.merge(f"{path}/settings?fieldManager=rival-operator", {"data": {"colour": "red"}})

    cluster = RealCluster(control_plane)
    with DaemonProcess(tmp_path, control_plane.kubeconfig, sync_document(namespace, repository.url)) as daemon:
        daemon.wait_synced(namespace, newest)
        mark = cluster.mark()
        thread = threading.Thread(target=rival)
        thread.start()
        try:
            told = daemon.wait_for(namespace, "names the rival", lambda now: bool(now["fights"]))
            assert told["fights"][0]["manager"] == "rival-operator"
            assert metric(daemon, "syncd_sync_tug_of_war_objects", manager="rival-operator") == 1
            api.merge(f"{path}/other?fieldManager=a-person", {"data": {"colour": "red"}})
            eventually("others are repaired", lambda: api.get(f"{path}/other")["data"]["colour"] == "blue")
        finally:
            over.set()
            thread.join()
        daemon.wait_for(
            namespace,
            "is repaired for good",
            lambda now: now["state"] == "Synced" and api.get(f"{path}/settings")["data"]["colour"] == "blue",
        )
        writes = [asked for asked in cluster.since(mark) if asked.writes and asked.name == "settings"]
        assert len(writes) < 20, "nothing slowed it down"
        assert '"event":"tug of war"' in daemon.log.read_text()


def test_an_object_waits_for_the_health_of_what_it_depends_on_and_holds_up_nobody_else(
    control_plane: ControlPlane, repository: Repository, namespace: str, tmp_path: Path
) -> None:
    late = config_map(namespace, "late")
    late["metadata"]["annotations"] = {"config.kubernetes.io/depends-on": f"apps/namespaces/{namespace}/Deployment/web"}
    newest = commit(repository, workload("Deployment", namespace, schedulerName="nobody"), late, config_map(namespace))
    maps = f"/api/v1/namespaces/{namespace}/configmaps"
    sync = sync_document(namespace, repository.url, interval="1h")
    with DaemonProcess(tmp_path, control_plane.kubeconfig, sync) as daemon:
        waiting = daemon.wait_for(namespace, "waits", reason("DependencyNotReady"))
        assert f"ConfigMap {namespace}/late waits for Deployment.apps {namespace}/web" in waiting["message"]
        assert (waiting["state"], waiting["error"], waiting["drift"]) == ("OutOfSync", "", [])
        assert control_plane.api.find(f"{maps}/settings") is not None
        assert control_plane.api.find(f"{maps}/late") is None
        place_pods(control_plane, namespace)
        done = daemon.wait_synced(namespace, newest)
        assert (done["reason"], done["drift"], done["inventorySize"]) == ("Succeeded", [], 3)
    assert control_plane.api.find(f"{maps}/late") is not None


def place_pods(control_plane: ControlPlane, namespace: str) -> None:
    """Put Pods on the node, as a scheduler would."""
    node = control_plane.api.get("/api/v1/nodes")["items"][0]["metadata"]["name"]
    pods = f"/api/v1/namespaces/{namespace}/pods"
    for pod in eventually("there is a Pod", lambda: control_plane.api.get(pods)["items"]):
        name = pod["metadata"]["name"]
        target = {"kind": "Node", "apiVersion": "v1", "name": node}
        control_plane.api.create(f"{pods}/{name}/binding", {"metadata": {"name": name}, "target": target})
