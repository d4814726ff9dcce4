"""From a revision to the manifests that it holds."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Final, NamedTuple

from syncd.model import InvalidInputError
from syncd.render import helm, kustomize, plain
from syncd.render.errors import NoManifestsError, raise_all
from syncd.render.job import Job
from syncd.render.layout import layout
from syncd.render.objects import duplicates
from syncd.render.runner import Runner
from syncd.render.tools import Tool, Tools
from syncd.source.errors import MirrorDamagedError

if TYPE_CHECKING:
    from syncd.model import Manifest, Revision
    from syncd.source import Repositories
    from syncd.spec import SyncSpec

_KEPT: Final = 10_000


class _Question(NamedTuple):
    """What a cached answer belongs to: one Sync's way of looking at one place."""

    url: str
    path: str
    render: str
    namespace: str


class _Answer(NamedTuple):
    inputs: str
    """The identity of everything that the manifests were made from."""
    tools: tuple[Tool, ...]
    """The programs that made them."""
    manifests: tuple[Manifest, ...]


class Renderer:
    """Renders what Syncs ask for, and remembers the last answer to each.

    Safe to use from many threads.

    Args:
        stop: Set on shutdown: external programs in hand are ended at once.
        tools: Where these programs are.
    """

    def __init__(self, *, stop: threading.Event | None = None, tools: Tools | None = None) -> None:
        self._tools = tools or Tools()
        self._runner = Runner(stop)
        self._lock = threading.Lock()
        self._answers: OrderedDict[_Question, _Answer] = OrderedDict()

    def render(
        self, repositories: Repositories, spec: SyncSpec, revision: Revision, *, deadline: float, namespace: str = ""
    ) -> tuple[Manifest, ...]:
        """The manifests of a Sync in a revision: the very same tuple for as long as no input has changed.

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
        """
        question = _Question(spec.source.git.url, spec.path, spec.render.model_dump_json(), spec.target.namespace)
        with self._lock:
            known = self._answers.get(question)
        if known is not None and known.inputs == revision.tree and self._are_current(known.tools):
            return known.manifests
        try:
            answer = self._ask(repositories, spec, revision, deadline, namespace)
        except MirrorDamagedError:  # it has been thrown away; a second look fetches it anew
            answer = self._ask(repositories, spec, revision, deadline, namespace)
        with self._lock:
            self._answers[question] = answer
            self._answers.move_to_end(question)
            while len(self._answers) > _KEPT:
                self._answers.popitem(last=False)
        return answer.manifests

    def _are_current(self, tools: tuple[Tool, ...]) -> bool:
        return all(self._tools.find(tool.name) == tool for tool in tools)

    def _ask(
        self, repositories: Repositories, spec: SyncSpec, revision: Revision, deadline: float, namespace: str
    ) -> _Answer:
        tree = repositories.tree(spec.source.git, revision, spec.path, deadline=deadline, namespace=namespace)
        errors: list[InvalidInputError] = []
        found = layout(tree, spec.render)
        manifests = plain.read(tree, found.files, errors)
        tools = []
        for name, build, folders in (
            ("kustomize", kustomize.build, found.kustomizations),
            ("helm", helm.build, found.charts),
        ):
            if folders:
                tools.append(self._tool(name))
            for folder in folders:
                try:
                    manifests += build(Job(tree, spec, tools[-1], self._runner, deadline, errors), folder)
                except InvalidInputError as error:
                    errors.append(error)
        if errors:
            raise_all(errors)
        if not manifests:
            raise NoManifestsError(
                "there is no Kubernetes object in this folder; an empty render is never applied",
                tree.origin(tree.folder),
            )
        duplicates(manifests)
        return _Answer(tree.identity, tuple(tools), tuple(manifests))

    def _tool(self, name: str) -> Tool:
        tool = self._tools.find(name)
        self._tools.version(tool)  # refuses one that is too old
        return tool
