"""What can go wrong between files and manifests."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from syncd.model import InvalidInputError, SyncdError

if TYPE_CHECKING:
    from collections.abc import Sequence


class InvalidManifestError(InvalidInputError):
    """A document is not a Kubernetes object, or not one that can be applied."""

    reason = "InvalidManifest"


class DuplicateManifestError(InvalidInputError):
    """Two manifests describe the same object."""

    reason = "DuplicateManifest"


class NoManifestsError(InvalidInputError):
    """There is not one object. Applying that would mean to delete everything, which is never what somebody meant."""

    reason = "NoManifests"


class RenderFailedError(InvalidInputError):
    """An external renderer refused its input."""

    reason = "RenderFailed"


class RemoteInputError(InvalidInputError):
    """A kustomization wants something from outside of its repository."""

    reason = "RemoteInput"


class UnresolvedVariableError(InvalidInputError):
    """A variable has no value, or is not written as one."""

    reason = "UnresolvedVariable"


class DecryptionFailedError(InvalidInputError):
    """A file is encrypted, and none of the keys that the Sync gives opens it."""

    reason = "DecryptionFailed"


class RenderTimeoutError(SyncdError):
    """An external renderer did not end before its deadline."""

    reason = "RenderTimeout"


class ToolMissingError(SyncdError):
    """A program that a Sync needs is not installed, or cannot be used."""

    reason = "ToolMissing"


class InvalidInputsError(InvalidInputError):
    """Several things are wrong.

    Attributes:
        problems: All of them, each with its place.
    """

    reason = "InvalidManifest"

    def __init__(self, errors: Sequence[InvalidInputError]) -> None:
        self.problems = tuple(str(error) for error in errors)
        first = errors[0]
        super().__init__(f"{first.problem} (and {len(errors) - 1} more problems)", first.origin)


def raise_all(errors: Sequence[InvalidInputError]) -> NoReturn:
    """Raise one error for all of them: the only one itself, or one that lists them."""
    raise errors[0] if len(errors) == 1 else InvalidInputsError(errors)
