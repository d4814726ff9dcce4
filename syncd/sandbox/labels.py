"""``LabelSelector`` objects, as workloads and policies have them in their specs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from syncd.model import JSONObject


def matches(selector: JSONObject | None, labels: Mapping[str, str]) -> bool:
    """Whether a ``LabelSelector`` object chooses these labels; none chooses nothing, an empty one everything."""
    if selector is None:
        return False
    if any(labels.get(key) != value for key, value in (selector.get("matchLabels") or {}).items()):
        return False
    return all(_meets(rule, labels) for rule in selector.get("matchExpressions") or ())


def _meets(rule: JSONObject, labels: Mapping[str, str]) -> bool:
    value = labels.get(rule["key"])
    operator, values = rule["operator"], rule.get("values") or ()
    if operator == "In":
        return value in values
    if operator == "NotIn":
        return value not in values
    exists: bool = operator == "Exists"
    return (value is not None) == exists
