"""The control plane itself: it is real, its parts can be broken one by one, and it leaves nothing behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import sysconfig
import threading
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import urllib3

from tests.controlplane.api import Api
from tests.controlplane.binaries import MissingProgramsError, find_binaries, module_version
from tests.controlplane.fixtures import need_parts
from tests.controlplane.proxy import Proxy
from tests.controlplane.server import ControlPlane
from tests.controlplane.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.controlplane.fixtures import NewNamespace, StartControlPlane

pytestmark = pytest.mark.controlplane

SECONDS = 120
REPOSITORY = Path(__file__).parents[2]
KUBECTL = Path(sysconfig.get_path("scripts")) / "kubectl"
STORAGE_AND_API = ("etcd", "kube-apiserver")


def kubectl(kubeconfig: Path, *arguments: str, given: Any = None) -> str:
    """Run kubectl and return what it printed."""
    done = subprocess.run(
        [KUBECTL, f"--kubeconfig={kubeconfig}", *arguments],
        input=None if given is None else json.dumps(given),
        env={"HOME": str(kubeconfig.parent), "PATH": os.defpath},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def pod_template(name: str, **spec: Any) -> dict[str, Any]:
    containers = [{"name": name, "image": "registry.example/app:1"}]
    return {"metadata": {"labels": {"app": name}}, "spec": {"containers": containers, **spec}}


def deployment(name: str, replicas: int) -> dict[str, Any]:
    selector = {"matchLabels": {"app": name}}
    spec = {"replicas": replicas, "selector": selector, "template": pod_template(name)}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


def config_map(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"key": "value"}}


def unanswered(api: Api, path: str, seconds: float = 2) -> bool:
    """Tell whether a request gets no answer in the given time."""
    try:
        api.ask("GET", path, seconds=seconds)
    except urllib3.exceptions.HTTPError:
        return True
    return False


def parts_of(folder: Path) -> list[int]:
    """Return the ids of processes that were started with something in the folder on their command line."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_text()
        except OSError:  # it has just ended
            continue
        if str(folder) in command and "tests.controlplane" not in command:
            found.append(int(process.name))
    return found


def test_parts_report_their_true_version(control_plane: ControlPlane) -> None:
    if control_plane.binaries.origin == "KUBEBUILDER_ASSETS":
        pytest.skip("programs from elsewhere have their own versions")
    release = module_version("k8s.io/kubernetes")
    assert control_plane.api.get("/version")["gitVersion"] == release
    versions = control_plane.binaries.versions()
    for part in ("kube-apiserver", "kube-controller-manager", "kube-scheduler"):
        assert versions[part] == f"Kubernetes {release}"
    assert module_version("go.etcd.io/etcd/server/v3").removeprefix("v") in versions["etcd"]
    assert release in kubectl(control_plane.kubeconfig, "version")


def test_deployment_rolls_out(control_plane: ControlPlane, namespace_factory: NewNamespace) -> None:
    need_parts(control_plane.binaries, "kube-controller-manager", "kube-scheduler", "kwok")
    namespace = namespace_factory()
    kubectl(control_plane.kubeconfig, "apply", "-n", namespace, "-f", "-", given=deployment("web", 3))
    kubectl(control_plane.kubeconfig, "rollout", "status", "-n", namespace, "deployment/web", f"--timeout={SECONDS}s")
    live = control_plane.api.get(f"/apis/apps/v1/namespaces/{namespace}/deployments/web")
    assert live["status"]["availableReplicas"] == 3


def test_job_completes(control_plane: ControlPlane, namespace_factory: NewNamespace) -> None:
    need_parts(control_plane.binaries, "kube-controller-manager", "kube-scheduler", "kwok")
    namespace = namespace_factory()
    spec = {"template": pod_template("once", restartPolicy="Never")}
    jobs = f"/apis/batch/v1/namespaces/{namespace}/jobs"
    control_plane.api.create(jobs, {"metadata": {"name": "once"}, "spec": spec})
    kubectl(control_plane.kubeconfig, "wait", "-n", namespace, "job/once", "--for=condition=Complete", "--timeout=60s")


def test_namespace_with_pods_gets_deleted(control_plane: ControlPlane, namespace_factory: NewNamespace) -> None:
    need_parts(control_plane.binaries, "kube-controller-manager", "kube-scheduler", "kwok")
    namespace = namespace_factory()
    path = f"/api/v1/namespaces/{namespace}"
    control_plane.api.create(f"/apis/apps/v1/namespaces/{namespace}/deployments", deployment("web", 1))
    wait_for("the Pod", lambda: control_plane.api.get(f"{path}/pods")["items"], seconds=SECONDS)
    control_plane.api.delete(path)
    wait_for(f"{namespace} to be gone", lambda: control_plane.api.find(path) is None, seconds=SECONDS)


