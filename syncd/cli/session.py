"""What a command works with: the Syncs it was given, Git and the renderers, and a cluster."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

import syncd
from syncd.cluster import Cluster
from syncd.cluster.capabilities import ServerFacts
from syncd.cluster.secrets import ClusterData
from syncd.daemon.config import load_syncs
from syncd.engine.sources import Sources
from syncd.render import Capabilities, Renderer, Surroundings
from syncd.source import Repositories
from syncd.source.secrets import NoCluster

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator, Sequence

    from syncd.cli.options import ClusterChoice
    from syncd.cluster.transport import Observation
    from syncd.source.command import Observer as GitObserver
    from syncd.spec import Sync

USER_AGENT = f"syncd/{syncd.__version__}"


def choose_syncs(config: Path, names: Sequence[str]) -> tuple[Sync, ...]:
    """Read the configuration, and keep the Syncs that are named; all, when none is.

    Raises:
        ConfigError: The configuration does not hold.
        click.UsageError: A name that is not in it.
    """
    return named(load_syncs(config), names)


def named(syncs: tuple[Sync, ...], names: Sequence[str]) -> tuple[Sync, ...]:
    """Keep the Syncs that are named; all, when none is.

    Raises:
        click.UsageError: A name that is not among them.
    """
    unknown = set(names) - {known for sync in syncs for known in (sync.id, sync.metadata.name)}
    if unknown:
        there = ", ".join(sync.id for sync in syncs)
        raise click.UsageError(f"no Sync named {', '.join(sorted(unknown))}; there are: {there}")
    return tuple(sync for sync in syncs if not names or sync.id in names or sync.metadata.name in names)


def open_sources(
    data_dir: Path, stop: threading.Event, cluster: Cluster | None = None, observer: GitObserver | None = None
) -> Sources:
    """Make ready to read Git and to render; without a cluster there are no Secrets to read."""
    secrets = ClusterData.secrets(cluster.client) if cluster else NoCluster()
    repositories = Repositories(data_dir / "mirrors", stop=stop, observer=observer, secrets=secrets)
    return Sources(repositories, Renderer(stop=stop, surroundings=_surroundings(cluster)))


def _surroundings(cluster: Cluster | None) -> Surroundings:
    """What renders may depend on that is not in Git."""
    if cluster is None:
        return Surroundings()
    facts = ServerFacts(cluster.transport, cluster.discovery)
    return Surroundings(
        secrets=ClusterData.secrets(cluster.client),
        config_maps=ClusterData.config_maps(cluster.client),
        capabilities=lambda: Capabilities(*facts.get()),
    )


@contextmanager
def open_cluster(
    choice: ClusterChoice,
    observer: Callable[[Observation], None] | None = None,
    before_write: Callable[[], None] | None = None,
) -> Iterator[Cluster]:
    """Reach the cluster that was asked for; a sandbox lives as long as this does, and nobody else writes to it.

    Raises:
        ClusterConfigError: There is no usable configuration.
    """
    if not choice.sandbox:
        with Cluster.connect(
            choice.kubeconfig, choice.context, USER_AGENT, before_write=before_write, observer=observer
        ) as cluster:
            yield cluster
        return
    from syncd.sandbox.server import SandboxServer  # noqa: PLC0415 - memory for what a daemon in a cluster never needs

    with SandboxServer() as server, tempfile.TemporaryDirectory(prefix="syncd-") as folder:
        file = Path(folder) / "kubeconfig"
        server.write_kubeconfig(file)
        with Cluster.connect(file, None, USER_AGENT, observer=observer) as cluster:
            yield cluster
