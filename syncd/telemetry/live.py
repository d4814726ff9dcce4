"""What is exported of the live cache: read from it when somebody scrapes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from prometheus_client import Metric

    from syncd.cluster import KindStatus, LiveCache


class LiveCollector(Collector):
    """Exports how well each kind is known, over all caches.

    Attributes:
        caches: Gives the caches that there are now.
    """

    def __init__(self) -> None:
        self.caches: Callable[[], Iterable[LiveCache]] = tuple

    def describe(self) -> Iterable[Metric]:
        """Nothing: names are checked by collecting."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """All series, as they are now."""
        known: dict[str, list[KindStatus]] = {}
        for status in (status for cache in self.caches() for status in cache.kinds()):
            known.setdefault(str(status.resource.group_kind), []).append(status)
        for family, read in _families():
            for kind, statuses in known.items():
                family.add_metric((kind,), float(read(statuses)))
            yield family


def _families() -> Iterator[tuple[GaugeMetricFamily | CounterMetricFamily, Callable[[list[KindStatus]], float]]]:
    """Each metric, and how to read it from what is known of one kind: more than one status where identities differ."""
    kind = ("kind",)
    yield (
        GaugeMetricFamily("syncd_live_objects", "Managed objects that are watched, by kind.", labels=kind),
        lambda known: sum(one.objects for one in known),
    )
    yield (
        GaugeMetricFamily(
            "syncd_live_in_doubt",
            "1 while what is known of a kind may not be true, so that nothing of it is pruned.",
            labels=kind,
        ),
        lambda known: any(one.problem for one in known),
    )
    yield (
        CounterMetricFamily("syncd_live_lists", "Complete lists of a kind; more than one is a loss.", labels=kind),
        lambda known: sum(one.lists for one in known),
    )
    yield (
        CounterMetricFamily("syncd_live_watches", "Watches begun on a kind.", labels=kind),
        lambda known: sum(one.watches for one in known),
    )
    yield (
        CounterMetricFamily("syncd_live_events", "Changes seen on a kind.", labels=kind),
        lambda known: sum(one.events for one in known),
    )
    yield (
        CounterMetricFamily("syncd_live_failures", "Lists and watches of a kind that failed.", labels=kind),
        lambda known: sum(one.failures for one in known),
    )
