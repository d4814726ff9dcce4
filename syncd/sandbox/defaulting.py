"""What a server of Kubernetes 1.36 fills into the built-in kinds.

An object takes its typed form (:mod:`syncd.sandbox.codec`), then every struct in it gets the defaults of its type:
plain values from a table, the rest from small functions. Both follow the ``SetDefaults_*`` functions of the API
packages of the server. (What its registries and admission plugins add is in :mod:`syncd.sandbox.strategies`.)
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from syncd.sandbox import codec
from syncd.sandbox.default_kinds import HOOKS
from syncd.sandbox.default_values import VALUES

if TYPE_CHECKING:
    from syncd.model import JSONObject, JSONValue
    from syncd.sandbox.kinds import ServedKind


def apply_defaults(kind: ServedKind, obj: JSONObject) -> JSONObject:
    """An object of a built-in kind as a server would store it; others are handed back as they are.

    The result shares nothing that changes with ``obj``. Applying it twice changes nothing more.

    Raises:
        StatusError: 400: a field has a type that the kind does not allow.
    """
    struct = codec.struct_of(kind)
    if struct is None:
        return obj
    typed = codec.decode(kind, obj).object
    _fill(_plan(struct.name), typed)
    return typed


class _Plan(NamedTuple):
    """What is to be done with a struct: nothing, itself, or something below it."""

    struct: str
    inner: tuple[tuple[str, str, str], ...]
    """Field, how to get at the structs (``#`` itself, ``[`` items, ``{`` values), and their struct."""


@cache
def _plan(name: str) -> _Plan:
    inner = []
    for field, shape in codec.struct(name).fields.items():
        held = shape if shape.inner is None else shape.inner
        if held.letter == "#" and _matters(held.struct, frozenset()):
            inner.append((field, shape.letter, held.struct))
    return _Plan(name, tuple(inner))


def _matters(name: str, above: frozenset[str]) -> bool:
    if name in VALUES or name in HOOKS:
        return True
    if name in above:
        return False
    shapes = codec.struct(name).fields.values()
    held = {(shape.inner or shape).struct for shape in shapes} - {""}
    return any(_matters(struct, above | {name}) for struct in held)


def _fill(plan: _Plan, typed: JSONObject) -> None:
    """Fill a typed object, from the outside in: a struct that is made by a default gets defaults itself."""
    for field, value in VALUES.get(plan.struct, {}).items():
        if typed.get(field) in (None, ""):
            typed[field] = _fresh(value)
    hook = HOOKS.get(plan.struct)
    if hook is not None:
        hook(typed)
    for field, letter, struct in plan.inner:
        value = typed.get(field)
        if not value and not isinstance(value, dict):
            continue
        inner = _plan(struct)
        held = (value,) if letter == "#" else value if letter == "[" else value.values()
        for item in held:
            _fill(inner, item)


def _fresh(value: JSONValue) -> JSONValue:
    """A copy of an empty or flat default, so that objects share none."""
    return value.copy() if isinstance(value, dict | list) else value
