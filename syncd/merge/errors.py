"""What can be wrong with documents and patches that are to be merged.

Messages name fields and rules, never values: a value may be a secret.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from syncd.model import SyncdError

if TYPE_CHECKING:
    from collections.abc import Callable

_P = ParamSpec("_P")
_R = TypeVar("_R")


class MergeError(SyncdError):
    """Documents that cannot be merged.

    Attributes:
        path: The field, outermost first; filled in while the error travels up.
        rule: What is wrong, without the place.
        about: The object, "" while nobody has said which it is.
    """

    reason = "InvalidPatch"

    def __init__(self, rule: str) -> None:
        super().__init__(rule)
        self.rule = rule
        self.path: tuple[str, ...] = ()
        self.about = ""

    def under(self, part: str) -> None:
        """Note that the error is below this field."""
        self.path = (part, *self.path)

    def __str__(self) -> str:
        path = ".".join(self.path).replace(".[", "[")
        return ": ".join(part for part in (self.about, path, self.rule) if part)


class UnknownFieldError(MergeError):
    """The schema does not have a field, so nothing says how to merge it."""

    def __init__(self, field: str) -> None:
        super().__init__(f'unable to find api field "{field}"')


class FieldTypeError(MergeError):
    """The schema has another type for a field than the documents."""


class MergeKeyError(MergeError):
    """An item of a merging list has no merge key, or one that is no scalar."""

    def __init__(self, key: str) -> None:
        super().__init__(f"map does not contain declared merge key: {key}")


class ElementTypeError(MergeError):
    """A merging list holds items of different types, or lists."""


class DirectiveError(MergeError):
    """A directive of a strategic merge patch is malformed, or contradicts the patch it stands in."""


class MergeConflictError(MergeError):
    """Live was changed in a field that the patch changes too."""

    reason = "Conflict"


class PreconditionError(MergeError):
    """A patch would change what identifies an object."""


class NotAnObjectError(MergeError):
    """A document is not a JSON object."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} is not a JSON object")


class TooDeepError(MergeError):
    """A document is nested so deep that following it would overflow the stack."""

    def __init__(self) -> None:
        super().__init__("maps and lists are nested too deep")


def bounded(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Turn the interpreter's recursion limit into a :class:`TooDeepError`.

    Python stops recursion of its own functions safely (they take no room on the C stack), so that nothing else has to
    count levels.
    """

    @functools.wraps(function)
    def guarded(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            return function(*args, **kwargs)
        except RecursionError:
            raise TooDeepError from None

    return guarded
