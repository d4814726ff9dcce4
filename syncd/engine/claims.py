"""What the other Syncs want, so that an object that moves from one to another is handed over and not deleted."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, NamedTuple

from syncd.engine.deadline import Deadline
from syncd.model import SyncdError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from syncd.model import ObjectKey
    from syncd.spec import Sync

_PATIENCE = 10.0
"""Seconds that all other Syncs together may take to be asked."""


class Found(NamedTuple):
    """What others want."""

    claimed: Mapping[ObjectKey, str]
    doubt: str = ""
    """Why this may not be all that matters."""


class Claims:
    """The desired objects of all Syncs of this process; may be used by many threads.

    Args:
        syncs: All of them at first.
        render: What a Sync's source wants now, or wanted at most so many seconds ago.
    """

    def __init__(self, syncs: Iterable[Sync], render: Callable[[Sync, Deadline, float], frozenset[ObjectKey]]) -> None:
        self._syncs = {sync.id: sync for sync in syncs}
        self._render = render
        self._lock = threading.Lock()
        self._known: dict[str, frozenset[ObjectKey]] = {}

    def follow(self, sync: Sync) -> None:
        """Take note of a Sync that is new, or that asks for something else now."""
        with self._lock:
            self._syncs[sync.id] = sync
            self._known.pop(sync.id, None)

    def forget(self, sync_id: str) -> None:
        """A Sync is no more, and wants nothing."""
        with self._lock:
            self._syncs.pop(sync_id, None)
            self._known.pop(sync_id, None)

    def note(self, sync: Sync, keys: frozenset[ObjectKey]) -> None:
        """Remember what a Sync wants."""
        with self._lock:
            self._known[sync.id] = keys

    def of_others(self, sync: Sync, deadline: Deadline) -> Found:
        """What the other Syncs want.

        What was last seen of them counts, but those are asked anew that may have changed in the same commit, or that
        say that they take objects over from this one: a prune that is ahead of them would delete what they want.
        """
        deadline = Deadline(min(deadline.at, Deadline.after(_PATIENCE).at), deadline.stop)
        begin = time.monotonic()
        claimed: dict[ObjectKey, str] = {}
        doubts: list[str] = []
        with self._lock:
            syncs = tuple(self._syncs.values())
        for other in syncs:
            if other.id == sync.id:
                continue
            heir = sync.id in other.spec.adopt.from_
            with self._lock:
                keys = self._known.get(other.id)
            if keys is None or heir or other.spec.source.git.url == sync.spec.source.git.url:
                try:
                    keys = self._render(other, deadline, time.monotonic() - begin)  # one question to each repository
                except SyncdError as error:
                    if heir:  # anybody else's trouble must not hold this Sync up
                        doubts.append(f"what {other.id} takes over cannot be found out: {error}")
            claimed.update(dict.fromkeys(keys or (), other.id))
        return Found(claimed, "; ".join(doubts))
