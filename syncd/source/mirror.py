"""One bare repository on disk for one URL: asked with ``ls-remote``, fetched only when a commit is missing.

A commit counts as there only when a ref of ours points to it, because Git sets the ref last: a fetch that was killed in
the middle leaves objects, but no ref.
"""

from __future__ import annotations

import contextlib
import hashlib
import resource
import shutil
import threading
import time
from typing import TYPE_CHECKING, Final

import structlog

from syncd.source import failures
from syncd.source.command import OUTPUT_LIMIT, GitCommandFailedError
from syncd.source.errors import (
    InvalidCredentialsError,
    MirrorDamagedError,
    RefNotFoundError,
    RepositoryTooLargeError,
    SourceError,
    SourceTimeoutError,
)
from syncd.source.housekeeping import try_lock
from syncd.source.objects import parse_refs
from syncd.source.processes import ProcessOutputError, ProcessTimeoutError
from syncd.source.refs import nothing_there
from syncd.source.urls import allowed_protocols, display, location

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from syncd.source.access import Access
    from syncd.source.command import GitRunner
    from syncd.source.refs import Target

log = structlog.get_logger("syncd")

_OURS: Final = "refs/syncd/"
_FETCH: Final = (
    "fetch", "--no-progress", "--force", "--no-tags", "--no-auto-gc", "--no-recurse-submodules",
    "--no-write-fetch-head", "--no-show-forced-updates", "--update-shallow",
)  # fmt: skip
_KINDS: Final = ("heads", "tags")
MIRROR_LIMIT: Final = 2 << 30
"""How many bytes one fetch may write."""
_PACKS_LIMIT: Final = 40
"""Each fetch leaves a pack; with more than these they become one."""
_OLD_COMMITS_SECONDS: Final = 3600
"""How long files stay that no branch or tag needs any more: longer than any Sync takes."""
_WANTED_FOR: Final = 900.0
"""How long, in seconds, a question to the server is asked along with others after somebody last asked it."""
_REFS_LIMIT: Final = 64 << 20
_LOCK_CHECK: Final = 0.05
_COMMITS_KEPT: Final = 100


class StaleAdvertisementError(RefNotFoundError):
    """The server advertised a commit and does not have it any more: somebody pushed in between."""


