"""One reconcile's surroundings, handed as one thing to each of its steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from syncd.plan.settings import FREE

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from syncd.cluster import Cluster
    from syncd.engine.deadline import Deadline
    from syncd.engine.memory import Memory
    from syncd.model import Revision
    from syncd.plan.settings import Restraint
    from syncd.spec import Sync


@dataclass(frozen=True, slots=True)
class Work:
    """What every step of one reconcile may use.

    Attributes:
        sync: What is asked for.
        revision: What Git says.
        cluster: Where it goes.
        memory: What the last reconcile of the Sync left.
        pool: Where requests that may go in parallel run.
        deadline: When it has to end.
        restraint: What the moment forbids.
    """

    sync: Sync
    revision: Revision
    cluster: Cluster
    memory: Memory
    pool: Executor
    deadline: Deadline
    restraint: Restraint = FREE
