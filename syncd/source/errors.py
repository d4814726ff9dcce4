"""What can go wrong with a repository, one type for each thing that a person would handle differently."""

from __future__ import annotations

from syncd.model import InvalidInputError, SyncdError


class SourceError(SyncdError):
    """A repository could not be followed or read."""

    reason = "SourceFailed"


class GitNotInstalledError(SourceError):
    """There is no git on this machine."""

    reason = "GitNotInstalled"


class RepositoryNotFoundError(SourceError):
    """The server has no such repository: it is gone, or never existed."""

    reason = "RepositoryNotFound"


class RepositoryMovedError(SourceError):
    """The server says that the repository is at another place."""

    reason = "RepositoryMoved"


class RepositoryEmptyError(SourceError):
    """The repository has no commit."""

    reason = "RepositoryEmpty"


class AuthenticationRefusedError(SourceError):
    """The server wants other credentials, or does not let these read."""

    reason = "AuthenticationRefused"


class InvalidCredentialsError(SourceError):
    """The credentials are not there, or not what the repository's URL needs."""

    reason = "InvalidCredentials"


class SecretNeedsClusterError(SourceError):
    """The Sync names a Secret of its cluster, and there is no cluster to ask."""

    reason = "SecretNeedsCluster"


class UntrustedServerError(SourceError):
    """The server could not prove who it is: its certificate or host key is not trusted."""

    reason = "UntrustedServer"


class RepositoryUnreachableError(SourceError):
    """The server cannot be reached, or answers with an error of its own."""

    reason = "RepositoryUnreachable"


class SourceTimeoutError(SourceError):
    """The repository took longer than its deadline."""

    reason = "SourceTimeout"


class RefNotFoundError(SourceError):
    """The repository does not have the branch, tag, version or commit."""

    reason = "RefNotFound"


class PathNotFoundError(SourceError):
    """The commit has no folder at the Sync's path."""

    reason = "PathNotFound"


class VerificationFailedError(SourceError):
    """What the Sync follows is not signed by anybody who may sign it."""

    reason = "VerificationFailed"


class MirrorDamagedError(SourceError):
    """The local copy of the repository does not hold what it should; it is fetched anew."""

    reason = "MirrorDamaged"


class RepositoryTooLargeError(SourceError):
    """The repository is larger than a mirror may be."""

    reason = "LimitExceeded"


class LimitExceededError(InvalidInputError):
    """What a Sync reads from a repository is larger than allowed."""

    reason = "LimitExceeded"


class UnsupportedContentError(InvalidInputError):
    """The repository holds something that syncd does not read: a submodule, a Git LFS file, a link to elsewhere."""

    reason = "UnsupportedContent"
