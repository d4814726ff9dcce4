"""What Git's error texts mean.

Git has no machine-readable errors; these are the texts of Git, of libcurl with OpenSSL and with GnuTLS, of OpenSSH,
and of the common servers, all under LC_ALL=C.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from syncd.source import errors
from syncd.source.urls import Place, display

if TYPE_CHECKING:
    from syncd.source.command import GitCommandFailedError

# In order: the first that matches tells. The message is about the repository, whose URL is put before it.
_MEANINGS: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), kind, message)
    for pattern, kind, message in (
        (
            r"host key verification failed|no .* host key is known|remote host identification has changed",
            errors.UntrustedServerError,
            "the server's ssh host key is not known, or not the known one",
        ),
        (
            (
                r"ssl certificate|certificate verif|self.signed certificate|unable to get local issuer|"
                r"server certificate|certificate subject name"
            ),
            errors.UntrustedServerError,
            "the server's certificate is not trusted",
        ),
        (
            r"http code 407 from proxy|connect tunnel failed, response 407|proxy authentication required",
            errors.AuthenticationRefusedError,
            "the proxy wants other credentials",
        ),
        (
            r"could not resolve proxy|from proxy after connect|connect tunnel failed|proxy connect aborted",
            errors.RepositoryUnreachableError,
            "the proxy cannot be reached, or does not let syncd through",
        ),
        (
            (
                r"could not resolve host|name or service not known|temporary failure in name resolution|"
                r"nodename nor servname"
            ),
            errors.RepositoryUnreachableError,
            "the host's name cannot be resolved",
        ),
        (
            r"could not read (username|password)|terminal prompts disabled",
            errors.AuthenticationRefusedError,
            "the server wants credentials (some servers also say so when there is no such repository)",
        ),
        (
            (
                r"authentication failed|permission denied \(|permission denied, please|permission to .* denied|"
                r"access denied|returned error: 40[13]|invalid credentials|unauthorized"
            ),
            errors.AuthenticationRefusedError,
            "the server does not let these credentials read it",
        ),
        (
            (
                r"repository .* not found|repository not found|returned error: (404|410)|repository .* does not exist|"
                r"does not appear to be a git repository|project you were looking for could not be found"
            ),
            errors.RepositoryNotFoundError,
            "there is no such repository",
        ),
        (
            r"returned error: 30[12378]",
            errors.RepositoryMovedError,
            "the server redirects to another place; give the URL that it has now (some servers want .git at its end)",
        ),
        (r"transport '.*' not allowed", errors.UntrustedServerError, "the server redirects to another protocol"),
        (
            (
                r"failed to connect|connection (refused|reset|timed out|closed)|couldn't connect|no route to host|"
                r"network is unreachable|empty reply|operation timed out|returned error: (429|5\d\d)|gnutls|\bssl|"
                r"\btls|early eof|hung up unexpectedly|unexpected disconnect|could not read from remote repository|"
                r"rpc failed|unable to access '|unable to connect|recv failure|send failure|expected flush|"
                r"invalid content-type"
            ),
            errors.RepositoryUnreachableError,
            "the server cannot be reached or fails",
        ),
    )
)

_TOO_LARGE: Final = re.compile(r"died of signal 25|file too large|no space left|maximum.*size", re.IGNORECASE)
_REFUSAL: Final = re.compile(
    r"unadvertised object|couldn't find remote ref|no such remote ref|does not support shallow|dumb http transport",
    re.IGNORECASE,
)
_REDIRECT: Final = re.compile(r"^warning: redirecting to (\S+)$", re.MULTILINE)
_GONE: Final = re.compile(r"not our ref", re.IGNORECASE)


def is_refusal(failure: GitCommandFailedError) -> bool:
    """Whether the server hands out refs only, or whole histories only, and was asked for less."""
    return _REFUSAL.search(failure.stderr) is not None


def says_gone(failure: GitCommandFailedError) -> bool:
    """Whether the server no longer has what it advertised: somebody pushed in between."""
    return _GONE.search(failure.stderr) is not None


def _line_around(text: str, place: int) -> str:
    """The line that tells: what Git itself adds to an error of ssh or a server says less."""
    return text[text.rfind("\n", 0, place) + 1 :].partition("\n")[0].strip()[:400]


def check_redirect(url: str, stderr: str) -> None:
    """Refuse what came from another repository than the one that was asked for.

    Git follows a server's redirect and says so. A repository that was renamed is reachable that way, until somebody
    else takes the old name. From http to https, and to the same name with ``.git``, is no move.

    Args:
        url: The repository as the Sync names it.
        stderr: What Git said.

    Raises:
        RepositoryMovedError: The server redirects.
    """
    redirect = _REDIRECT.search(stderr)
    if redirect and Place.of(redirect.group(1)) != Place.of(url):
        where = display(redirect.group(1)).removesuffix("/")
        raise errors.RepositoryMovedError(
            f"{display(url)}: the repository was renamed or moved, the server redirects to {where}; "
            "if that is right, change spec.source.git.url"
        )


def explain(url: str, failure: GitCommandFailedError) -> errors.SourceError:
    """The error for people of a failed command that talked to the server.

    Args:
        url: As it may be shown.
        failure: What Git said.
    """
    # What writes the pack was ended by its limit before it could say a word; newer versions of Git name the signal.
    ended_silently = failure.summary.endswith("fetch-pack: invalid index-pack output")
    if ended_silently or _TOO_LARGE.search(failure.stderr):
        return errors.RepositoryTooLargeError(f"{url}: the repository is larger than a mirror may be")
    for pattern, kind, message in _MEANINGS:
        found = pattern.search(failure.stderr)
        if found:
            return kind(f"{url}: {message} ({_line_around(failure.stderr, found.start())})")
    return errors.SourceError(f"{url}: git {failure.arguments[0]} failed: {failure.summary}")
