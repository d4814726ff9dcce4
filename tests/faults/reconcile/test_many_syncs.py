"""Fifty Syncs in one daemon, as a process, on the sandbox: from nothing, with objects that change hands, and prunes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.world import KINDS, Thing, World

if TYPE_CHECKING:
    from pathlib import Path

COUNT = 50
EACH = 9


def things_of(name: str) -> list[Thing]:
    room = f"room-{name}"
    inside = [Thing(KINDS[number % len(KINDS)], room, f"{name}-{number}") for number in range(EACH - 1)]
    return [Thing("Namespace", "", room), *inside]


@pytest.mark.timeout(600)
def test_fifty_syncs_converge_change_hands_and_prune(tmp_path: Path) -> None:
    syncs = [f"s{number:02}" for number in range(COUNT)]
    pairs = list(zip(syncs[:20:2], syncs[1:20:2], strict=True))
    heirs = {taker: {"adopt": {"from": [f"syncd/{giver}"]}} for giver, taker in pairs}
    with World(tmp_path, {name: heirs.get(name, {}) for name in syncs}) as world:
        for name in syncs:
            world.wanted[name] = dict.fromkeys(things_of(name), "blue")
            world.commit(name)
        world.put_foreign(Thing("ConfigMap", "default", "foreign"))
        world.daemon.start()
        world.rest(restart=False)
        given = {thing: _uid(world, thing) for thing in (things_of(giver)[1] for giver, _ in pairs)}
        for giver, taker in pairs:
            thing = things_of(giver)[1]
            world.wanted[taker][thing] = world.wanted[giver].pop(thing)
            world.commit(taker)  # first: nobody would want it in between
            world.commit(giver)
        for name in syncs[20:40]:
            for thing in things_of(name)[-3:]:
                del world.wanted[name][thing]
            world.commit(name)
        for name in syncs[40:]:
            world.wanted[name] = dict.fromkeys(things_of(name)[:2], "blue")
            world.commit(name)
        world.rest(restart=False)
        assert {thing: _uid(world, thing) for thing in given} == given, "it was deleted and made anew"
        before = world.requests
        world.rest()
        assert world.requests > before, "the restart asked nothing"


def _uid(world: World, thing: Thing) -> str:
    live = world.live(thing)
    return str(live["metadata"]["uid"]) if live else ""
