"""From a live edit to its repair: how long somebody else's change of a managed object lasts.

    python -m bench.repair [--objects 1000] [--edits 20]

A real control plane, the daemon as a process of its own, polling once an hour so that only watch events can repair.
Twenty different objects of several kinds are edited one after another, once all is at rest; each edit is timed from the
server's answer to the watch event that shows the repaired value. What the API server alone takes of that is measured in
the same run: a bare client that waits for the same event and sends a patch that it knows beforehand. Fails when one is
not repaired, or the 95th percentile is above the limit. The daemon's CPU for one repair says how much of it a busy
machine has added.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import urllib3

from tests.controlplane.server import ControlPlane
from tests.support.daemon import DaemonProcess, metric, sync_document
from tests.support.repository import Repository

if TYPE_CHECKING:
    from collections.abc import Iterator

LIMIT = 0.1
"""Seconds: the 95th percentile that is promised."""
PATIENCE = 30.0
"""Seconds after which an edit counts as not repaired."""
BUSY = 0.02
"""Seconds of CPU in a second from which on the daemon is at work."""
_SHOWN = ("median", "p95", "max")


class Edit(NamedTuple):
    """What somebody else does to one object, and how to see that it was undone."""

    path: str
    patch: dict[str, Any]
    field: tuple[str, ...]
    value: Any


def manifests(count: int) -> list[dict[str, Any]]:
    """Objects of five kinds, in ten namespaces."""
    found: list[dict[str, Any]] = []
    for number in range(count):
        name, namespace = f"item-{number}", f"bench-{number % 10}"
        metadata = {"name": name, "namespace": namespace}
        labels = {"app": name}
        pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "web", "image": "example.com/web:1"}]}}
        found.append(
            (
                {"apiVersion": "v1", "kind": "ConfigMap", "data": {"value": "git"}},
                {"apiVersion": "v1", "kind": "Service", "spec": {"selector": labels, "ports": [{"port": 80}]}},
                {
                    "apiVersion": "apps/v1",
                    "kind": "Deployment",
                    "spec": {"replicas": 0, "selector": {"matchLabels": labels}, "template": pod},
                },
                {"apiVersion": "v1", "kind": "ServiceAccount", "automountServiceAccountToken": False},
                {
                    "apiVersion": "rbac.authorization.k8s.io/v1",
                    "kind": "Role",
                    "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
                },
            )[number % 5]
            | {"metadata": metadata}
        )
    return found


def edit_of(manifest: dict[str, Any]) -> Edit:
    """An edit of one field that Git has."""
    place = f"namespaces/{manifest['metadata']['namespace']}"
    name = manifest["metadata"]["name"]
    core, apps = f"/api/v1/{place}", f"/apis/apps/v1/{place}"
    rbac = f"/apis/rbac.authorization.k8s.io/v1/{place}"
    return {
        "ConfigMap": Edit(f"{core}/configmaps/{name}", {"data": {"value": "edited"}}, ("data", "value"), "git"),
        "Service": Edit(
            f"{core}/services/{name}", {"spec": {"selector": {"app": "edited"}}}, ("spec", "selector", "app"), name
        ),
        "Deployment": Edit(f"{apps}/deployments/{name}", {"spec": {"replicas": 1}}, ("spec", "replicas"), 0),
        "ServiceAccount": Edit(
            f"{core}/serviceaccounts/{name}",
            {"automountServiceAccountToken": True},
            ("automountServiceAccountToken",),
            False,
        ),
        "Role": Edit(f"{rbac}/roles/{name}", {"rules": []}, ("rules",), manifest.get("rules")),
    }[manifest["kind"]]


class Watch:
    """The states of one object as they come, beginning with the one after the present.

    Args:
        server: Where the object is.
        path: The object.
    """

    def __init__(self, server: ControlPlane, path: str) -> None:
        version = server.api.get(path)["metadata"]["resourceVersion"]
        collection, _, name = path.rpartition("/")
        query = f"watch=true&resourceVersion={version}&fieldSelector=metadata.name%3D{name}"
        self._pool = urllib3.PoolManager(
            ca_certs=str(server.authority), headers={"Authorization": f"Bearer {server.token}"}, retries=False
        )
        address = f"{server.server}{collection}?{query}"
        self._raw = self._pool.request("GET", address, preload_content=False, timeout=PATIENCE)
        self._lines: Iterator[bytes] = iter(self._raw)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._raw.close()
        self._pool.clear()

    def next(self, field: tuple[str, ...]) -> Any:
        """A field in the next state."""
        value = json.loads(next(self._lines))["object"]
        for part in field:
            value = value.get(part)
        return value


def time_edit(server: ControlPlane, edit: Edit) -> tuple[float, float]:
    """Seconds that the edit itself took, and from its answer to the watch event that shows its repair."""
    with Watch(server, edit.path) as watch:
        begin = time.perf_counter()
        server.api.merge(edit.path, edit.patch)
        done = time.perf_counter()
        try:
            seen = [watch.next(edit.field)]
            while seen[-1] != edit.value or len(seen) < 2:
                seen.append(watch.next(edit.field))
        except urllib3.exceptions.TimeoutError:
            return done - begin, float("inf")
        return done - begin, time.perf_counter() - done


def time_limit(server: ControlPlane) -> float:
    """Seconds that the same takes a bare client that knows beforehand what to send: event, patch, event."""
    path = "/api/v1/namespaces/default/configmaps/limit"
    with Watch(server, path) as watch:
        server.api.merge(path, {"data": {"value": "edited"}})
        done = time.perf_counter()
        watch.next(("data", "value"))
        server.api.merge(path, {"data": {"value": "git"}})
        watch.next(("data", "value"))
        return time.perf_counter() - done


def used(daemon: DaemonProcess) -> float:
    """Seconds of CPU that the daemon has taken so far."""
    return metric(daemon, "process_cpu_seconds_total") or 0.0


def rest(daemon: DaemonProcess) -> None:
    """Wait until the daemon has nothing to do any more: controllers go on for a while with what it has made."""
    before, after = -1.0, used(daemon)
    while after - before > BUSY:
        time.sleep(1.0)
        before, after = after, used(daemon)


class Times(NamedTuple):
    """What was measured, in seconds."""

    limits: list[float]
    edits: list[float]
    repairs: list[float]


def measure(folder: Path, count: int, edits: int) -> Times:
    """Bring everything up, and time each edit."""
    wanted = manifests(count)
    documents = [json.dumps(manifest) + "\n" for manifest in wanted]
    namespaces = [
        json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"bench-{number}"}}) + "\n"
        for number in range(10)
    ]
    repository = Repository(folder / "repository.git")
    commit = repository.commit({"all.yaml": "---\n".join([*namespaces, *documents])})
    sync = sync_document("bench", repository.url, interval="1h")
    with ControlPlane.start(folder / "cluster") as server, DaemonProcess(folder, server.kubeconfig, sync) as daemon:
        status = daemon.wait_synced("bench", commit)
        print(f"{status['inventorySize']} managed objects")
        server.api.create(
            "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "limit"}, "data": {"value": "git"}}
        )
        limits = [time_limit(server) for _ in range(edits)]
        step = len(wanted) // edits
        rest(daemon)
        before = used(daemon)
        times = [time_edit(server, edit_of(wanted[number * step + number % 5])) for number in range(edits)]
        cpu = used(daemon) - before
        print(f"the daemon's CPU for one repair {cpu / edits * 1000:7.1f} ms")
        return Times(limits, [edit for edit, _ in times], [repair for _, repair in times])


def tell(what: str, seconds: list[float]) -> float:
    """Print a line, and give the 95th percentile."""
    ordered = sorted(seconds)
    high = ordered[min(len(ordered) - 1, round(len(ordered) * 0.95) - 1)]
    shown = (ordered[len(ordered) // 2] * 1000, high * 1000, ordered[-1] * 1000)
    print(f"{what:<20}" + "   ".join(f"{name} {value:7.1f} ms" for name, value in zip(_SHOWN, shown, strict=True)))
    return high


def main() -> int:
    """Measure, print, and judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--objects", type=int, default=1000)
    parser.add_argument("--edits", type=int, default=20)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="syncd-bench-") as folder:
        times = measure(Path(folder), options.objects, options.edits)
    tell("edit itself", times.edits)
    limit = tell("a bare client", times.limits)
    high = tell("edit to repair", times.repairs)
    lost = sum(repair == float("inf") for repair in times.repairs)
    print(f"not repaired within {PATIENCE:.0f} s: {lost} of {len(times.repairs)}")
    print(f"p95 / p95 of the bare client: {high / limit:.2f}")
    print(f"p95 / limit ({LIMIT * 1000:.0f} ms): {high / LIMIT:.2f}")
    return int(lost > 0 or high >= LIMIT)


if __name__ == "__main__":
    sys.exit(main())