@pytest.mark.parametrize("end", ["restart", "kill"])
@pytest.mark.parametrize("part", STORAGE_AND_API)
def test_data_outlives_a_part(start_control_plane: StartControlPlane, part: str, end: str) -> None:
    own = start_control_plane(parts=STORAGE_AND_API)
    config_maps = "/api/v1/namespaces/default/configmaps"
    own.api.create(config_maps, config_map("kept"))
    if end == "restart":
        own.part(part).restart()
    else:
        own.part(part).kill().start()
    own.wait_ready()
    assert own.api.get(f"{config_maps}/kept")["data"] == {"key": "value"}


@pytest.mark.usefixtures("control_plane_binaries")
def test_a_new_start_in_the_same_folder_has_the_same_data_and_tokens(tmp_path: Path) -> None:
    with ControlPlane.start(tmp_path, parts=STORAGE_AND_API) as first:
        first.api.create("/api/v1/namespaces/default/configmaps", config_map("kept"))
        token = first.token_for("alice")
    with ControlPlane.start(tmp_path, parts=STORAGE_AND_API) as second:
        assert second.api.find("/api/v1/namespaces/default/configmaps/kept")
        assert second.token_for("alice") == token


def test_paused_storage_stalls_writes_until_it_is_resumed(start_control_plane: StartControlPlane) -> None:
    own = start_control_plane(parts=STORAGE_AND_API)
    config_maps = "/api/v1/namespaces/default/configmaps"
    etcd = own.part("etcd").pause()
    assert etcd.paused
    written: list[Any] = []
    writer = threading.Thread(target=lambda: written.append(own.api.ask("POST", config_maps, config_map("late"))))
    writer.start()
    # A second request tells that the first one is not merely slow.
    assert unanswered(own.api, f"{config_maps}/other")
    assert not written
    etcd.resume()
    writer.join(SECONDS)
    assert not writer.is_alive()
    wait_for(
        "writes to work", lambda: own.api.ask("POST", config_maps, config_map("next")).status < 300, seconds=SECONDS
    )


def test_paused_api_server_answers_nothing_until_it_is_resumed(start_control_plane: StartControlPlane) -> None:
    own = start_control_plane(parts=STORAGE_AND_API)
    server = own.part("kube-apiserver").pause()
    assert unanswered(own.api, "/version")
    server.resume()
    own.wait_ready()
    assert not server.paused


@pytest.mark.parametrize("break_it", [Proxy.refuse, Proxy.black_hole, partial(Proxy.delay, seconds=600)])
def test_proxy_breaks_and_mends(control_plane: ControlPlane, break_it: Callable[[Proxy], None]) -> None:
    proxy = control_plane.proxy()
    through = Api(proxy.url, control_plane.authority, control_plane.token)
    assert through.reaches("/version")
    break_it(proxy)
    assert unanswered(through, "/version")
    assert control_plane.api.reaches("/version")
    proxy.restore()
    wait_for("the API server through the proxy", lambda: through.reaches("/version"), seconds=SECONDS)
    assert release_through(control_plane.kubeconfig_for("alice", through=proxy))
    through.close()
    proxy.close()


def release_through(kubeconfig: Path) -> str:
    """Return the version that a server tells anybody who is somebody."""
    version: str = json.loads(kubectl(kubeconfig, "version", "-o", "json"))["serverVersion"]["gitVersion"]
    return version


