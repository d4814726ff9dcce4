"""The three-way merge by list rules, for what strategic merge patch cannot express.

Custom resources are merged here, and built-in objects whose lists strategic merge patch would damage. The result is the
merged object itself; it is sent as a JSON merge patch that carries resourceVersion, so that whole lists are safe.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.merge.errors import bounded
from syncd.merge.json_merge import apply_patch
from syncd.merge.jsonvalue import equal
from syncd.merge.rules import ATOMIC, SET, Guide, Key, ListRule, Mode
from syncd.merge.unions import losers
from syncd.model import ABSENT

if TYPE_CHECKING:
    from collections.abc import Callable

    from syncd.model import JSONObject, JSONValue

    Arrange = Callable[[list[Key], list[Key]], list[Key]]


@bounded
def merge(
    original: JSONObject | None,
    modified: JSONObject,
    live: JSONObject,
    guide: Guide,
    arrange: Arrange | None = None,
) -> JSONObject:
    """Live with what ``modified`` sets and without what ``original`` had and ``modified`` lacks.

    Nulls in ``modified`` delete. Inputs are not changed; the result shares values with them.

    Args:
        original: The configuration that was applied last, None when there was none.
        modified: The configuration to apply.
        live: The live object.
        guide: The rules.
        arrange: In which order a list's items come out, given the keys desired and the keys that are to be kept, both
            in their order; :func:`desired_order` when it is None.
    """
    return _Merger(arrange or desired_order).map(original or {}, modified, live, guide)


def desired_order(desired: list[Key], kept: list[Key]) -> list[Key]:
    """Desired items in their order; items that only live has keep their place before the items that followed them."""
    wanted = set(desired)
    if [key for key in kept if key in wanted] == desired:
        return kept  # nothing new, and nothing out of order
    places = {key: index for index, key in enumerate(kept)}
    others = [key for key in kept if key not in wanted]
    result: list[Key] = []
    index = 0
    for key in desired:
        while key in places and index < len(others) and places[others[index]] < places[key]:
            result.append(others[index])
            index += 1
        result.append(key)
    return result + others[index:]


def live_order(desired: list[Key], kept: list[Key]) -> list[Key]:
    """Live items in their places, those that are desired too in the desired order among these places; new ones last."""
    present = set(kept)
    wanted = iter([key for key in desired if key in present])
    common = set(desired) & present
    return [next(wanted) if key in common else key for key in kept] + [key for key in desired if key not in present]


class _Merger:
    def __init__(self, arrange: Arrange) -> None:
        self._arrange = arrange

    def map(self, original: JSONObject, modified: JSONObject, live: JSONObject, guide: Guide) -> JSONObject:
        """Merge three maps."""
        gone = set(losers(guide.schema.unions, modified, live)) if guide.schema.unions else set()
        # retainKeys clears whatever is not desired, as soon as anything is
        clears = guide.retain_keys and any(value is not None for value in modified.values())
        result = {
            key: value
            for key, value in live.items()
            if key in modified or not (clears or key in original or key in gone)
        }
        for key, value in modified.items():
            if value is None:
                result.pop(key, None)
            else:
                result[key] = self._value(key, original.get(key), value, live.get(key, ABSENT), guide)
        return result

    def _value(self, key: str, original: JSONValue, modified: JSONValue, live: JSONValue, guide: Guide) -> JSONValue:
        kind = type(modified)
        if type(live) is not kind or (kind is not dict and kind is not list):
            return _clean(modified)
        if kind is dict:
            field = guide.field(key)
            if field.strategy == "replace" or (field.schema.is_atomic and guide.mode is not Mode.STRATEGIC):
                return live if equal(live, modified) else _clean(modified)
            return self.map(original if type(original) is dict else {}, modified, live, guide.into(key, modified))
        former = original if type(original) is list else []
        rule = guide.list_rule(key, former, modified, live)
        return self._list(former, modified, live, rule, guide.into(key, modified))

    def _list(
        self, original: list[JSONValue], modified: list[JSONValue], live: list[JSONValue], rule: ListRule, guide: Guide
    ) -> list[JSONValue]:
        if rule.type == ATOMIC:
            return live if equal(live, modified) else _clean(modified)
        grouped = [_grouped(items, rule, guide) for items in (original, modified, live)]
        if any(group is None for group in grouped):
            return live if equal(live, modified) else _clean(modified)
        olds, news, lives = (group or {} for group in grouped)
        merged = {
            key: self._items(olds.get(key, []), news.get(key, []), lives.get(key, []), rule, guide)
            for key in {**lives, **news}
        }
        order = self._arrange([key for key in news if merged[key]], [key for key in lives if merged[key]])
        return [item for key in order for item in merged[key]]

    def _items(
        self, olds: list[JSONValue], news: list[JSONValue], lives: list[JSONValue], rule: ListRule, guide: Guide
    ) -> list[JSONValue]:
        """What becomes of the items with one key, of which there should be one, but may be several on any side."""
        if rule.type == SET:
            return news[:1] or (lives[:1] if not olds else [])
        if len(news) == len(lives):
            former = olds if len(olds) == len(news) else [{}] * len(news)
            return [self.map(*three, guide) for three in zip(former, news, lives, strict=True)]
        if news or len(lives) <= 1:
            return [_clean(new) for new in news] if news or olds else lives
        # Nobody desires this key any more, and it repeats: take away only what was applied, not everything by its key.
        left = list(lives)
        for old in olds:
            match = next((item for item in left if _contains(item, old)), None)
            if match is not None:
                left = [item for item in left if item is not match]
        return left


def _grouped(items: list[JSONValue], rule: ListRule, guide: Guide) -> dict[Key, list[JSONValue]] | None:
    """Items by key, in the order of their first appearance; None when one of them has no key."""
    groups: dict[Key, list[JSONValue]] = {}
    for item in items:
        key = rule.key_of(item, guide.schema)
        if key is None:
            return None
        groups.setdefault(key, []).append(item)
    return groups


def _contains(item: JSONValue, part: JSONValue) -> bool:
    """Whether an item has everything that a smaller one has."""
    if type(item) is type(part) is dict:
        return all(key in item and _contains(item[key], value) for key, value in part.items())
    return equal(item, part)


def _clean(value: JSONValue) -> JSONValue:
    """A value as it enters an object that does not have it: without its nulls."""
    return apply_patch({}, value) if type(value) in (dict, list) else value
