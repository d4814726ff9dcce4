"""Everything at once, with the daemon as a process: commits, rewritten history, live edits, SIGKILL, API errors.

The story is made up from a seed. It is short by default; ``SYNCD_STORM_SECONDS=600`` makes it long, and
``SYNCD_STORM_SEED`` another one. What must hold at rest stands in :mod:`tests.support.world`.
"""

from __future__ import annotations

import os
import random
import time
from typing import TYPE_CHECKING

import pytest

from syncd.inventory import names
from syncd.sandbox.app import Fault
from tests.support.faults import refusal
from tests.support.world import COLOUR, KINDS, Thing, World

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from syncd.sandbox.requests import Request

SECONDS = float(os.environ.get("SYNCD_STORM_SECONDS", "15"))
SEED = int(os.environ.get("SYNCD_STORM_SEED", "1"))
BETWEEN_RESTS = 60.0
"""Seconds of a long story after which it comes to rest, so that what went wrong is found near where it did."""
SYNCS = ("ann", "bob", "cyd", "dan")
PLACES = ("default", "red")
COLOURS = ("amber", "blue", "cyan")
ROOMS = tuple(f"room-{number}" for number in range(3))
POOL = tuple(Thing(kind, place, f"thing-{number}") for kind in KINDS for place in PLACES for number in range(6))
LISTS = (Thing("ConfigMap", "red", "list"), Thing("Secret", "default", "list"))
"""What one Sync brings along as its apply-config object, every now and then."""
FAULTS = (
    refusal(409),
    refusal(429),
    refusal(500),
    refusal(503),
    Fault(cut="before"),
    Fault(cut="after"),
    Fault(delay=0.2),
)


