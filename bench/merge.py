"""Benchmarks of merging and of reading YAML, as ratios and medians.

    python -m bench.merge [--quick]

Times are CPU seconds of this process, which others on the machine disturb less than the clock, though a busy one may
still double them; the ratio to PyYAML is taken in the same run, by turns. Fails when one is beyond what is promised.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from typing import TYPE_CHECKING, Any

import yaml

from syncd.kubeyaml import load_all
from syncd.merge import engine, last_applied, strategic
from syncd.merge.jsonvalue import copy
from syncd.merge.schema import bundled

if TYPE_CHECKING:
    from collections.abc import Callable

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web-{n}
  namespace: shop
  labels:
    app.kubernetes.io/name: web
    app.kubernetes.io/part-of: shop
spec:
  replicas: 3
  revisionHistoryLimit: 5
  selector:
    matchLabels:
      app.kubernetes.io/name: web
  template:
    metadata:
      labels:
        app.kubernetes.io/name: web
      annotations:
        prometheus.io/scrape: "true"
    spec:
      serviceAccountName: web
      containers:
      - name: web
        image: registry.example.com/shop/web:1.4.{n}
        args: [--listen, ":8080"]
        ports:
        - name: http
          containerPort: 8080
        env:
        - name: LOG_LEVEL
          value: info
        - name: DATABASE_URL
          valueFrom:
            secretKeyRef:
              name: web
              key: database-url
        resources:
          requests:
            cpu: 100m
            memory: 128Mi
          limits:
            memory: 256Mi
        readinessProbe:
          httpGet:
            path: /ready
            port: http
        volumeMounts:
        - name: config
          mountPath: /etc/web
          readOnly: true
      volumes:
      - name: config
        configMap:
          name: web
"""

SMALL = """\
apiVersion: v1
kind: Service
metadata:
  name: web-{n}
  namespace: shop-{m}
  labels:
    app.kubernetes.io/name: web
    app.kubernetes.io/instance: web-{n}
    app.kubernetes.io/managed-by: syncd
  annotations:
    example.com/owner: team-{m}
    example.com/description: "The web front end of shop {m}, instance {n}"
spec:
  type: ClusterIP
  sessionAffinity: None
  selector:
    app.kubernetes.io/name: web
    app.kubernetes.io/instance: web-{n}
  ports:
  - name: http
    port: 80
    targetPort: 8080
    protocol: TCP
  - name: metrics
    port: 9090
    targetPort: metrics
"""


PATCH_LIMIT = 150e-6
"""Seconds: a three-way patch of a Deployment of 60 lines."""
UNCHANGED_LIMIT = 1.0
"""Seconds: deciding that 10,000 objects need nothing."""
YAML_RATIO = 2.5
"""How many times as fast as PyYAML's C loader a stream of 10,000 objects is read."""


def as_served(applied: dict[str, Any]) -> dict[str, Any]:
    """The object with what an API server adds to it."""
    live: dict[str, Any] = copy(applied)
    live["metadata"].update(uid="0f0e", resourceVersion="7", generation=1, creationTimestamp="2026-01-01T00:00:00Z")
    spec = live["spec"]
    spec.update(progressDeadlineSeconds=600, strategy={"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%"}})
    pod = spec["template"]["spec"]
    pod.update(dnsPolicy="ClusterFirst", restartPolicy="Always", schedulerName="default-scheduler", securityContext={})
    container = pod["containers"][0]
    container.update(imagePullPolicy="IfNotPresent", terminationMessagePath="/dev/termination-log")
    container["ports"][0]["protocol"] = "TCP"
    container["readinessProbe"].update(periodSeconds=10, timeoutSeconds=1, failureThreshold=3, successThreshold=1)
    live["status"] = {"replicas": 3, "observedGeneration": 1}
    return live


def median(work: Callable[[], object], times: int) -> float:
    """The median of so many runs, in CPU seconds."""
    durations = []
    for _ in range(times):
        start = time.process_time()
        work()
        durations.append(time.process_time() - start)
    return statistics.median(durations)


def bench_three_way(times: int) -> bool:
    """A three-way patch of a Deployment of 60 lines, of which the image changed; whether it keeps its limit."""
    schema = bundled("apps", "v1", "Deployment")
    if schema is None:
        raise SystemExit("the bundled table lacks Deployment")
    (old,), (new,) = (load_all(DEPLOYMENT.replace("{n}", str(n)).encode()) for n in (1, 2))
    new.value["metadata"]["name"] = old.value["metadata"]["name"]
    original, modified = old.value, last_applied.stamp(new.value)
    live = as_served(last_applied.stamp(old.value))
    patch = median(lambda: strategic.three_way_patch(original, modified, live, schema), times)
    print(f"three-way patch of a Deployment:   {patch * 1e6:7.0f} µs, / limit: {patch / PATCH_LIMIT:.2f}")
    decide = median(lambda: engine.merge(original=original, modified=modified, live=live, schema=schema), times)
    print(f"the whole decision, image changed: {decide * 1e6:7.0f} µs")
    return patch < PATCH_LIMIT


def bench_unchanged(count: int) -> bool:
    """Deciding for so many objects that there is nothing to do; whether it keeps its limit."""
    schema = bundled("apps", "v1", "Deployment")
    objects = []
    for n in range(count):
        (document,) = load_all(DEPLOYMENT.replace("{n}", str(n)).encode())
        modified = last_applied.stamp(document.value)
        objects.append((document.value, modified, as_served(modified)))
    start = time.process_time()
    for original, modified, live in objects:
        if engine.merge(original=original, modified=modified, live=live, schema=schema).write is not None:
            raise SystemExit("an unchanged object would be written")
    seconds = time.process_time() - start
    limit = UNCHANGED_LIMIT * count / 10_000
    print(f"{count} unchanged Deployments:      {seconds:9.2f} s, / limit: {seconds / limit:.2f}")
    return seconds < limit


def bench_yaml(count: int, turns: int) -> bool:
    """Reading one stream of so many objects, against PyYAML's C loader; whether it is as much faster as promised.

    The same stream with a text of several lines in each object, which is read another way, is measured too.
    """
    stream = "---\n".join(SMALL.replace("{n}", str(n)).replace("{m}", str(n % 50)) for n in range(count))
    ratio = against_pyyaml("plain", stream.encode(), turns)
    texts = stream.replace("  type: ClusterIP\n", "  type: >-\n    ClusterIP\n")
    against_pyyaml("with texts of several lines", texts.encode(), turns)
    return ratio >= YAML_RATIO


def against_pyyaml(what: str, data: bytes, turns: int) -> float:
    """How many times as fast as PyYAML's C loader a stream is read."""
    ours, theirs = [], []
    for _ in range(turns):
        ours.append(median(lambda: load_all(data), 1))
        theirs.append(median(lambda: list(yaml.load_all(data, Loader=yaml.CSafeLoader)), 1))
    mine, other = min(ours), min(theirs)  # the fastest turn of each is the one that others disturbed least
    size = len(data) / 1e6
    print(f"{size:.1f} MB of YAML, {what}: {mine:.2f} s, PyYAML {other:.2f} s, {other / mine:.2f} times as fast")
    return other / mine


def main() -> int:
    """Run all benchmarks, and judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the objects")
    share = 10 if parser.parse_args().quick else 1
    kept = [bench_three_way(2000 // share), bench_unchanged(10_000 // share), bench_yaml(10_000 // share, 4)]
    return int(not all(kept))


if __name__ == "__main__":
    sys.exit(main())
