"""The repositories that Syncs follow: from what a Sync names to a revision, and from a revision to its files."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Final

from syncd.model import Revision
from syncd.source import refs
from syncd.source.access import Access
from syncd.source.command import GitRunner
from syncd.source.errors import MirrorDamagedError
from syncd.source.github import AppTokens
from syncd.source.history import History
from syncd.source.housekeeping import Housekeeping
from syncd.source.inputs import Inputs, scan, still_hold
from syncd.source.mirror import Mirror, StaleAdvertisementError
from syncd.source.proxy import Proxy
from syncd.source.refs import Target
from syncd.source.secrets import NoCluster, SecretPlace
from syncd.source.snapshot import Snapshot
from syncd.source.tree import Limits, Tree
from syncd.source.verify import Verifier

if TYPE_CHECKING:
    from pathlib import Path

    from syncd.source.command import Observer
    from syncd.source.secrets import SecretReader
    from syncd.spec import GitSource

_INPUTS_KEPT: Final = 10_000


class Repositories:
    """Local mirrors of every repository that a Sync follows, one for each URL.

    Safe to use from many threads, and beside other processes that use the same folder.

    Args:
        directory: Where the mirrors are kept; a cache, which may be deleted while nobody uses it.
        stop: Set on shutdown: everything in hand ends at once, with an error.
        limits: How much one Sync may read.
        observer: Is told of each conversation with a Git server.
        secrets: Reads the Secrets that Syncs name.
    """

    def __init__(
        self,
        directory: Path,
        *,
        stop: threading.Event | None = None,
        limits: Limits = Limits(),  # noqa: B008 - Limits is immutable
        observer: Observer | None = None,
        secrets: SecretReader = NoCluster(),  # noqa: B008 - it has no state
    ) -> None:
        self._directory = directory
        self._runner = GitRunner(directory, stop, observer)
        self._limits = limits
        self._secrets = secrets
        self._tokens = AppTokens()
        self._verifier = Verifier(self._runner, secrets)
        self._housekeeping = Housekeeping(directory)
        self._housekeeping.look()
        self._lock = threading.Lock()
        self._history = History()
        self._mirrors: dict[tuple[str, SecretPlace | None, Proxy | None], Mirror] = {}
        self._inputs: OrderedDict[tuple[str, str], tuple[str, Inputs]] = OrderedDict()

    def resolve(
        self, git: GitSource, path: str, *, deadline: float, max_age: float = 0.0, namespace: str = ""
    ) -> Revision:
        """Find the commit that a Sync is to follow now, and have it in the mirror.

        Asks the server with ``ls-remote`` (not at all for a commit that is there), fetches only a commit that is
        missing, and reads a little of the mirror to tell whether anything changed that matters to the path.

        Args:
            git: The repository and what to follow in it.
            path: The Sync's path.
            deadline: On ``time.monotonic()``'s clock.
            max_age: How old, in seconds, an answer of the server may be that was asked for on behalf of another Sync.
                With 0, a push that was over before the call is always seen.
            namespace: The Sync's, where its Secrets are.

        Raises:
            SourceError: One of its subclasses tells what is wrong with the repository, the ref or the path.
            InvalidInputError: The path leads out of the repository, or the version range is none.
        """
        asked_at = time.monotonic()
        mirror = self._mirror(git, namespace)
        target, news = self._target(mirror, git, asked_at - max_age, deadline)
        try:
            inputs = self._look(mirror, git, target, path, namespace=namespace, deadline=deadline)
        except MirrorDamagedError:
            self._ensure(mirror, target.commit, deadline)
            inputs = self._look(mirror, git, target, path, namespace=namespace, deadline=deadline)
        committed = mirror.committed(target.commit, deadline)
        return Revision(str(git.ref), target.commit, inputs.identity, news, committed)

    def tree(self, git: GitSource, revision: Revision, path: str, *, deadline: float, namespace: str = "") -> Tree:
        """The files that a Sync reads in a revision; nothing is read before somebody asks the tree.

        Args:
            git: The repository.
            revision: What :meth:`resolve` returned, now or in an earlier life; its commit is fetched if it is missing.
            path: The Sync's path.
            deadline: For everything that is read of the tree, on ``time.monotonic()``'s clock.
            namespace: The Sync's, where its Secrets are.

        Raises:
            SourceError: One of its subclasses tells what is wrong with the repository, the commit or the path.
        """
        mirror = self._mirror(git, namespace)
        self._ensure(mirror, revision.commit, deadline)
        snapshot = Snapshot(mirror, revision.commit, deadline)
        return Tree(snapshot, self._inputs_of(snapshot, path), self._limits)

    def _mirror(self, git: GitSource, namespace: str) -> Mirror:
        place = SecretPlace.of(git.secret_file, git.secret_ref, namespace)
        proxy = Proxy.of(git.proxy, namespace)
        key = (git.url, place, proxy)
        with self._lock:
            if key not in self._mirrors:
                access = Access(place, proxy, self._secrets, self._tokens)
                self._housekeeping.look()
                self._mirrors[key] = Mirror(self._directory, git.url, self._runner, access)
            return self._mirrors[key]

    def _look(
        self, mirror: Mirror, git: GitSource, target: Target, path: str, *, namespace: str, deadline: float
    ) -> Inputs:
        """What the path holds in a commit that may be used."""
        if git.verify is not None:
            self._verifier.check(mirror, git.verify, target, namespace=namespace, deadline=deadline)
        return self._inputs_of(Snapshot(mirror, target.commit, deadline), path)

    def _target(self, mirror: Mirror, git: GitSource, newer_than: float, deadline: float) -> tuple[Target, str]:
        """What is to be followed now, and what is worth telling about how it came to that."""
        if git.ref.commit is not None:
            self._ensure(mirror, git.ref.commit, deadline)
            mirror.touch()
            return Target("", git.ref.commit), ""
        with mirror.exclusive(deadline):
            try:
                return _newest(mirror, self._history, git, newer_than, deadline)
            except StaleAdvertisementError:
                mirror.forget_advertised()
                return _newest(mirror, self._history, git, newer_than, deadline)

    def _ensure(self, mirror: Mirror, commit: str, deadline: float) -> None:
        """Have a commit that need not be the newest."""
        if not mirror.is_ready(commit):
            with mirror.exclusive(deadline):
                mirror.fetch(Target("", commit), deadline)

    def _inputs_of(self, snapshot: Snapshot, path: str) -> Inputs:
        """The inputs in this commit: those found before, if all of them are still the same."""
        key = (snapshot.mirror.name, path)
        with self._lock:
            commit, inputs = self._inputs.get(key, ("", None))
        if inputs is not None and (commit == snapshot.commit or still_hold(inputs, snapshot)):
            found = inputs
        else:
            found = scan(snapshot, path)
        with self._lock:
            self._inputs[key] = (snapshot.commit, found)
            self._inputs.move_to_end(key)
            while len(self._inputs) > _INPUTS_KEPT:
                self._inputs.popitem(last=False)
        return found


def _newest(mirror: Mirror, history: History, git: GitSource, newer_than: float, deadline: float) -> tuple[Target, str]:
    advertised = mirror.advertised(refs.patterns(git.ref), newer_than=newer_than, deadline=deadline)
    target = refs.choose(mirror.url, git.ref, advertised)
    mirror.fetch(target, deadline)
    return target, history.follow(mirror, target, deadline)
