"""What every external renderer needs to do its work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from syncd.model import InvalidInputError
    from syncd.render.runner import Runner
    from syncd.render.surroundings import Capabilities
    from syncd.render.tools import Tool
    from syncd.source.tree import Tree
    from syncd.spec import SyncSpec


@dataclass(frozen=True, slots=True)
class Job:
    """One Sync's render, as far as one external renderer is concerned.

    Attributes:
        tree: The Sync's files.
        spec: What the Sync asks for.
        tool: The program to use.
        runner: Runs it.
        deadline: On ``time.monotonic()``'s clock.
        errors: Gets what is wrong with single objects.
        capabilities: What charts may ask about the cluster.
        remote: Gets the hosts from which something was fetched.
    """

    tree: Tree
    spec: SyncSpec
    tool: Tool
    runner: Runner
    deadline: float
    errors: list[InvalidInputError]
    capabilities: Capabilities
    remote: set[str]