class Storm:
    """One story, and its dice."""

    def __init__(self, world: World, seed: int) -> None:
        self.world = world
        self.dice = random.Random(seed)  # noqa: S311 - a story that can be told again
        self.told: list[str] = []
        self._deeds: tuple[tuple[int, Callable[[], str]], ...] = (
            (30, self.change),
            (12, self.hand_over),
            (8, self.rewrite),
            (8, self.move_list),
            (8, self.room),
            (15, self.edit),
            (10, self.delete),
            (4, self.free),
            (5, self.make_foreign),
            (4, self.crash),
            (6, self.trouble),
            (6, self.calm),
        )

    def blow(self, seconds: float) -> None:
        """Let things happen for a while."""
        weights = [weight for weight, _ in self._deeds]
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            (deed,) = self.dice.choices([deed for _, deed in self._deeds], weights)
            self.told.append(f"{deed.__name__} {deed()}")
            time.sleep(self.dice.uniform(0.0, 0.3))  # the pace of the story; nothing is waited for

    def change(self) -> str:
        name = self._sync()
        wanted = self.world.wanted[name]
        for _ in range(self.dice.randint(1, 4)):
            thing = self.dice.choice(POOL)
            if any(thing in others for other, others in self.world.wanted.items() if other != name):
                continue
            if thing in wanted and len(wanted) > 3 and self.dice.random() < 0.6:
                del wanted[thing]
            else:
                wanted[thing] = self.dice.choice(COLOURS)
        self._commit(name)
        return name

    def hand_over(self) -> str:
        giver, taker = self.dice.sample(SYNCS, 2)
        given = [thing for thing in self.world.wanted[giver] if thing in POOL and self.world.place[giver] != thing]
        if len(given) < 2:
            return "nothing"
        thing = self.dice.choice(given)
        self.world.wanted[taker][thing] = self.world.wanted[giver].pop(thing)
        for name in self.dice.sample((giver, taker), 2):
            self._commit(name)
        return f"{thing} from {giver} to {taker}"

    def rewrite(self) -> str:
        name = self._sync()
        self._commit(name, rewrite=True)
        return name

    def move_list(self) -> str:
        name = SYNCS[0]
        if (old := self.world.place[name]) is not None and self.dice.random() < 0.7:
            del self.world.wanted[name][old]
        new = self.dice.choice((None, *LISTS))
        self.world.place[name] = new
        if new is not None:
            self.world.wanted[name][new] = self.dice.choice(COLOURS)
        self._commit(name)
        return str(new)

    def room(self) -> str:
        """A namespace with something in it comes, or goes with all that is in it."""
        name = SYNCS[1]
        room = self.dice.choice(ROOMS)
        inside = [Thing("", "", ""), *(Thing("ConfigMap", room, f"thing-{number}") for number in range(2))]
        inside[0] = Thing("Namespace", "", room)
        wanted = self.world.wanted[name]
        for thing in inside:
            if inside[0] in wanted and thing != inside[0]:
                wanted.pop(thing, None)
        if inside[0] in wanted:
            del wanted[inside[0]]
        else:
            wanted.update(dict.fromkeys(inside, self.dice.choice(COLOURS)))
        self._commit(name)
        return room

    def edit(self) -> str:
        thing = self.dice.choice(POOL)
        live = self.world.live(thing)
        if live is None or thing in self.world.foreign:
            return "nothing"
        labels = {**live["metadata"].get("labels", {}), COLOUR: "edited"}
        self.world.write(thing, {**live, "metadata": {**live["metadata"], "labels": labels}})
        return str(thing)

    def delete(self) -> str:
        thing = self.dice.choice(POOL)
        if self.world.live(thing) is None or thing in self.world.foreign:
            return "nothing"
        self.world.delete(thing)
        return str(thing)

    def free(self) -> str:
        """Somebody takes the marks off an object, which then is nobody's unless a Sync still wants it."""
        thing = self.dice.choice(POOL)
        live = self.world.live(thing)
        if live is None:
            return "nothing"
        self.world.freed.add(thing)
        labels = {
            key: value for key, value in live["metadata"].get("labels", {}).items() if key != names.APPLY_ID_LABEL
        }
        annotations = {
            key: value for key, value in live["metadata"].get("annotations", {}).items() if key not in names.MARKS
        }
        self.world.write(
            thing, {**live, "metadata": {**live["metadata"], "labels": labels, "annotations": annotations}}
        )
        return str(thing)

    def make_foreign(self) -> str:
        """Somebody makes an object of their own, sometimes in a namespace that a Sync made."""
        place = self.dice.choice((*PLACES, *ROOMS))
        thing = Thing(self.dice.choice(KINDS), place, f"foreign-{len(self.world.foreign)}")
        space = self.world.live(Thing("Namespace", "", place))
        if space is None or space["metadata"].get("deletionTimestamp") or (place in ROOMS and self.dice.random() < 0.8):
            return "nothing"
        self.world.put_foreign(thing)
        return str(thing)

    def crash(self) -> str:
        self.world.daemon.kill()
        self.world.daemon.start()
        return ""

    def trouble(self) -> str:
        """From now on the API server fails now and then."""
        often = self.dice.uniform(0.02, 0.3)
        own = random.Random(self.dice.random())  # noqa: S311 - the server asks in its own thread

        def fault(request: Request) -> Fault | None:
            if request.user_agent.startswith("syncd/") and own.random() < often:
                return own.choice(FAULTS)
            return None

        self.world.fault = fault
        return f"{often:.0%}"

    def calm(self) -> str:
        self.world.fault = lambda _request: None
        return ""

    def _sync(self) -> str:
        return self.dice.choice(SYNCS)

    def _commit(self, name: str, *, rewrite: bool = False) -> None:
        self.world.commit(name, rewrite=rewrite)


@pytest.mark.timeout(int(SECONDS * 2 + 600))
def test_after_a_storm_the_cluster_is_as_git_wants_it_and_nothing_foreign_is_gone(tmp_path: Path) -> None:
    with World(tmp_path, {name: {} for name in SYNCS}) as world:
        world.put_foreign(Thing("Namespace", "", "red"))
        for number, name in enumerate(SYNCS):
            world.wanted[name] = {Thing("ConfigMap", "default", f"always-{number}"): COLOURS[0]}
            world.commit(name)
        world.put_foreign(Thing("ConfigMap", "red", "foreign"))
        world.daemon.start()
        storm = Storm(world, SEED)
        left = SECONDS
        try:
            while left > 0:
                storm.blow(min(left, BETWEEN_RESTS))
                left -= BETWEEN_RESTS
                world.rest()
        except AssertionError as error:
            story = "\n".join(storm.told[-200:])
            raise AssertionError(f"{error}\nseed {SEED}, {len(storm.told)} deeds, the last of them:\n{story}") from None
        assert len(storm.told) > 10
        assert world.requests > 50
