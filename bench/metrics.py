"""How long a scrape of 500 Syncs takes; the aim is less than 100 ms. Run it with ``python -m bench.metrics``."""

from __future__ import annotations

import statistics
import time

from prometheus_client.exposition import generate_latest

from syncd.telemetry import Telemetry
from tests.unit.web import sample

SYNCS = 500
ROUNDS = 20


def main() -> None:
    """Measure the scrape, and what each change of a status costs."""
    telemetry = Telemetry()
    statuses = []
    for number in range(SYNCS):  # one in ten in trouble, one in ten drifting: worse than most days
        make = {0: sample.failing, 1: sample.drifted}.get(number % 10, sample.healthy)
        statuses.append(make(f"team-{number:03}"))
    begin = time.perf_counter()
    for status in statuses:
        telemetry.status_changed(status)
        telemetry.reconciled(status)
        for record in status.drift:
            telemetry.drift_found(status.sync, record)
    told = time.perf_counter() - begin
    seconds, cpu, size = [], time.process_time(), 0
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        size = len(generate_latest(telemetry.registry))
        seconds.append(time.perf_counter() - begin)
    cpu = (time.process_time() - cpu) / ROUNDS
    print(f"told of {SYNCS} reconciles: {told / SYNCS * 1e6:.0f} us each")
    middle, worst = statistics.median(seconds), max(seconds)
    print(f"scrape of {SYNCS} Syncs: median {middle * 1e3:.0f} ms, worst {worst * 1e3:.0f} ms, CPU {cpu * 1e3:.0f} ms")
    print(f"size of the answer: {size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
