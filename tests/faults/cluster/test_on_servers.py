"""The cluster room against servers that were not made for these tests: the sandbox, and a real control plane."""

from __future__ import annotations

import threading
import time
import uuid
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from syncd.cluster import Cluster, Event, EventType
from syncd.cluster.errors import (
    AlreadyExistsError,
    ApiError,
    BadRequestError,
    ConflictError,
    InvalidError,
    NotFoundError,
    NotServedError,
    UnauthorizedError,
)
from syncd.cluster.pacing import Pace
from syncd.cluster.watch import Timing
from syncd.inventory.names import APPLY_ID_LABEL
from syncd.model import GroupKind, ObjectKey, Write, WriteMethod
from syncd.sandbox.server import SandboxServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from syncd.cluster.discovery import Resource
    from syncd.model import JSONObject
    from tests.controlplane.fixtures import NewNamespace, StartControlPlane
    from tests.controlplane.server import ControlPlane

CONFIG_MAP = GroupKind("", "ConfigMap")
DEPLOYMENT = GroupKind("apps", "Deployment")
QUICK = Timing(lifetime=(3, 3), grace=1, bookmark_gap=2, short=0, pace=Pace(first=0.1, cap=0.5, spacing=0.05))


REAL_ONLY = pytest.mark.parametrize("place", [pytest.param("real", marks=pytest.mark.controlplane)], indirect=True)
"""For what the sandbox lets pass."""


class Place(NamedTuple):
    """Somewhere to test: a server, and a namespace of one's own in it."""

    kubeconfig: Path
    namespace: str
    real: bool


@pytest.fixture(params=["sandbox", pytest.param("real", marks=pytest.mark.controlplane)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    if request.param == "real":
        control_plane: ControlPlane = request.getfixturevalue("control_plane")
        namespace: NewNamespace = request.getfixturevalue("namespace_factory")
        yield Place(control_plane.kubeconfig, namespace(), real=True)
        return
    with SandboxServer() as server:
        server.write_kubeconfig(tmp_path / "kubeconfig")
        yield Place(tmp_path / "kubeconfig", "default", real=False)


@pytest.fixture
def cluster(place: Place) -> Iterator[Cluster]:
    with Cluster.connect(place.kubeconfig, user_agent="syncd-under-test") as opened:
        yield opened


@pytest.fixture
def somebody_else(place: Place) -> Iterator[Cluster]:
    with Cluster.connect(place.kubeconfig, user_agent="somebody-else") as opened:
        yield opened


def find(cluster: Cluster, kind: GroupKind) -> Resource:
    found = cluster.discovery.resources().find(kind)
    assert found is not None
    return found


def config_map(namespace: str, name: str, owner: str = "me", **data: str) -> JSONObject:
    metadata = {"name": name, "namespace": namespace, "labels": {APPLY_ID_LABEL: owner} if owner else {}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def deployment(namespace: str, name: str, **spec: Any) -> JSONObject:
    pod = {
        "metadata": {"labels": {"app": name}},
        "spec": {"containers": [{"name": "main", "image": "example.com/a:1"}]},
    }
    body = {"selector": {"matchLabels": {"app": name}}, "template": pod, **spec}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace},
        "spec": body,
    }


def data_patch(**data: str) -> Write:
    return Write(WriteMethod.JSON_MERGE_PATCH, {"data": data})


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    pause = threading.Event()
    while not condition():
        assert time.monotonic() < end, "it never came about"
        pause.wait(0.01)


def test_discovery_is_complete_and_a_second_one_costs_nothing(cluster: Cluster) -> None:
    known = cluster.discovery.resources()
    assert known.complete
    assert find(cluster, DEPLOYMENT).plural == "deployments"
    assert not find(cluster, GroupKind("", "Node")).namespaced
    assert cluster.discovery.refresh() == known


def test_schemas_come_from_the_server(cluster: Cluster) -> None:
    schema = cluster.schemas.schema_for(find(cluster, DEPLOYMENT))
    assert schema is not None
    assert schema.accepts_strategic
    assert cluster.schemas.schema_for(find(cluster, DEPLOYMENT)) is schema


def test_a_new_kind_is_found_with_its_schema(cluster: Cluster) -> None:
    group = f"g{uuid.uuid4().hex[:8]}.example.com"
    kind = GroupKind(group, "Widget")
    properties = {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}},
    }
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"widgets.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": "Widget", "plural": "widgets", "singular": "widget", "listKind": "WidgetList"},
            "versions": [version],
        },
    }
    assert cluster.discovery.resources().find(kind) is None
    crds = find(cluster, GroupKind("apiextensions.k8s.io", "CustomResourceDefinition"))
    cluster.client.create(crds, definition)
    until(lambda: cluster.discovery.refresh().find(kind) is not None)
    schema = cluster.schemas.schema_for(find(cluster, kind))
    assert schema is None or not schema.accepts_strategic  # the server publishes it a little later
    cluster.client.delete(crds, "", f"widgets.{group}", Write(WriteMethod.DELETE))


