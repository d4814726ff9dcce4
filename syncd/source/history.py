"""Whether a branch went on, or its history was rewritten (a force-push).

A mirror holds single commits without what came before them. So the newest part of the history is asked for into a
folder of its own: commits only, where the server can leave files out.
"""

from __future__ import annotations

import contextlib
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Final

import structlog

from syncd.model import SyncdError
from syncd.source.command import GitCommandFailedError
from syncd.source.mirror import our_ref

if TYPE_CHECKING:
    from syncd.source.mirror import Mirror
    from syncd.source.refs import Target

log = structlog.get_logger("syncd")

_DEPTH: Final = 500
"""How many commits back the earlier one is looked for; of a longer way nothing is said."""
_SIZE_LIMIT: Final = 64 << 20
_TAGS: Final = "refs/tags/"


class History:
    """What each ref of each mirror stood for when it was looked at last, kept in the mirror.

    Safe to use from many threads as long as each holds its mirror (:meth:`Mirror.exclusive`).
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[tuple[str, str], tuple[str, str]] = {}
        """By mirror and ref: the commit, and the news of how it came to that."""

    def follow(self, mirror: Mirror, target: Target, deadline: float) -> str:
        """Take note that a ref stands for this commit now, which is there.

        Returns:
            What is worth telling about how it came to that, until it stands for another; most often "".
        """
        with self._lock:
            known, news = self._known.get((mirror.name, target.ref), ("", ""))
        if known == target.commit:
            return news
        place = our_ref(target, "followed/")
        before = mirror.read("for-each-ref", "--format=%(objectname)", place, deadline=deadline).decode("ascii").strip()
        news = ""
        if before != target.commit:
            news = _what_happened(mirror, before, target, deadline) if before else ""
            mirror.read("update-ref", place, target.commit, deadline=deadline)
        if news:
            log.warning("history rewritten", repository=mirror.url, news=news)
        with self._lock:
            self._known[mirror.name, target.ref] = target.commit, news
        return news


def _what_happened(mirror: Mirror, before: str, target: Target, deadline: float) -> str:
    """What is worth telling about the way from one commit of a ref to the next; "" when it simply went on.

    Costs nothing for a commit right after the earlier one, else one conversation with the server. What cannot be found
    out is not told: this is news, not a reason for anything.

    Args:
        mirror: Has the new commit.
        before: The commit that the ref stood for when it was looked at last.
        target: The ref, and what it stands for now.
        deadline: On ``time.monotonic()``'s clock.
    """
    if target.ref.startswith(_TAGS):
        return f"the tag {target.short} was moved from {before[:12]} to {target.commit[:12]}"
    head = mirror.read("cat-file", "commit", target.commit, deadline=deadline).partition(b"\n\n")[0]
    if f"parent {before}".encode("ascii") in head.splitlines():
        return ""
    with contextlib.suppress(SyncdError, GitCommandFailedError):
        if _is_cut_off(mirror, before, target, deadline):
            branch = "the default branch" if target.ref == "HEAD" else target.short
            return (
                f"the history of {branch} was rewritten: {before[:12]} is not an ancestor of {target.commit[:12]}; "
                "the new one is followed"
            )
    return ""


def _is_cut_off(mirror: Mirror, before: str, target: Target, deadline: float) -> bool:
    """Whether the whole history of the new commit is known, and the earlier one is not in it."""
    with tempfile.TemporaryDirectory(prefix="history-", dir=mirror.home) as name:
        folder = Path(name)
        mirror.run_in(folder, "init", "--bare", "--quiet", "--template=", deadline=deadline)
        mirror.fetch_into(
            folder, f"--depth={_DEPTH}", "--filter=tree:0", target.commit, deadline=deadline, size_limit=_SIZE_LIMIT
        )
        known = mirror.run_in(folder, "rev-list", target.commit, deadline=deadline).decode("ascii").split()
        return before not in known and not (folder / "shallow").exists()
