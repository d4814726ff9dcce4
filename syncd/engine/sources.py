"""Git and the renderers as one: what a Sync's source says now, as manifests."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from syncd.engine.deadline import Deadline
    from syncd.model import Manifest, Revision
    from syncd.render import Renderer
    from syncd.source import Repositories
    from syncd.spec import Sync


class Sources:
    """Where manifests come from; may be used by several threads."""

    def __init__(self, repositories: Repositories, renderer: Renderer) -> None:
        self._repositories = repositories
        self._renderer = renderer

    def resolve(self, sync: Sync, deadline: Deadline, max_age: float = 0.0) -> Revision:
        """The revision that the Sync's repository has now; only asks, unless there is something new to fetch.

        Args:
            sync: Names the repository.
            deadline: When to give up.
            max_age: How old, in seconds, an answer may be that the repository gave to another Sync.
        """
        return self._repositories.resolve(
            sync.spec.source.git,
            sync.spec.path,
            deadline=deadline.at,
            max_age=max_age,
            namespace=sync.metadata.namespace,
        )

    def manifests(self, sync: Sync, revision: Revision, deadline: Deadline) -> tuple[Manifest, ...]:
        """The manifests of a revision; the very same tuple for as long as nothing that matters has changed."""
        return self._renderer.render(
            self._repositories, sync.spec, revision, deadline=deadline.at, namespace=sync.metadata.namespace
        )
