"""How long a plan takes when nothing has changed: with memory, and right after a restart.

    python -m bench.plan

Ratios are against parsing the same live objects once with orjson, which any planner without a memory has to do.
"""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING, Any

import orjson

from syncd.inventory import ApplyConfig, Owner
from syncd.merge import last_applied
from syncd.merge.schema import bundled
from syncd.model import ActionType, Manifest, ObjectKey, Origin
from syncd.plan.build import build
from syncd.plan.desired import DesiredSet, digest, live_digest
from syncd.plan.settings import Desired, Observation, Policy, Settled
from syncd.spec import DriftPolicy, Prune

if TYPE_CHECKING:
    from collections.abc import Callable

OBJECTS = 10_000
OWNER = Owner("uid-1", "syncd/bench")


class Held:
    """A live object as bytes, as the live cache holds it."""

    def __init__(self, number: int, document: dict[str, Any]) -> None:
        self.uid = f"uid-{number}"
        self.resource_version = "1"
        self.data = orjson.dumps(document)

    def parse(self) -> dict[str, Any]:
        """The whole object."""
        parsed: dict[str, Any] = orjson.loads(self.data)
        return parsed


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


def main() -> None:
    """Measure, and print a table."""
    desired, live, settled = [], {}, {}
    for number in range(OBJECTS):
        body = deployment(number)
        key = ObjectKey("bench", "apps", "Deployment", body["metadata"]["name"])
        item = Desired(Manifest(key, "apps/v1", body, Origin("bench")), digest(body))
        document = OWNER.mark(last_applied.stamp(body))
        document["metadata"].update(uid=f"uid-{number}", resourceVersion="1")
        desired.append(item)
        live[key] = Held(number, document)
        settled[key] = Settled(item.digest, "1", live_digest(document))
    inventory = ApplyConfig("syncd", "bench", "uid-1", "1", frozenset(live), finished=True)
    policy = Policy(OWNER, DriftPolicy(), Prune(), schema_for)
    wanted = DesiredSet(tuple(desired), ())

    def plan(memory: dict[ObjectKey, Settled]) -> None:
        made = build(wanted, Observation(inventory, live, settled=memory), policy)
        assert len(made.of(ActionType.UNCHANGED)) == OBJECTS

    base = median(lambda: [held.parse() for held in live.values()])
    for name, memory, goal in (("with memory", settled, "0.1 s"), ("after a restart", {}, "1 s")):
        seconds = median(lambda memory=memory: plan(memory))  # type: ignore[misc]  # the default binds the loop's value
        print(
            f"plan of {OBJECTS} unchanged objects, {name}: {seconds * 1000:.0f} ms (goal {goal}), "
            f"{seconds / base:.2f} x parsing them"
        )


if __name__ == "__main__":
    main()
