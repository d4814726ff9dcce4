"""One render, from files to manifests: decrypt, render, override, substitute, and refuse what must not be applied."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from syncd.model import InvalidInputError
from syncd.render import helm, kustomize, plain
from syncd.render.errors import NoManifestsError, RenderFailedError, raise_all
from syncd.render.job import Job
from syncd.render.layout import layout
from syncd.render.objects import duplicates
from syncd.render.overrides import override
from syncd.render.sops import Decryptor, refuse_encrypted
from syncd.render.substitute import substitute
from syncd.render.surroundings import Capabilities

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from syncd.model import Manifest
    from syncd.render.given import Given
    from syncd.render.layout import Layout
    from syncd.render.runner import Runner
    from syncd.render.tools import Tool, Tools
    from syncd.source.tree import Tree
    from syncd.spec import SyncSpec


@dataclass
class Build:
    """One render of one Sync.

    Attributes:
        tree: The Sync's files.
        spec: What the Sync asks for.
        given: What it needs besides.
        tools: Where the programs are.
        runner: Runs them.
        deadline: On ``time.monotonic()``'s clock.
        ask: Tells what charts may ask about the cluster.
        used: Gets the programs that took part.
        capabilities: What ``ask`` answered; None if no chart was there to ask.
        remote: Gets the hosts from which something was fetched that is in no tree.
    """

    tree: Tree
    spec: SyncSpec
    given: Given
    tools: Tools
    runner: Runner
    deadline: float
    ask: Callable[[], Capabilities]
    used: dict[str, Tool] = field(default_factory=dict)
    capabilities: Capabilities | None = None
    remote: set[str] = field(default_factory=set)
    _errors: list[InvalidInputError] = field(default_factory=list)
    _decryptor: Decryptor | None = None

    def manifests(self) -> tuple[Manifest, ...]:
        """Do it.

        Raises:
            SyncdError: As :meth:`syncd.render.Renderer.render` says.
        """
        if self.given.keys is not None:
            self._decryptor = Decryptor(self.given.keys, self._tool("sops"), self.runner, self.deadline)
            self.tree = self.tree.decrypted(self._decryptor.decrypt)
        try:
            manifests = self._changed(self._rendered(layout(self.tree, self.spec.render)))
        except RenderFailedError as error:
            raise self._scrubbed(error) from None
        return tuple(manifests)

    def _rendered(self, found: Layout) -> list[Manifest]:
        """What the renderers give for all that was found."""
        manifests = plain.read(self.tree, found.files, self._errors)
        for name, build, folders in (
            ("kustomize", kustomize.build, found.kustomizations),
            ("helm", helm.build, found.charts),
        ):
            if name == "helm" and folders:
                self.capabilities = self.ask()
            for folder in folders:
                job = Job(
                    self.tree, self.spec, self._tool(name), self.runner, self.deadline, self._errors,
                    self.capabilities or Capabilities(), self.remote,
                )  # fmt: skip
                try:
                    manifests += build(job, folder)
                except InvalidInputError as error:
                    self._errors.append(error)
        refuse_encrypted(manifests, self._errors, configured=self._decryptor is not None)
        self._stop_at_errors()
        if not manifests:
            raise NoManifestsError(
                "there is no Kubernetes object in this folder; an empty render is never applied",
                self.tree.origin(self.tree.folder),
            )
        duplicates(manifests)
        return manifests

    def _changed(self, manifests: Sequence[Manifest]) -> Sequence[Manifest]:
        """The manifests with the Sync's own changes."""
        if self.spec.overrides is not None:
            manifests = override(
                manifests, self.spec.overrides, tool=self._tool("kustomize"), runner=self.runner,
                deadline=self.deadline, errors=self._errors,
            )  # fmt: skip
        if self.spec.substitute is not None and self.given.variables is not None:
            strict = self.spec.substitute.missing == "Refuse"
            manifests = substitute(manifests, self.given.variables, strict=strict, tree=self.tree, errors=self._errors)
        self._stop_at_errors()
        duplicates(manifests)
        return manifests

    def _stop_at_errors(self) -> None:
        if self._errors:
            raise_all([self._scrubbed(error) for error in self._errors])

    def _scrubbed(self, error: InvalidInputError) -> InvalidInputError:
        """The error without what was decrypted: programs like to quote what they do not understand."""
        if self._decryptor is None or type(error) is not RenderFailedError:
            return error
        return RenderFailedError(self._decryptor.scrub(error.problem), error.origin)

    def _tool(self, name: str) -> Tool:
        """A program that is there, and new enough."""
        if name not in self.used:
            self.used[name] = self.tools.find(name)
            self.tools.version(self.used[name])
        return self.used[name]
