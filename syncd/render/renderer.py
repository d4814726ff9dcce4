"""From a revision to the manifests that it holds."""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Final, NamedTuple

from syncd.render.build import Build
from syncd.render.given import Given, gather
from syncd.render.runner import Runner
from syncd.render.surroundings import Capabilities, Surroundings
from syncd.render.tools import Tool, Tools
from syncd.render.workspace import remove_left_over
from syncd.source.errors import MirrorDamagedError

if TYPE_CHECKING:
    from syncd.model import Manifest, Revision
    from syncd.source import Repositories
    from syncd.spec import SyncSpec

_KEPT: Final = 10_000
_REMOTE_SECONDS: Final = 300.0
"""For so long a render with remote bases is good; whether these have changed is known only by fetching them anew."""
_DECIDING: Final = {"render", "decryption", "overrides", "substitute", "target"}
"""The parts of a Sync that say how its files are rendered, and what may become of that."""


class _Question(NamedTuple):
    """What a cached answer belongs to: one Sync's way of looking at one place."""

    url: str
    path: str
    how: str
    namespace: str


class _Answer(NamedTuple):
    inputs: str
    """The identity of everything in Git that the manifests were made from."""
    given: str
    """The identity of what they were made from besides."""
    tools: tuple[Tool, ...]
    """The programs that made them."""
    capabilities: Capabilities | None
    """What charts among them were told of the cluster; None if there was none."""
    good_until: float
    """Until when nobody need look whether what came from elsewhere has changed, on ``time.monotonic()``'s clock."""
    manifests: tuple[Manifest, ...]


class Renderer:
    """Renders what Syncs ask for, and remembers the last answer to each.

    Safe to use from many threads.

    Args:
        stop: Set on shutdown: external programs in hand are ended at once.
        tools: Where these programs are.
        surroundings: What renders may depend on that is not in Git.
    """

    def __init__(
        self,
        *,
        stop: threading.Event | None = None,
        tools: Tools | None = None,
        surroundings: Surroundings = Surroundings(),  # noqa: B008 - it is immutable
    ) -> None:
        remove_left_over()
        self._tools = tools or Tools()
        self._runner = Runner(stop)
        self._surroundings = surroundings
        self._lock = threading.Lock()
        self._answers: OrderedDict[_Question, _Answer] = OrderedDict()

    def render(
        self, repositories: Repositories, spec: SyncSpec, revision: Revision, *, deadline: float, namespace: str = ""
    ) -> tuple[Manifest, ...]:
        """The manifests of a Sync in a revision: the very same tuple for as long as no input has changed.

        Inputs are the files, the Secrets and ConfigMaps that the Sync names, the programs, and for charts what the
        cluster is like.

        Args:
            repositories: Has the files.
            spec: The Sync's source, path and renderer.
            revision: What the repositories resolved for this source and path.
            deadline: On ``time.monotonic()``'s clock.
            namespace: The Sync's own, where the Secrets are that it names.

        Raises:
            InvalidInputError: The files are wrong; where there are several mistakes, the error lists them all.
            SourceError: The files cannot be read.
            RenderTimeoutError: The deadline passed.
            ToolMissingError: There is no program for what the files need.
            SyncdError: A Secret or ConfigMap cannot be read, or the cluster does not say what it is like.
        """
        how = spec.model_dump_json(include=_DECIDING)
        question = _Question(spec.source.git.url, spec.path, how, namespace)
        given = gather(spec, self._surroundings, namespace)
        with self._lock:
            known = self._answers.get(question)
        if known is not None and known.inputs == revision.tree and self._is_current(known, given):
            return known.manifests
        try:
            answer = self._ask(repositories, spec, revision, given, deadline, namespace=namespace)
        except MirrorDamagedError:  # it has been thrown away; a second look fetches it anew
            answer = self._ask(repositories, spec, revision, given, deadline, namespace=namespace)
        with self._lock:
            self._answers[question] = answer
            self._answers.move_to_end(question)
            while len(self._answers) > _KEPT:
                self._answers.popitem(last=False)
        return answer.manifests

    def _is_current(self, known: _Answer, given: Given) -> bool:
        return (
            known.given == given.identity
            and time.monotonic() < known.good_until
            and all(self._tools.find(tool.name) == tool for tool in known.tools)
            and (known.capabilities is None or known.capabilities == self._surroundings.capabilities())
        )

    def _ask(
        self,
        repositories: Repositories,
        spec: SyncSpec,
        revision: Revision,
        given: Given,
        deadline: float,
        *,
        namespace: str,
    ) -> _Answer:
        tree = repositories.tree(spec.source.git, revision, spec.path, deadline=deadline, namespace=namespace)
        build = Build(tree, spec, given, self._tools, self._runner, deadline, self._surroundings.capabilities)
        manifests = build.manifests()
        tools = tuple(build.used.values())
        good_until = time.monotonic() + _REMOTE_SECONDS if build.remote else math.inf
        return _Answer(tree.identity, given.identity, tools, build.capabilities, good_until, manifests)
