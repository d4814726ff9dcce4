"""What is exported of the live cache: read from it when somebody scrapes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from prometheus_client import Metric

    from syncd.cluster import LiveCache


class LiveCollector(Collector):
    """Exports how well each kind is known."""

    def __init__(self, cache: LiveCache) -> None:
        self._cache = cache

    def describe(self) -> Iterable[Metric]:
        """Nothing: names are checked by collecting."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """All series, as they are now."""
        objects = GaugeMetricFamily(
            "syncd_live_objects", "Managed objects that are watched, by kind.", labels=("kind",)
        )
        doubt = GaugeMetricFamily(
            "syncd_live_in_doubt", "1 while what is known of a kind may not be true, so that nothing of it is pruned.",
            labels=("kind",),
        )  # fmt: skip
        lists = CounterMetricFamily(
            "syncd_live_lists", "Complete lists of a kind; more than one is a loss.", labels=("kind",)
        )
        watches = CounterMetricFamily("syncd_live_watches", "Watches begun on a kind.", labels=("kind",))
        events = CounterMetricFamily("syncd_live_events", "Changes seen on a kind.", labels=("kind",))
        failures = CounterMetricFamily(
            "syncd_live_failures", "Lists and watches of a kind that failed.", labels=("kind",)
        )
        for status in self._cache.kinds():
            labels = (str(status.resource.group_kind),)
            objects.add_metric(labels, status.objects)
            doubt.add_metric(labels, float(bool(status.problem)))
            lists.add_metric(labels, status.lists)
            watches.add_metric(labels, status.watches)
            events.add_metric(labels, status.events)
            failures.add_metric(labels, status.failures)
        yield from (objects, doubt, lists, watches, events, failures)