def test_proxy_cuts_a_running_watch_once(control_plane: ControlPlane, namespace_factory: NewNamespace) -> None:
    proxy = control_plane.proxy()
    namespace = namespace_factory()
    command = ["get", "configmaps", "-n", namespace, "--watch", "-o", "name"]
    log = control_plane.audit()
    mark = log.mark()
    watch = subprocess.Popen(
        [KUBECTL, f"--kubeconfig={control_plane.kubeconfig_through(proxy)}", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for(
            "the watch",
            lambda: log.since(mark).where(verb="watch", namespace=namespace, agent="kubectl"),
            seconds=SECONDS,
        )
        assert proxy.connections
        proxy.cut()
        assert watch.wait(SECONDS) is not None
        assert release_through(control_plane.kubeconfig_through(proxy))
    finally:
        watch.kill()
        watch.communicate()
        proxy.close()


def test_another_user_may_nothing_until_rbac_says_so(
    control_plane: ControlPlane, namespace_factory: NewNamespace
) -> None:
    namespace = namespace_factory()
    alice = control_plane.api_for("alice", ["readers"])
    config_maps = f"/api/v1/namespaces/{namespace}/configmaps"
    assert alice.ask("GET", config_maps).status == 403
    subject = {"kind": "Group", "name": "readers", "apiGroup": "rbac.authorization.k8s.io"}
    role = {"kind": "ClusterRole", "name": "view", "apiGroup": "rbac.authorization.k8s.io"}
    bindings = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/rolebindings"
    control_plane.api.create(bindings, {"metadata": {"name": "readers"}, "subjects": [subject], "roleRef": role})
    wait_for("the binding to count", lambda: alice.ask("GET", config_maps).status == 200, seconds=SECONDS)
    assert alice.ask("POST", config_maps, config_map("mine")).status == 403
    who = kubectl(control_plane.kubeconfig_for("alice", ["readers"]), "auth", "whoami", "-o", "json")
    info = json.loads(who)["status"]["userInfo"]
    assert (info["username"], "readers" in info["groups"]) == ("alice", True)


def test_a_forged_token_is_refused(control_plane: ControlPlane) -> None:
    content, _, signature = control_plane.token_for("mallory", ["system:masters"]).partition(".")
    forged = f"{content}.{'0' * len(signature)}"
    for token in (forged, "nonsense", f"!.{signature}"):
        assert Api(control_plane.server, control_plane.authority, token).ask("GET", "/version").status == 401


def test_audit_log_lists_requests(control_plane: ControlPlane, namespace_factory: NewNamespace) -> None:
    namespace = namespace_factory()
    bob = control_plane.api_for("bob", ["system:masters"])
    log = control_plane.audit()
    config_maps = f"/api/v1/namespaces/{namespace}/configmaps"
    bob.ask("GET", config_maps)
    mark = log.mark()
    bob.create(f"{config_maps}?fieldManager=bob", config_map("seen"))
    bob.ask("GET", f"{config_maps}/absent")
    bob.ask("GET", f"{config_maps}?watch=true&timeoutSeconds=1")
    requests = log.since(mark).where(user="bob")
    assert requests.counts() == {("create", "configmaps"): 1, ("get", "configmaps"): 1, ("watch", "configmaps"): 1}
    (created,) = requests.where(writes=True, agent="controlplane-tests")
    assert (created.code, created.namespace, created.path) == (201, namespace, config_maps)
    assert created.query == "fieldManager=bob"
    (read,) = requests.where(verb="get")
    assert (read.code, read.name) == (404, "absent")


def test_audit_log_counts_a_watch_when_it_starts(control_plane: ControlPlane) -> None:
    carol = control_plane.api_for("carol", ["system:masters"])
    log = control_plane.audit()
    before = log.mark()
    watch = threading.Thread(target=carol.ask, args=("GET", "/api/v1/namespaces?watch=true&timeoutSeconds=2"))
    watch.start()
    wait_for("the watch", lambda: log.since(before).where(user="carol"), seconds=SECONDS)
    after = log.mark()
    watch.join(SECONDS)
    assert not log.since(after).where(user="carol")
    assert len(log.since(before).where(user="carol")) == 1


@pytest.mark.usefixtures("control_plane_binaries")
def test_all_parts_die_with_their_starter(tmp_path: Path) -> None:
    script = (
        "import sys, time\n"
        "from tests.controlplane.server import ControlPlane\n"
        "ControlPlane.start(sys.argv[1], parts=['etcd', 'kube-apiserver']).part('etcd').pause()\n"
        "print('started', flush=True)\n"
        "time.sleep(600)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, tmp_path], cwd=REPOSITORY, stdout=subprocess.PIPE, text=True
    ) as starter:
        assert starter.stdout is not None
        assert starter.stdout.readline() == "started\n"
        assert len(parts_of(tmp_path)) >= 2
        starter.send_signal(signal.SIGKILL)
    wait_for("all parts to be gone", lambda: not parts_of(tmp_path), seconds=SECONDS)


@pytest.mark.usefixtures("control_plane_binaries")
def test_up_and_down(tmp_path: Path) -> None:
    def run(command: str) -> str:
        return subprocess.run(
            [sys.executable, "-m", "tests.controlplane", command, "--dir", tmp_path],
            cwd=REPOSITORY,
            stdout=subprocess.PIPE,
            text=True,
            timeout=SECONDS,
            check=True,
        ).stdout

    try:
        assert run("up") == f"export KUBECONFIG={tmp_path / 'kubeconfig'}\n"
        assert "kube-system" in kubectl(tmp_path / "kubeconfig", "get", "namespaces")
        assert run("up") == f"export KUBECONFIG={tmp_path / 'kubeconfig'}\n"
    finally:
        run("down")
    assert not parts_of(tmp_path)
    run("down")


def test_other_programs_are_used_where_they_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, control_plane_binaries: Any
) -> None:
    assets = tmp_path / "assets"
    assets.mkdir()
    for part in STORAGE_AND_API:
        (assets / part).symlink_to(control_plane_binaries.path(part))
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(assets))
    with ControlPlane.start(tmp_path / "own") as own:
        assert own.parts == STORAGE_AND_API
        assert own.binaries.origin == "KUBEBUILDER_ASSETS"
        pod = {**pod_template("lonely"), "metadata": {"name": "lonely"}}
        own.api.create("/api/v1/namespaces/default/pods", pod)
    (assets / "etcd").unlink()
    with pytest.raises(MissingProgramsError, match="has no executable etcd"):
        find_binaries()
