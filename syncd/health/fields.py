"""Reading objects that may hold anything: a field of the wrong type counts as absent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from syncd.model import JSONObject


class Condition(NamedTuple):
    """One entry of ``status.conditions``."""

    type: str
    status: str
    reason: str
    message: str
    observed_generation: int | None

    @property
    def is_true(self) -> bool:
        """Whether it holds."""
        return self.status == "True"

    @property
    def is_false(self) -> bool:
        """Whether it is known not to hold; ``Unknown`` is neither."""
        return self.status == "False"

    @property
    def cause(self) -> str:
        """The message, or the reason where there is none, for people."""
        return self.message or self.reason or f"{self.type} is {self.status}"


def find(obj: Any, *path: str) -> Any:
    """The value at the path, or None."""
    for part in path:
        if not isinstance(obj, dict):
            return None
        obj = obj.get(part)
    return obj


def number(obj: Any, *path: str, default: int = 0) -> int:
    """The whole number at the path, or the default."""
    value = find(obj, *path)
    return value if type(value) is int else default


def text(obj: Any, *path: str) -> str:
    """The string at the path, or ""."""
    value = find(obj, *path)
    return value if isinstance(value, str) else ""


def flag(obj: Any, *path: str) -> bool:
    """Whether the value at the path is true."""
    return find(obj, *path) is True


def dicts(obj: Any, *path: str) -> list[JSONObject]:
    """The objects in the list at the path; what else the list holds is left out."""
    value = find(obj, *path)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def conditions(obj: JSONObject) -> dict[str, Condition]:
    """``status.conditions`` by type."""
    found = {}
    for item in dicts(obj, "status", "conditions"):
        observed = item.get("observedGeneration")
        condition = Condition(
            text(item, "type"),
            text(item, "status"),
            text(item, "reason"),
            text(item, "message"),
            observed if type(observed) is int else None,
        )
        found[condition.type] = condition
    return found