def test_errors_are_told_apart(cluster: Cluster, place: Place) -> None:
    client, maps, deployments = cluster.client, find(cluster, CONFIG_MAP), find(cluster, DEPLOYMENT)
    made = client.create(maps, config_map(place.namespace, "a"))
    with pytest.raises(AlreadyExistsError):
        client.create(maps, config_map(place.namespace, "a"))
    with pytest.raises(NotFoundError) as missing:
        client.get(maps, place.namespace, "nothing")
    assert (missing.value.kind, missing.value.name) == ("configmaps", "nothing")
    with pytest.raises(NotFoundError) as no_namespace:
        client.create(maps, config_map("no-such-namespace", "a"))
    assert no_namespace.value.kind == "namespaces"
    with pytest.raises(NotServedError):
        client.get(maps._replace(plural="nothings"), place.namespace, "a")
    with pytest.raises(NotServedError):
        client.get(maps._replace(group="no.such.group"), place.namespace, "a")
    stale = Write(WriteMethod.JSON_MERGE_PATCH, {"metadata": {"resourceVersion": "1"}, "data": {"a": "b"}})
    with pytest.raises(ConflictError):
        client.patch(maps, place.namespace, "a", stale)
    with pytest.raises(ConflictError):
        client.delete(maps, place.namespace, "a", Write(WriteMethod.DELETE, uid="another"))
    with pytest.raises(BadRequestError, match=r"unknown field \"spec.replicass\""):
        client.create(deployments, deployment(place.namespace, "a", replicass=1))
    client.delete(maps, place.namespace, "a", Write(WriteMethod.DELETE, uid=made["metadata"]["uid"]))


@REAL_ONLY
def test_an_immutable_field_is_named(cluster: Cluster, place: Place) -> None:
    deployments = find(cluster, DEPLOYMENT)
    cluster.client.create(deployments, deployment(place.namespace, "fixed"))
    selector = Write(WriteMethod.STRATEGIC_MERGE_PATCH, {"spec": {"selector": {"matchLabels": {"other": "x"}}}})
    with pytest.raises(InvalidError, match="field is immutable") as caught:
        cluster.client.patch(deployments, place.namespace, "fixed", selector)
    assert "spec.selector" in [cause.field for cause in caught.value.causes]


@REAL_ONLY
@pytest.mark.parametrize(
    "content",
    [
        {"data": {"password": "hunter2 is no base64"}},
        {"stringData": {"bad key": "hunter2 is no base64"}},
        {"type": "kubernetes.io/dockerconfigjson", "stringData": {".dockerconfigjson": "hunter2 is no json"}},
    ],
)
def test_no_error_about_a_secret_shows_its_values(cluster: Cluster, place: Place, content: JSONObject) -> None:
    metadata = {"name": "db", "namespace": place.namespace}
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, **content}
    secrets = find(cluster, GroupKind("", "Secret"))
    with pytest.raises(ApiError) as caught:
        cluster.client.create(secrets, body)
    assert "hunter2" not in f"{caught.value} {caught.value.causes}"


