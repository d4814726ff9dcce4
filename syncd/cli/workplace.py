"""Which Syncs a command is about, from files or from the cluster, and what reconciles them one after the other."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from syncd.cli.objects import SyncObjects, refuse_sandbox
from syncd.cli.session import named, open_cluster, open_sources
from syncd.daemon.config import load_syncs
from syncd.engine.deadline import Deadline
from syncd.engine.perform import PARALLEL_WRITES
from syncd.engine.reconcile import Reconciler

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterator
    from pathlib import Path

    from syncd.cli.options import ClusterChoice, Selection
    from syncd.cluster import Cluster
    from syncd.spec import Sync


@dataclass(frozen=True, slots=True)
class Workplace:
    """What reconciles one Sync after the other.

    Attributes:
        syncs: What the command is about.
    """

    reconciler: Reconciler
    cluster: Cluster
    stop: threading.Event
    syncs: tuple[Sync, ...]

    def deadline(self, sync: Sync) -> Deadline:
        """Return the deadline of a reconcile that begins now."""
        return Deadline.after(sync.spec.timeout, self.stop)


@contextmanager
def workplace(
    choice: ClusterChoice, data_dir: Path, stop: threading.Event, selection: Selection
) -> Iterator[Workplace]:
    """Make ready for single reconciles of some Syncs, which know of all others beside them.

    Raises:
        SyncdError: The Syncs cannot be read, or do not hold.
    """
    syncs = every = load_syncs(selection.config) if selection.config else ()
    if selection.config:
        syncs = named(every, selection.names)
    else:
        refuse_sandbox(choice)
    with (
        open_cluster(choice) as cluster,
        ThreadPoolExecutor(PARALLEL_WRITES, thread_name_prefix="syncd-request") as pool,
    ):
        if selection.config is None:
            objects = SyncObjects(cluster.client, stop)
            syncs = tuple(found.sync() for found in objects.find(selection.names, selection.namespace))
            every = objects.beside(syncs)
        sources = open_sources(data_dir, stop, cluster)
        reconciler = Reconciler(cluster, sources, pool, every, default_account=choice.default_account)
        yield Workplace(reconciler, cluster, stop, syncs)
