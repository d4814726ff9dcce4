"""The user's rules for lists, as merging wants them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.merge.rules import ListRule, UserRule
from syncd.plan.fields import parts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from syncd.model import ObjectKey
    from syncd.spec import MergeRule


def list_rules(rules: Iterable[MergeRule], key: ObjectKey) -> tuple[UserRule, ...]:
    """The rules for the lists of one object."""
    return tuple(UserRule(parts(rule.path), ListRule(rule.type, rule.keys)) for rule in rules if rule.matches(key))