def test_lists_come_in_pages_and_by_label(cluster: Cluster, place: Place) -> None:
    maps = find(cluster, CONFIG_MAP)
    for number in range(5):
        cluster.client.create(maps, config_map(place.namespace, f"n{number}", "pages" if number else ""))
    found = list(cluster.client.list(maps, place.namespace, f"{APPLY_ID_LABEL}=pages", limit=2))
    assert [item["metadata"]["name"] for item in found] == ["n1", "n2", "n3", "n4"]
    assert {item["kind"] for item in found} == {"ConfigMap"}
    (some, *_) = cluster.client.list_metadata(maps, place.namespace, f"{APPLY_ID_LABEL}=pages")
    assert set(some) == {"apiVersion", "kind", "metadata"}


class Listener:
    def __init__(self, cluster: Cluster) -> None:
        self.events: list[Event] = []
        cluster.live.subscribe(self.events.append)

    def names(self) -> list[tuple[EventType, str]]:
        return [(event.type, event.key.name) for event in self.events]


def test_the_live_cache_tells_what_others_do_and_not_what_we_do(
    cluster: Cluster, somebody_else: Cluster, place: Place
) -> None:
    maps, listener = find(cluster, CONFIG_MAP), Listener(cluster)
    cluster.live.want("sync", [maps])
    assert cluster.live.wait_synced([maps], time.monotonic() + 60) == {}
    for number in range(20):
        cluster.client.create(maps, config_map(place.namespace, f"ours-{number}"))
        cluster.client.patch(maps, place.namespace, f"ours-{number}", data_patch(a="2"))
    gone = cluster.live.get(ObjectKey(place.namespace, "", "ConfigMap", "ours-0"))
    assert gone is not None
    cluster.client.delete(maps, place.namespace, "ours-0", Write(WriteMethod.DELETE, uid=gone.uid))
    assert cluster.live.get(gone.key) is None
    somebody_else.client.patch(maps, place.namespace, "ours-1", data_patch(a="3"))
    somebody_else.client.create(maps, config_map(place.namespace, "theirs"))
    somebody_else.client.delete(maps, place.namespace, "ours-2", Write(WriteMethod.DELETE))
    somebody_else.client.create(maps, config_map(place.namespace, "unmarked", ""))
    lose_label = Write(WriteMethod.JSON_MERGE_PATCH, {"metadata": {"labels": {APPLY_ID_LABEL: None}}})
    somebody_else.client.patch(maps, place.namespace, "ours-3", lose_label)
    until(lambda: len(listener.events) >= 4)
    assert listener.names() == [
        (EventType.MODIFIED, "ours-1"),
        (EventType.ADDED, "theirs"),
        (EventType.DELETED, "ours-2"),
        (EventType.DELETED, "ours-3"),
    ]
    assert {item.key.name for item in cluster.live.of_owner("me") if item.key.namespace == place.namespace} == {
        "theirs",
        "ours-1",
        *(f"ours-{number}" for number in range(4, 20)),
    }


def test_writes_and_edits_at_the_same_moment_leave_the_cache_right(
    cluster: Cluster, somebody_else: Cluster, place: Place
) -> None:
    """Two writers at one object: whatever overtakes what, the cache ends with what the server has."""
    maps, listener = find(cluster, CONFIG_MAP), Listener(cluster)
    cluster.live.want("sync", [maps])
    cluster.live.wait_synced([maps], time.monotonic() + 60)
    cluster.client.create(maps, config_map(place.namespace, "busy"))
    theirs: list[str] = []

    def edit() -> None:
        for number in range(40):
            answer = somebody_else.client.patch(maps, place.namespace, "busy", data_patch(theirs=str(number)))
            theirs.append(answer["metadata"]["resourceVersion"])

    editor = threading.Thread(target=edit)
    editor.start()
    for number in range(40):
        cluster.client.patch(maps, place.namespace, "busy", data_patch(ours=str(number)))
    editor.join()
    until(lambda: {event.new.resource_version for event in listener.events if event.new} == set(theirs))
    known = cluster.live.get(ObjectKey(place.namespace, "", "ConfigMap", "busy"))
    assert known is not None
    assert known.parse()["metadata"] == cluster.client.get(maps, place.namespace, "busy")["metadata"]


