"""What the live cache costs: memory, threads, and CPU for lists, events, reads and idling.

    python -m bench.live_cache [--objects 10000] [--kinds 40] [--events 20000]

The server is another process that sends answers made beforehand: objects like Deployments as a real server returns them
(last-applied annotation, managed fields, status; 5 KB), a tenth of each random so that compression is not flattered.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from syncd.cluster import Cluster, Resource
from syncd.inventory.names import APPLY_ID_LABEL, OWNER_ANNOTATION
from syncd.merge.last_applied import ANNOTATION
from tests.faults.cluster.fakeapi import Exchange, FakeAPI

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

PAGE = 500
KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: bench
clusters: [{{name: bench, cluster: {{server: "{url}"}}}}]
contexts: [{{name: bench, context: {{cluster: bench, user: bench}}}}]
users: [{{name: bench, user: {{}}}}]
"""
OWNER = "0b6d7f6e-7d0f-4f3c-9f5b-6a4b1f7f0c11"


def kind(number: int) -> Resource:
    """One of the kinds."""
    verbs = frozenset({"get", "list", "watch"})
    return Resource("example.com", "v1", f"Kind{number}", f"kind{number}s", True, verbs)


def managed(value: Any) -> Any:
    """Fields in the way of managedFields."""
    if isinstance(value, dict):
        return {f"f:{name}": managed(item) for name, item in value.items()}
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return {f'k:{{"name":"{item.get("name")}"}}': {".": {}, **managed(item)} for item in value}
    return {}


def make_object(number: int, version: int) -> dict[str, Any]:
    """One object, as a real server would return it."""
    chance = random.Random(number * 1_000_003 + version)
    name = f"web-{number}"
    env = [{"name": f"SETTING_{index}", "value": chance.randbytes(24).hex()} for index in range(10)]
    container = {
        "name": "web",
        "image": f"registry.example.com/shop/web:{version}",
        "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
        "env": env,
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "256Mi"}},
        "readinessProbe": {"httpGet": {"path": "/healthz", "port": "http", "scheme": "HTTP"}, "periodSeconds": 10},
    }
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container], "restartPolicy": "Always"}}
    spec = {"replicas": 3, "selector": {"matchLabels": {"app": name}}, "template": template}
    metadata = {"name": name, "namespace": f"team-{number % 20}", "labels": {"app": name, APPLY_ID_LABEL: OWNER}}
    last_applied = json.dumps({"apiVersion": "example.com/v1", "metadata": metadata, "spec": spec})
    fields = {"manager": "syncd", "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": managed({"spec": spec})}
    condition = {"type": "Available", "status": "True", "reason": "MinimumReplicasAvailable", "message": "It is there."}
    return {
        "metadata": {
            **metadata,
            "uid": f"{chance.randbytes(4).hex()}-7d0f-4f3c-9f5b-{number:012d}",
            "resourceVersion": str(version),
            "generation": 1,
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "annotations": {ANNOTATION: last_applied, OWNER_ANNOTATION: OWNER},
            "managedFields": [fields],
        },
        "spec": spec,
        "status": {"replicas": 3, "readyReplicas": 3, "observedGeneration": 1, "conditions": [condition]},
    }


