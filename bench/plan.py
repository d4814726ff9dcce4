"""How long a plan takes when nothing has changed: with memory, and right after a restart.

    python -m bench.plan

Live objects are held as the live cache holds them, with defaults, status and managed fields as an API server adds them.
Ratios are against parsing each of them once, which any planner without a memory has to do. Fails when the plan after a
restart takes longer than is promised.
"""

from __future__ import annotations

import gc
import statistics
import sys
import time
from typing import TYPE_CHECKING, Any

import orjson

from bench.merge import as_served
from syncd.cli.commands.run import NEW_OBJECTS
from syncd.cluster import LiveObject
from syncd.inventory import ApplyConfig, Owner
from syncd.merge import last_applied
from syncd.merge.schema import bundled
from syncd.model import ActionType, Manifest, ObjectKey, Origin
from syncd.plan.build import build
from syncd.plan.desired import DesiredSet, digest
from syncd.plan.settings import Desired, Observation, Policy, Settled
from syncd.spec import DriftPolicy, Prune

if TYPE_CHECKING:
    from collections.abc import Callable

OBJECTS = 10_000
LIMIT = 1.0
"""Seconds: what is promised of a plan right after a restart."""
OWNER = Owner("uid-1", "syncd/bench")


def deployment(number: int) -> dict[str, Any]:
    """A Deployment of about 60 lines."""
    labels = {"app.kubernetes.io/name": f"app-{number}", "app.kubernetes.io/part-of": "bench"}
    container = {
        "name": "app",
        "image": "registry.example.com/bench/app:1.2.3",
        "env": [{"name": f"SETTING_{index}", "value": str(index)} for index in range(6)],
        "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "256Mi"}},
        "readinessProbe": {"httpGet": {"path": "/ready", "port": "http"}},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": f"app-{number}", "namespace": "bench", "labels": labels},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }


def median(run: Callable[[], object], times: int = 5) -> float:
    """CPU seconds, after one run that does not count."""
    run()
    taken = []
    for _ in range(times):
        begin = time.process_time()
        run()
        taken.append(time.process_time() - begin)
    return statistics.median(taken)


def schema_for(api_version: str, kind: str) -> Any:
    """Strategic merge schemas of built-in kinds."""
    group, _, version = api_version.rpartition("/")
    return bundled(group, version, kind)


def served(applied: dict[str, Any], number: int) -> dict[str, Any]:
    """The object as a server has it, with what says which manager wrote which field."""
    live = as_served(applied)
    managers = [("syncd", fields(applied)), ("kube-controller-manager", fields({"status": live["status"]}))]
    entries = [{"manager": name, "operation": "Update", "fieldsV1": tree} for name, tree in managers]
    live["metadata"].update(uid=f"uid-{number}", resourceVersion="1", managedFields=entries)
    return live


def fields(value: object) -> dict[str, Any]:
    """The names of all fields, as managedFields has them."""
    return {f"f:{key}": fields(item) for key, item in value.items()} if isinstance(value, dict) else {}


def main() -> int:
    """Measure, print, and judge."""
    gc.set_threshold(NEW_OBJECTS)  # as in the daemon
    desired, live, settled = [], {}, {}
    sample = orjson.dumps(served(OWNER.mark(last_applied.stamp(deployment(0))), 0))
    for number in range(OBJECTS):
        body = deployment(number)
        key = ObjectKey("bench", "apps", "Deployment", body["metadata"]["name"])
        item = Desired(Manifest(key, "apps/v1", body, Origin("bench")), digest(body))
        desired.append(item)
        live[key] = LiveObject(served(OWNER.mark(last_applied.stamp(body)), number), sample)
        settled[key] = Settled(item.digest, "1")
    inventory = ApplyConfig("syncd", "bench", "uid-1", "1", frozenset(live), finished=True)
    policy = Policy(OWNER, DriftPolicy(), Prune(), schema_for)
    wanted = DesiredSet(tuple(desired), ())

    def parse() -> None:
        for held in live.values():
            held.parse()

    def plan(memory: dict[ObjectKey, Settled]) -> None:
        made = build(wanted, Observation(inventory, live, settled=memory), policy)
        assert len(made.of(ActionType.UNCHANGED)) == OBJECTS

    base, remembered, first = median(parse), median(lambda: plan(settled)), median(lambda: plan({}))
    for name, seconds in (("with memory", remembered), ("after a restart", first)):
        print(f"plan of {OBJECTS} unchanged objects, {name}: {seconds:.2f} s, {seconds / base:.2f} x parsing them")
    print(f"after a restart / limit ({LIMIT:.0f} s): {first / LIMIT:.2f}")
    return int(first >= LIMIT)


if __name__ == "__main__":
    sys.exit(main())