class Mirror:
    """The local copy of one repository.

    Safe to use from many threads and processes: what changes the mirror happens under a lock (:meth:`exclusive`), and
    reading needs none, as Git's objects never change.

    Args:
        directory: Where the copies are.
        url: The repository.
        runner: Runs Git.
        access: The way to it.
    """

    def __init__(self, directory: Path, url: str, runner: GitRunner, access: Access) -> None:
        self.url = display(url)
        self._location = location(url)
        self._access = access
        self._network = {"GIT_ALLOW_PROTOCOL": allowed_protocols(url)}
        self._runner = runner
        # Who has other credentials, or none, has a mirror of their own: having fetched is no right to read.
        self.name = hashlib.sha256(f"{self._location}\0{access.identity}".encode()).hexdigest()[:32]
        self._directory = directory / f"{self.name}.git"
        self._lock_file = directory / f"{self.name}.lock"
        self._lock = threading.Lock()
        self._present: set[str] = set()
        self._damaged = False
        self._asked: dict[str, float] = {}
        self._advertised: dict[str, str] = {}
        self._advertised_for: frozenset[str] = frozenset()
        self._advertised_at = float("-inf")
        self._committed: dict[str, float] = {}

    @property
    def home(self) -> Path:
        """Where private folders may be made."""
        return self._runner.home

    # --- the lock ------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def exclusive(self, deadline: float) -> Iterator[None]:
        """Be the only one, among all threads and processes, who asks the server and changes the mirror.

        Raises:
            SourceTimeoutError: Others held it until the deadline.
        """
        if not self._lock.acquire(timeout=max(0.0, deadline - time.monotonic())):
            raise self._timeout("waiting for another fetch of it")
        try:
            with self._lock_file.open("wb") as file:
                while not try_lock(file.fileno()):
                    if time.monotonic() >= deadline:
                        raise self._timeout("waiting for another syncd that fetches it")
                    time.sleep(_LOCK_CHECK)
                self.touch()
                if self._damaged or not self._directory.exists():
                    self._start_anew(deadline)
                yield
        finally:
            self._lock.release()

    def touch(self) -> None:
        """Say that the mirror is in use, or it goes some day."""
        self._lock_file.touch()

    def _timeout(self, doing: str) -> SourceTimeoutError:
        return SourceTimeoutError(f"{self.url}: timed out {doing}")

    # --- asking the server ---------------------------------------------------------------------------------------

    def advertised(self, patterns: tuple[str, ...], *, newer_than: float, deadline: float) -> Mapping[str, str]:
        """What the server's refs point to, asked once for everybody who wants to know at the same time.

        Args:
            patterns: Which refs.
            newer_than: An answer to a question that was asked after this time will do.
            deadline: On ``time.monotonic()``'s clock, as is ``newer_than``.
        """
        now = time.monotonic()
        self._asked.update(dict.fromkeys(patterns, now))
        if self._advertised_at < newer_than or not self._advertised_for.issuperset(patterns):
            self._asked = {pattern: at for pattern, at in self._asked.items() if now - at < _WANTED_FOR}
            wanted = sorted(self._asked)
            self._advertised = self._ls_remote(wanted, deadline)
            self._advertised_for = frozenset(wanted)
            self._advertised_at = now
            if not self._advertised and not self._ls_remote(["HEAD", "refs/heads/*", "refs/tags/*"], deadline):
                raise nothing_there(self.url)
        return self._advertised

    def _ls_remote(self, patterns: list[str], deadline: float) -> dict[str, str]:
        try:
            output = self._talk("ls-remote", "--quiet", "--", self._location, *patterns, deadline=deadline)
        except GitCommandFailedError as failure:
            raise failures.explain(self.url, failure) from None
        return parse_refs(output)

    def forget_advertised(self) -> None:
        """Ask the server again next time: what it said is no longer true."""
        self._advertised_at = float("-inf")

    # --- fetching ------------------------------------------------------------------------------------------------

    def is_ready(self, commit: str) -> bool:
        """Whether the mirror is known to have the commit; needs no lock and asks nobody."""
        return commit in self._present and not self._damaged

    def has(self, commit: str, deadline: float) -> bool:
        """Whether the mirror has the commit with all of its files."""
        if commit not in self._present:
            output = self.read("for-each-ref", "--format=%(objectname)", _OURS, deadline=deadline)
            self._present.update(output.decode("ascii").split())
        return commit in self._present

    def fetch(self, target: Target, deadline: float) -> None:
        """Make the mirror have the commit; a mirror that is damaged is thrown away and fetched anew, once.

        Raises:
            SourceError: What is wrong with the repository, the connection or the commit.
            StaleAdvertisementError: The server no longer has the commit, because somebody pushed in between.
        """
        try:
            if self.has(target.commit, deadline):
                return
            self._remove_leftovers()
            self._fetch(target, deadline)
        except MirrorDamagedError:
            self._start_anew(deadline)
            self._fetch(target, deadline)
        self._tidy(deadline)

    def fetch_into(self, folder: Path, *options: str, deadline: float, size_limit: int) -> None:
        """Fetch into another repository than the mirror.

        Args:
            folder: The repository.
            options: Options of ``git fetch``, and what is fetched.
            deadline: On ``time.monotonic()``'s clock.
            size_limit: How many bytes it may write.
        """
        *options_only, wanted = options
        self._talk(
            *_FETCH, *options_only, "--", self._location, wanted,
            deadline=deadline, directory=folder, size_limit=size_limit,
        )  # fmt: skip

    def _fetch(self, target: Target, deadline: float) -> None:
        ours = our_ref(target)
        try:
            self._fetch_refs(target, ours, deadline)
        except GitCommandFailedError as failure:
            if failures.says_gone(failure):
                raise StaleAdvertisementError(f"{self.url}: it does not have the commit {target.commit}") from None
            explained = failures.explain(self.url, failure)
            if type(explained) is SourceError and self._present:  # not a word about the server: then it is the mirror
                raise MirrorDamagedError(str(explained)) from None
            raise explained from None
        question = f"{target.commit}^{{commit}}\n".encode("ascii")
        if b" commit " not in self.read("cat-file", "--batch-check", stdin=question, deadline=deadline):
            raise RefNotFoundError(f"{self.url}: {target.ref or target.commit} is no commit of it")
        self.read("update-ref", ours, target.commit, deadline=deadline)
        self._present.add(target.commit)

    def _fetch_refs(self, target: Target, ours: str, deadline: float) -> None:
        """Fetch the one commit; by ref, or with the whole history, where the server hands out nothing less."""
        by_ref = [f"+{target.ref}:{ours}"] if target.ref else [f"+refs/{kind}/*:{_OURS}{kind}/*" for kind in _KINDS]
        attempts = [["--depth=1", "--", f"+{target.commit}:{ours}"], ["--depth=1", "--", *by_ref], ["--", *by_ref]]
        if not target.ref:
            del attempts[1]  # the commit is somewhere in the histories
        for words in attempts:
            options, refs = words[: words.index("--")], words[words.index("--") + 1 :]
            try:
                self._talk(*_FETCH, *options, "--", self._location, *refs, deadline=deadline)
            except GitCommandFailedError as failure:
                if words is attempts[-1] or not failures.is_refusal(failure):
                    raise
            else:
                return

    def _talk(self, *arguments: str, deadline: float, directory: Path | None = None, size_limit: int = 0) -> bytes:
        """Run a command that talks to the server."""
        try:
            with self._opened(deadline) as variables, self._runner.conversation(arguments[0]):
                done = self._runner.run(
                    *arguments,
                    directory=directory or self._directory,
                    deadline=deadline,
                    environment={**self._network, **variables},
                    output_limit=_REFS_LIMIT,
                    limits={resource.RLIMIT_FSIZE: size_limit or MIRROR_LIMIT},
                )
            failures.check_redirect(self._location, done.stderr.decode(errors="replace"))
        except ProcessTimeoutError:
            raise self._timeout(f"in git {arguments[0]}") from None
        except ProcessOutputError:
            raise RepositoryTooLargeError(f"{self.url}: it has more refs than syncd reads") from None
        except GitCommandFailedError as failure:
            failures.check_redirect(self._location, failure.stderr)
            raise
        return done.stdout

    @contextlib.contextmanager
    def _opened(self, deadline: float) -> Iterator[dict[str, str]]:
        try:
            with self._access.opened(self._location, self._runner.home, deadline) as variables:
                yield variables
        except InvalidCredentialsError as error:
            raise InvalidCredentialsError(f"{self.url}: {error}") from None

    # --- reading and repairing -----------------------------------------------------------------------------------

    def run_in(self, folder: Path, *arguments: str, deadline: float) -> bytes:
        """Run a command that needs another repository only."""
        return self._runner.run(*arguments, directory=folder, deadline=deadline).stdout

    def read(self, *arguments: str, deadline: float, stdin: bytes = b"", output_limit: int = OUTPUT_LIMIT) -> bytes:
        """Run a command that needs the mirror only, and cannot fail unless the mirror is damaged.

        Raises:
            MirrorDamagedError: It failed; the mirror will be thrown away and fetched anew.
            SourceTimeoutError: The deadline passed.
            ProcessOutputError: There was more output than the caller allows.
        """
        try:
            return self._runner.run(
                *arguments, directory=self._directory, deadline=deadline, stdin=stdin, output_limit=output_limit
            ).stdout
        except ProcessTimeoutError:
            raise self._timeout(f"in git {arguments[0]}") from None
        except GitCommandFailedError as failure:
            raise self.damaged(failure.summary) from None

    def committed(self, commit: str, deadline: float) -> float:
        """When a commit that is there was made, in seconds since 1970, by the clock of whoever made it.

        Raises:
            MirrorDamagedError: It cannot be read.
            SourceTimeoutError: The deadline passed.
        """
        if commit not in self._committed:
            told = self.read("show", "--no-patch", "--no-show-signature", "--format=%ct", commit, deadline=deadline)
            # The Syncs of a repository follow few commits at a time.
            newest = list(self._committed.items())[-_COMMITS_KEPT:]
            self._committed = {**dict(newest), commit: float(told)}
        return self._committed[commit]

    def bad_signature(self, kind: str, id_: str, environment: Mapping[str, str], deadline: float) -> str | None:
        """What Git says about the signature of a commit or tag that is there; None when it is good.

        Args:
            kind: ``commit`` or ``tag``.
            id_: The object.
            environment: Says which keys count.
            deadline: On ``time.monotonic()``'s clock.
        """
        try:
            self._runner.run(
                f"verify-{kind}", "--raw", id_, directory=self._directory, deadline=deadline, environment=environment
            )
        except GitCommandFailedError as failure:
            return failure.stderr
        except ProcessTimeoutError:
            raise self._timeout(f"in git verify-{kind}") from None
        return None

    def damaged(self, how: str) -> MirrorDamagedError:
        """Remember that the mirror is not to be trusted, and give the error that says so."""
        self._damaged = True
        return MirrorDamagedError(f"{self.url}: the local mirror is damaged and will be fetched anew ({how})")

    def _start_anew(self, deadline: float) -> None:
        """Make an empty mirror in the place of whatever there is."""
        shutil.rmtree(self._directory, ignore_errors=True)
        self._present.clear()
        self._directory.mkdir(parents=True)
        self.read("init", "--bare", "--quiet", "--template=", deadline=deadline)
        self._damaged = False

    def _tidy(self, deadline: float) -> None:
        """Keep a mirror that is fetched again and again small; files of old commits stay for those who read them."""
        packs = [pack.stat().st_size for pack in (self._directory / "objects" / "pack").glob("*.pack")]
        if len(packs) > _PACKS_LIMIT or sum(packs) > MIRROR_LIMIT:
            with contextlib.suppress(SourceError):  # the commit is there, which is what was asked for
                self.read("gc", "--quiet", f"--prune={_OLD_COMMITS_SECONDS}.seconds.ago", deadline=deadline)
            self._present.clear()

    def _remove_leftovers(self) -> None:
        """Remove what a killed fetch left: nobody else is fetching, so no lock file is anybody's."""
        for pattern in ("*.lock", "refs/**/*.lock", "objects/pack/tmp_*"):
            for path in self._directory.glob(pattern):
                path.unlink(missing_ok=True)


def our_ref(target: Target, kind: str = "") -> str:
    """The ref of a mirror that stands for what is followed; ``kind`` when it says something else than "is there"."""
    return f"{_OURS}{kind}{hashlib.sha256((target.ref or target.commit).encode()).hexdigest()[:32]}"