@pytest.mark.controlplane
def test_a_restart_costs_one_list_and_one_watch_a_kind(
    control_plane: ControlPlane, namespace_factory: NewNamespace
) -> None:
    namespace = namespace_factory()
    with Cluster.connect(control_plane.kubeconfig, user_agent="first") as first:
        for number in range(30):
            first.client.create(find(first, CONFIG_MAP), config_map(namespace, f"n{number}"))
    mark = control_plane.audit().mark()
    with Cluster.connect(control_plane.kubeconfig, user_agent="restarted") as cluster:
        wanted = [find(cluster, CONFIG_MAP), find(cluster, DEPLOYMENT)]
        cluster.live.want("sync", wanted)
        assert cluster.live.wait_synced(wanted, time.monotonic() + 60) == {}
        until(lambda: all(kind.watches for kind in cluster.live.kinds()))
        counts = control_plane.audit().since(mark).where(agent="restarted").counts()
    assert {what: number for what, number in counts.items() if what[0] in ("list", "watch")} == {
        ("list", "configmaps"): 1,
        ("watch", "configmaps"): 1,
        ("list", "deployments.apps"): 1,
        ("watch", "deployments.apps"): 1,
    }
    assert sum(counts.values()) == 6  # and two for discovery


@pytest.mark.slow
@pytest.mark.controlplane
@pytest.mark.parametrize("fault", ["cut", "refuse", "black_hole"])
def test_no_change_is_missed_whatever_happens_to_the_network(
    start_control_plane: StartControlPlane, fault: str
) -> None:
    control_plane = start_control_plane(parts=("etcd", "kube-apiserver"))
    namespace = control_plane.create_namespace()
    proxy = control_plane.proxy()
    kubeconfig = control_plane.kubeconfig_through(proxy)
    with (
        Cluster.connect(control_plane.kubeconfig) as somebody_else,
        Cluster(Cluster.connect(kubeconfig).transport, timing=QUICK) as cluster,
    ):
        maps, listener = find(cluster, CONFIG_MAP), Listener(cluster)
        cluster.live.want("sync", [maps])
        assert cluster.live.wait_synced([maps], time.monotonic() + 60) == {}
        for number in range(3):
            getattr(proxy, fault)()
            somebody_else.client.create(find(somebody_else, CONFIG_MAP), config_map(namespace, f"n{number}"))
            if fault != "cut":
                until(lambda: cluster.live.kinds()[0].problem != "")
            proxy.restore()
            until(lambda number=number: len(listener.events) == number + 1)  # type: ignore[misc] # a plain lambda
        assert cluster.live.wait_synced([maps], time.monotonic() + 60) == {}
        assert listener.names() == [(EventType.ADDED, f"n{number}") for number in range(3)]


@pytest.mark.controlplane
def test_an_api_server_that_restarts_with_its_history_compacted_is_followed_again(
    start_control_plane: StartControlPlane,
) -> None:
    control_plane = start_control_plane(parts=("etcd", "kube-apiserver"))
    namespace = control_plane.create_namespace()
    with Cluster(Cluster.connect(control_plane.kubeconfig).transport, timing=QUICK) as cluster:
        maps, listener = find(cluster, CONFIG_MAP), Listener(cluster)
        cluster.live.want("sync", [maps])
        assert cluster.live.wait_synced([maps], time.monotonic() + 60) == {}
        control_plane.part("kube-apiserver").restart()
        control_plane.wait_ready()
        with Cluster.connect(control_plane.kubeconfig) as somebody_else:
            somebody_else.client.create(maps, config_map(namespace, "after"))
        until(lambda: listener.names() == [(EventType.ADDED, "after")])
        assert cluster.live.kinds()[0].lists == 2


@pytest.mark.controlplane
def test_a_token_that_is_no_good_is_said_so(control_plane: ControlPlane, tmp_path: Path) -> None:
    text = control_plane.kubeconfig.read_text().replace(control_plane.token, "no-good")
    (tmp_path / "kubeconfig").write_text(text)
    with Cluster.connect(tmp_path / "kubeconfig") as cluster, pytest.raises(UnauthorizedError):
        cluster.discovery.resources()
