"""Expressions in CEL over a live object, as health checks of kinds that the Sync names have them.

The implementation is that of CEL's makers. It checks names and types before it runs, nothing in the language has an
effect, and it gives up an evaluation that iterates too often, so every evaluation ends.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from cel_expr_python import cel
from cel_expr_python.ext import ext_optional, ext_strings

if TYPE_CHECKING:
    from syncd.model import JSONObject

_FIELDS: Final = ("apiVersion", "kind", "metadata", "spec", "status", "data")
"""An object's own fields, which an expression names as they are; one that is not there is empty. Others are in self."""


class EvaluationError(Exception):
    """An expression has no value for this object, most often because a field is not there (yet)."""


class Predicate:
    """A question about an object that is answered by yes or no.

    Args:
        text: The expression.

    Raises:
        ValueError: It is no expression, names what is not there, or cannot be a yes or no.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        try:
            self._expression = _environment().compile(text)
        except RuntimeError as error:
            raise ValueError(f"is not a CEL expression over an object: {_first_line(error)}") from None
        if self._expression.return_type() not in (cel.Type.BOOL, cel.Type.DYN):
            raise ValueError(f"must be true or false, not {self._expression.return_type().name()}")

    def holds(self, obj: JSONObject) -> bool:
        """Whether it is true of a live object.

        Raises:
            EvaluationError: It is neither true nor false.
        """
        data: JSONObject = {name: obj.get(name, {}) for name in _FIELDS}
        data["self"] = obj
        try:
            value = self._expression.eval(data=data)
            answer = value.plain_value()
        except RuntimeError as error:
            raise EvaluationError(_first_line(error)) from None
        if value.type() == cel.Type.ERROR or not isinstance(answer, bool):
            raise EvaluationError(_first_line(answer))
        return answer


@lru_cache(maxsize=1)
def _environment() -> cel.Env:
    return cel.NewEnv(
        variables=dict.fromkeys((*_FIELDS, "self"), cel.Type.DYN),
        extensions=[ext_optional.ExtOptional(), ext_strings.ExtStrings()],
    )


def _first_line(error: object) -> str:
    """What is wrong, in one line, without the word that the library puts before it."""
    line = (str(error).splitlines() or [""])[0]
    return line.partition(": ")[2] or line
