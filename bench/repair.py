"""From a live edit to its repair: how long somebody else's change of a managed object lasts.

    python -m bench.repair [--objects 1000] [--edits 20]

A real control plane, the daemon as a process of its own, polling once an hour so that only watch events can repair.
Twenty different objects of several kinds are edited one after another; each edit is timed from the server's answer to
the moment at which a read shows the repaired value. Fails when one is not repaired, or the 95th percentile is above
the limit. The daemon's CPU for one repair says how much of that a busy machine has added.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.controlplane.server import ControlPlane
from tests.support.daemon import DaemonProcess, metric, sync_document
from tests.support.repository import Repository

if TYPE_CHECKING:
    from tests.controlplane.api import Api

LIMIT = 0.1
"""Seconds: the 95th percentile that is promised."""
PATIENCE = 30.0
"""Seconds after which an edit counts as not repaired."""


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


def read(api: Api, edit: Edit) -> Any:
    """The field as it is now."""
    value = api.get(edit.path)
    for part in edit.field:
        value = value.get(part)
    return value


def time_edit(api: Api, edit: Edit) -> tuple[float, float]:
    """Seconds that the edit itself took, and from its answer to its repair."""
    begin = time.perf_counter()
    api.merge(edit.path, edit.patch)
    done = time.perf_counter()
    while read(api, edit) != edit.value:
        if time.perf_counter() - done > PATIENCE:
            return done - begin, float("inf")
    return done - begin, time.perf_counter() - done


def measure(folder: Path, count: int, edits: int) -> list[tuple[float, float]]:
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
        step = len(wanted) // edits
        before = metric(daemon, "process_cpu_seconds_total") or 0.0
        times = [time_edit(server.api, edit_of(wanted[number * step + number % 5])) for number in range(edits)]
        cpu = (metric(daemon, "process_cpu_seconds_total") or 0.0) - before
        print(f"the daemon's CPU for one repair {cpu / edits * 1000:7.1f} ms")
        return times


def main() -> int:
    """Measure, print, and judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--objects", type=int, default=1000)
    parser.add_argument("--edits", type=int, default=20)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="syncd-bench-") as folder:
        times = measure(Path(folder), options.objects, options.edits)
    repairs = sorted(repair for _, repair in times)
    edits = sorted(edit for edit, _ in times)
    lost = sum(repair == float("inf") for repair in repairs)
    middle, high = repairs[len(repairs) // 2], repairs[min(len(repairs) - 1, round(len(repairs) * 0.95) - 1)]
    print(f"edit itself         median {edits[len(edits) // 2] * 1000:7.1f} ms")
    worst = repairs[-1]
    print(
        f"edit to repair      median {middle * 1000:7.1f} ms   p95 {high * 1000:7.1f} ms   max {worst * 1000:7.1f} ms"
    )
    print(f"not repaired within {PATIENCE:.0f} s: {lost} of {len(repairs)}")
    print(f"p95 / limit ({LIMIT * 1000:.0f} ms): {high / LIMIT:.2f}")
    return int(lost > 0 or high >= LIMIT)


if __name__ == "__main__":
    sys.exit(main())
