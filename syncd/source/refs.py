"""From what a Sync follows to the ref and the commit that it stands for now."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from syncd.model import InvalidInputError
from syncd.source.errors import RefNotFoundError, RepositoryEmptyError
from syncd.source.semver import Range

if TYPE_CHECKING:
    from collections.abc import Mapping

    from syncd.spec import GitRef

_HEADS = "refs/heads/"
_TAGS = "refs/tags/"
_PEELED = "^{}"


class Target(NamedTuple):
    """A commit, and the ref through which a server hands it out."""

    ref: str
    """The full name; "" for a commit that was asked for by its id."""
    commit: str
    tag: str = ""
    """The tag object that stands before the commit; "" without one."""

    @property
    def short(self) -> str:
        """The ref as people write it; for a commit that was asked for by its id the beginning of that."""
        return self.ref.removeprefix(_HEADS).removeprefix(_TAGS) or self.commit[:12]


def patterns(ref: GitRef) -> tuple[str, ...]:
    """What to ask ``git ls-remote`` for."""
    if ref.branch is not None:
        return (_HEADS + ref.branch.removeprefix(_HEADS),)
    if ref.tag is not None:
        name = _TAGS + ref.tag.removeprefix(_TAGS)
        return (name, name + _PEELED)
    if ref.semver is not None:
        return (_TAGS + "*",)
    return ("HEAD",)


def choose(url: str, ref: GitRef, advertised: Mapping[str, str]) -> Target:
    """Pick the commit among the refs that the server has.

    Args:
        url: The repository, as it may be shown.
        ref: What the Sync follows; not a commit.
        advertised: At least what :func:`patterns` asks for.

    Raises:
        RefNotFoundError: It is not there.
        InvalidInputError: The version range is none.
    """
    if ref.semver is not None:
        name = _newest_tag(url, ref.semver, advertised)
    else:
        name = patterns(ref)[0]
        if name not in advertised:
            raise RefNotFoundError(f"{url}: {_missing(ref)}")
    peeled = advertised.get(name + _PEELED)
    return Target(name, peeled, advertised[name]) if peeled else Target(name, advertised[name])


def _newest_tag(url: str, expression: str, advertised: Mapping[str, str]) -> str:
    try:
        wanted = Range(expression)
    except ValueError as error:
        raise InvalidInputError(f"spec.source.git.ref.semver of {url} is {error}") from None
    tags = [name.removeprefix(_TAGS) for name in advertised if name.startswith(_TAGS) and not name.endswith(_PEELED)]
    newest = wanted.newest(tags)
    if newest is None:
        raise RefNotFoundError(f"{url}: none of its {len(tags)} tags is a version within {expression!r}")
    return _TAGS + newest


def _missing(ref: GitRef) -> str:
    if ref.branch is not None:
        return f"there is no branch {ref.branch!r}"
    if ref.tag is not None:
        return f"there is no tag {ref.tag!r}"
    return "its default branch has no commit; name another branch in spec.source.git.ref.branch"


def nothing_there(url: str) -> RepositoryEmptyError:
    """The error for a repository without a single branch or tag."""
    return RepositoryEmptyError(f"{url}: the repository is empty; push a commit to it")
