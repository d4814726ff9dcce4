"""``dependsOn``: whether the Syncs that one depends on are applied and healthy. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from syncd.daemon.waiting import unready
from syncd.model import SyncdError

if TYPE_CHECKING:
    from collections.abc import Callable

    from syncd.daemon.status import SyncStatus
    from syncd.model import Revision
    from syncd.spec import Sync

    Look = Callable[[str], SyncStatus | None]
    """Gives the present status of a Sync by its id."""


class DependencyNotFoundError(SyncdError):
    """A Sync depends on one that does not exist."""

    reason = "DependencyNotFound"


class DependencyCycleError(SyncdError):
    """A Sync depends on itself, if only in the end."""

    reason = "DependencyCycle"


def dependencies(sync: Sync) -> tuple[str, ...]:
    """The ids of the Syncs that one names in ``dependsOn``."""
    return tuple(f"{item.namespace or sync.metadata.namespace}/{item.name}" for item in sync.spec.depends_on)


def obstacle(sync: Sync, revision: Revision, look: Look) -> str:
    """Why a revision of a Sync may not be applied yet; "" if it may.

    Raises:
        DependencyNotFoundError: One of its dependencies does not exist.
        DependencyCycleError: Its dependencies lead back to it.
    """
    names = dependencies(sync)
    if cycle := _cycle(sync, look):
        raise DependencyCycleError(f"dependsOn goes in a circle: {' -> '.join(cycle)}; take one of these out")
    for name in names:
        if look(name) is None:
            raise DependencyNotFoundError(
                f"dependsOn names Sync {name}, which does not exist; create it, or correct the name"
            )
    obstacles = [why for name in names if (why := _why(name, sync, revision, look))]
    return "; ".join(obstacles)


class Standing(NamedTuple):
    """What of its dependencies makes a difference to a Sync that waits for them; texts and numbers do not."""

    blocked: bool
    commits: tuple[str, ...]
    """What they have applied."""


def standing(sync: Sync, revision: Revision, look: Look) -> Standing:
    """How it stands with a Sync's dependencies; one that cannot be followed blocks."""
    try:
        blocked = bool(obstacle(sync, revision, look))
    except SyncdError:
        blocked = True
    found = (look(name) for name in dependencies(sync))
    return Standing(blocked, tuple(one.applied.commit if one and one.applied else "" for one in found))


def lags_behind(sync: Sync, revision: Revision, look: Look) -> tuple[str, ...]:
    """Dependencies out of the same repository that are not to blame for anything but not having seen the commit."""
    return tuple(
        name
        for name in dependencies(sync)
        if (found := look(name)) is not None and not found.error and _is_behind(found, sync, revision)
    )


def _why(name: str, sync: Sync, revision: Revision, look: Look) -> str:
    """What is missing of one dependency; "" if nothing is."""
    found = look(name)
    assert found is not None  # noqa: S101 - the only caller has looked
    if found.error:
        return f"waits for {name}, which failed: {found.error}"
    if found.applied is None:
        return f"waits for {name}, which has not been applied yet" + _suspended(found)
    if found.message and found.attempted != found.applied:
        return f"waits for {name} ({found.reason}: {found.message})"
    if _is_behind(found, sync, revision):
        return f"waits for {name} to apply commit {revision.commit[:12]}" + _suspended(found)
    waited_for = unready(found)
    if waited_for:
        first = waited_for[0]
        more = f" and {len(waited_for) - 1} more" if len(waited_for) > 1 else ""
        return f"waits for {name}, of which {first.key.display()} is {first.health}: {first.health_message}{more}"
    return ""


def _is_behind(found: SyncStatus, sync: Sync, revision: Revision) -> bool:
    """Whether a dependency follows the same branch, and has not applied the commit that is to be applied here."""
    same = found.sync.spec.source.git.url == sync.spec.source.git.url
    same = same and found.sync.spec.source.git.ref == sync.spec.source.git.ref
    return same and (found.applied is None or found.applied.commit != revision.commit)


def _suspended(found: SyncStatus) -> str:
    return "; it is suspended" if found.sync.spec.suspend else ""


def _cycle(sync: Sync, look: Look) -> tuple[str, ...]:
    """The shortest way along ``dependsOn`` from a Sync back to it; nothing if there is none."""
    ways: list[tuple[str, ...]] = [(sync.id,)]
    seen: set[str] = set()
    while ways:
        way = ways.pop(0)
        found = look(way[-1])
        spec = sync if len(way) == 1 else found.sync if found else None
        for name in dependencies(spec) if spec else ():
            if name == sync.id:
                return (*way, name)
            if name not in seen:
                seen.add(name)
                ways.append((*way, name))
    return ()