def serve(objects: int, kinds: int, events: int, pipe: Connection) -> None:
    """Be the server; begins the events when told through the pipe."""
    each = objects // kinds
    pages: dict[tuple[str, int], bytes] = {}
    for number in range(kinds):
        items = [make_object(number * each + index, 1000) for index in range(each)]
        for start in range(0, each, PAGE):
            metadata = {"resourceVersion": "1000", "continue": str(start + PAGE) if start + PAGE < each else ""}
            page = {"kind": "AnyList", "metadata": metadata, "items": items[start : start + PAGE]}
            pages[kind(number).plural, start] = json.dumps(page, separators=(",", ":")).encode()
    lines: dict[str, list[bytes]] = {kind(number).plural: [] for number in range(kinds)}
    for index in range(events):
        resource = kind(index % kinds)
        body = make_object(index % kinds * each + index // kinds % each, 2000 + index)
        event = {"type": "MODIFIED", "object": {**body, "apiVersion": resource.api_version, "kind": resource.kind}}
        lines[resource.plural].append(json.dumps(event, separators=(",", ":")).encode() + b"\n")
    begin = threading.Event()

    def answer(exchange: Exchange) -> None:
        plural = exchange.request.path.rpartition("/")[2]
        if "watch" not in exchange.request.query:
            exchange.reply(pages[plural, int(exchange.request.query.get("continue") or 0)])
            return
        exchange.begin_stream()
        begin.wait()
        for line in lines[plural]:
            exchange.line(line)
        exchange.stall()

    with FakeAPI(answer) as server:
        pipe.send((server.url, sum(map(len, pages.values()))))
        pipe.recv()
        begin.set()
        pipe.recv()


def resident() -> float:
    """MiB of this process that are in memory now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


def say(what: str, value: str) -> None:
    """Print one figure."""
    print(f"{what:<44} {value}")


def measure(url: str, wanted: list[Resource], arguments: argparse.Namespace, pipe: Connection) -> None:
    """Fill a cache, use it, and say what it took."""
    before = resident()
    kubeconfig = Path(tempfile.mkdtemp()) / "kubeconfig"
    kubeconfig.write_text(KUBECONFIG.format(url=url))
    cluster = Cluster.connect(kubeconfig)
    connected = resident()
    say("resident with syncd.cluster imported", f"{before:.0f} MiB")
    say("... and with the official client's configuration", f"{connected:.0f} MiB")

    wall, cpu = time.perf_counter(), time.process_time()
    cluster.live.want("bench", wanted)
    doubts = cluster.live.wait_synced(wanted, time.monotonic() + 300)
    assert not doubts, doubts
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    held = cluster.live.of_owner(OWNER)
    assert len(held) == arguments.objects
    time.sleep(1)
    packed = sum(item.packed_size for item in held) / len(held)
    whole = sum(len(item.data()) for item in held) / len(held)
    say(f"{len(held)} objects of {len(wanted)} kinds listed in", f"{wall:.2f} s, {cpu:.2f} s of CPU")
    say("one object", f"{whole:.0f} bytes of JSON, {packed:.0f} held")
    say("resident", f"{resident():.0f} MiB, {resident() - connected:.0f} of it for the cache")
    say("threads", str(threading.active_count()))

    cpu = time.process_time()
    for item in held:
        assert cluster.live.get(item.key) is item
    say("get", f"{(time.process_time() - cpu) / len(held) * 1e6:.1f} us an object")
    cpu = time.process_time()
    for item in held:
        item.parse()
    say("parse", f"{(time.process_time() - cpu) / len(held) * 1e6:.1f} us an object")

    measure_events(cluster, arguments.events, pipe)
    cpu = time.process_time()
    time.sleep(5)
    say("idle", f"{(time.process_time() - cpu) / 5 * 100:.2f} % of a CPU")
    say("resident in the end", f"{resident():.0f} MiB")
    wall = time.perf_counter()
    cluster.close()
    say("closed in", f"{(time.perf_counter() - wall) * 1000:.0f} ms")
    assert threading.active_count() == 1


def measure_events(cluster: Cluster, number: int, pipe: Connection) -> None:
    """Have each object changed twice, all kinds at the same time."""
    done = threading.Event()
    seen = 0

    def count(_: object) -> None:
        nonlocal seen
        seen += 1
        if seen == number:
            done.set()

    cluster.live.subscribe(count)
    wall, cpu = time.perf_counter(), time.process_time()
    pipe.send("begin")
    assert done.wait(300)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    say(f"{number} events in", f"{wall:.2f} s, {cpu / number * 1e6:.0f} us of CPU each")


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--objects", type=int, default=10_000)
    parser.add_argument("--kinds", type=int, default=40)
    parser.add_argument("--events", type=int, default=20_000)
    arguments = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    server = context.Process(target=serve, args=(arguments.objects, arguments.kinds, arguments.events, theirs))
    server.start()
    try:
        url, size = ours.recv()
        say("lists on the wire", f"{size / (1 << 20):.0f} MiB")
        measure(url, [kind(number) for number in range(arguments.kinds)], arguments, ours)
    finally:
        server.terminate()
        server.join()


if __name__ == "__main__":
    main()
