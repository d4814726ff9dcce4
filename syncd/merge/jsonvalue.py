"""Equality and copies of JSON values.

Python says ``1 == 1.0 == True``; to Kubernetes these are three values. Everything here compares types too, down to the
last leaf, and also wherever a value is looked up in a set or as a key.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable

    from syncd.model import JSONValue


def copy(value: JSONValue) -> JSONValue:
    """A deep copy."""
    if type(value) is dict:
        return {key: copy(item) if type(item) is dict or type(item) is list else item for key, item in value.items()}
    if type(value) is list:
        return [copy(item) if type(item) is dict or type(item) is list else item for item in value]
    return value


def equal(left: JSONValue, right: JSONValue) -> bool:
    """Whether two values are the same JSON, types included; the order of keys does not matter."""
    kind = type(left)
    if kind is not type(right):
        return False
    if kind is dict:
        return left.keys() == right.keys() and all(map(equal, left.values(), map(right.__getitem__, left)))
    if kind is list:
        return len(left) == len(right) and all(map(equal, left, right))
    return bool(left == right)


def token(value: JSONValue) -> tuple[type, Hashable]:
    """Something hashable that is equal for two values exactly when the values are."""
    kind = type(value)
    if kind is dict or kind is list:
        return (kind, json.dumps(value, sort_keys=True))
    return (kind, value)
