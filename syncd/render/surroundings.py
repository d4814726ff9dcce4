"""What a render may depend on that is in no repository: Secrets and ConfigMaps, and what the cluster is like."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from syncd.source.secrets import NoCluster

if TYPE_CHECKING:
    from collections.abc import Callable

    from syncd.source.secrets import SecretReader


class Capabilities(NamedTuple):
    """What charts may ask about the cluster; empty where there is none."""

    kube_version: str = ""
    """Such as ``v1.37.1``."""
    api_versions: tuple[str, ...] = ()
    """``group/version`` and ``group/version/Kind``, sorted."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Of the Syncs of one process; may be used by many threads.

    Attributes:
        secrets: Reads Secrets.
        config_maps: Reads ConfigMaps in the same way.
        capabilities: Tells what the cluster is like, quickly; raises :class:`~syncd.model.SyncdError` when it cannot.
    """

    secrets: SecretReader = NoCluster()  # noqa: RUF009 - it has no state
    config_maps: SecretReader = NoCluster("ConfigMap")  # noqa: RUF009 - the same
    capabilities: Callable[[], Capabilities] = Capabilities
