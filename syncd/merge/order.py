"""Sorting and ordering of list items exactly as the Go implementation of strategic merge patch does it.

Two of its habits are visible in results and therefore kept. Lists are sorted by how Go prints the key, and items whose
keys print the same come out reversed. And where a list is put into the order of another one, the comparison claims that
an item unknown to that order goes before anything, in both directions; what comes of such a contradictory comparison
depends on the sorting algorithm, so :func:`_insertion_sort` and :func:`_merge_runs` follow ``sort.SliceStable``.
"""

from __future__ import annotations

from decimal import Decimal
from operator import itemgetter
from typing import TYPE_CHECKING

from syncd.kubescalar import general
from syncd.merge.directives import DELETE, DIRECTIVE
from syncd.merge.errors import DirectiveError, ElementTypeError, MergeKeyError
from syncd.merge.jsonvalue import token

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence

    from syncd.model import JSONValue

_BLOCK = 20  # items that sort.SliceStable sorts by insertion before it merges


def go_text(value: JSONValue) -> str:
    """A value as Go's ``%v`` prints it."""
    if isinstance(value, str):
        return value
    kind = type(value)
    if kind is dict:
        return "map[" + " ".join(f"{key}:{go_text(value[key])}" for key in sorted(value)) + "]"
    if kind is list:
        return "[" + " ".join(map(go_text, value)) + "]"
    if kind is float:
        return general(Decimal(repr(value)))
    return {None: "<nil>", True: "true", False: "false"}[value] if kind is not int else str(value)


def element_type(*lists: Sequence[JSONValue]) -> type:
    """The one type that all items of these lists have.

    Raises:
        ElementTypeError: There are several, or the items are lists or null, or there are no items.
    """
    found: type | None = None
    for items in lists:
        for item in items:
            kind = type(item)
            if found is None:
                found = kind
            elif kind is not found:
                raise ElementTypeError("list element types are not identical")
    if found is None:
        raise ElementTypeError("no elements in any of the given lists")
    if found is list:
        raise ElementTypeError("lists of lists are not supported")
    if found is type(None):
        raise ElementTypeError("null cannot be an item of a merging list")
    return found


def key_of(item: JSONValue, merge_key: str) -> tuple[type, Hashable]:
    """What identifies an item: its merge key, or itself when there is no merge key.

    Raises:
        MergeKeyError: The item has no such key.
        ElementTypeError: The item is no map although there is a merge key, or the other way round.
    """
    if not merge_key:
        if type(item) in (dict, list):
            raise ElementTypeError("a list whose items are no scalars needs a merge key to be put in order")
        return type(item), item
    if not isinstance(item, dict):
        raise ElementTypeError("an item of a list with a merge key is no map")
    if merge_key not in item:
        raise MergeKeyError(merge_key)
    value = item[merge_key]
    if type(value) in (dict, list):
        raise ElementTypeError(f"merge key {merge_key} is no scalar")
    return type(value), value


def sorted_by_text(items: Iterable[JSONValue], merge_key: str = "") -> list[JSONValue]:
    """Items sorted by the text of their key, or of themselves; equal ones reversed."""
    reverse = list(items)[::-1]
    if merge_key:
        return sorted(reverse, key=lambda item: go_text(item.get(merge_key)))
    return sorted(reverse, key=go_text)


def deduplicated(items: list[JSONValue]) -> list[JSONValue]:
    """Items without repetitions; the last one takes the place of each that is dropped, as in the Go implementation."""
    tokens = [token(item) for item in items]
    if len(set(tokens)) == len(tokens):
        return items
    pairs = list(zip(tokens, items, strict=True))
    i = 0
    while i < len(pairs):
        j = i + 1
        while j < len(pairs):
            if pairs[i][0] == pairs[j][0]:
                last = pairs.pop()
                if j < len(pairs):
                    pairs[j] = last
            else:
                j += 1
        i += 1
    return [item for _, item in pairs]


def positions(order: Sequence[JSONValue], merge_key: str) -> dict[Hashable, int]:
    """The first place of each key in an order."""
    result: dict[Hashable, int] = {}
    for index, item in enumerate(order):
        result.setdefault(key_of(item, merge_key), index)
    return result


def arranged(items: list[JSONValue], order: Sequence[JSONValue], merge_key: str) -> list[JSONValue]:
    """The items in the order of another list, those with ``$patch: delete`` last."""
    places = positions(order, merge_key)
    ranked = [(places.get(key_of(item, merge_key), -1), item) for item in items]
    deletions: list[JSONValue] = []
    if merge_key:
        deletions = [item for item in items if item.get(DIRECTIVE) == DELETE]
        if deletions:
            ranked = [(rank, item) for rank, item in ranked if item.get(DIRECTIVE) != DELETE]
    if all(rank >= 0 for rank, _ in ranked):
        ranked.sort(key=itemgetter(0))
    else:
        _slice_stable(ranked)
    return [item for _, item in ranked] + deletions


def interleaved(
    server_only: list[JSONValue], patched: list[JSONValue], server_order: Sequence[JSONValue], merge_key: str
) -> list[JSONValue]:
    """Both lists in one, each in its own order; items that both stand in the server's order are compared by it."""
    places = positions(server_order, merge_key)
    left = [places.get(key_of(item, merge_key), -1) for item in server_only]
    right = [places.get(key_of(item, merge_key), -1) for item in patched]
    result, i, j = [], 0, 0
    while i < len(left) and j < len(right):
        if 0 <= left[i] < right[j]:
            result.append(server_only[i])
            i += 1
        else:
            result.append(patched[j])
            j += 1
    return result + server_only[i:] + patched[j:]


def check_order(patch: Sequence[JSONValue], order: Sequence[JSONValue], merge_key: str) -> None:
    """Check that a list in a patch follows the ``$setElementOrder`` list that belongs to it.

    Raises:
        DirectiveError: It has an item that the order lacks, or two items the other way round.
    """
    if not patch or not order:
        return
    keys = [key_of(item, merge_key) for item in order]
    wanted = [item for item in patch if not (merge_key and isinstance(item, dict) and item.get(DIRECTIVE) == DELETE)]
    index = place = 0
    while index < len(wanted) and place < len(order):
        item = wanted[index]
        if isinstance(item, dict) and DIRECTIVE in item:
            index += 1
            continue
        if key_of(item, merge_key) == keys[place]:
            index += 1
        place += 1
    if index < len(wanted) and place >= len(order):
        raise DirectiveError("the order in the patch list doesn't match the $setElementOrder list")


_Ranked = tuple[int, "JSONValue"]


def _less(left: _Ranked, right: _Ranked) -> bool:
    return left[0] < right[0] if left[0] >= 0 and right[0] >= 0 else True


def _slice_stable(items: list[_Ranked]) -> None:
    """Sort as Go's ``sort.SliceStable`` does, in place: insertion in blocks, then merging them in place."""
    count = len(items)
    for start in range(0, count, _BLOCK):
        _insertion_sort(items, start, min(start + _BLOCK, count))
    block = _BLOCK
    while block < count:
        for start in range(0, count - block, 2 * block):
            _merge_runs(items, start, start + block, min(start + 2 * block, count))
        block *= 2


def _insertion_sort(items: list[_Ranked], start: int, end: int) -> None:
    for index in range(start + 1, end):
        place = index
        while place > start and _less(items[place], items[place - 1]):
            items[place], items[place - 1] = items[place - 1], items[place]
            place -= 1


def _merge_runs(items: list[_Ranked], start: int, middle: int, end: int) -> None:
    """Merge two sorted runs in place: the SymMerge algorithm of Kim and Kutzner, as ``sort.Stable`` uses it."""
    if middle - start == 1:
        place = _search(middle, end, lambda index: not _less(items[index], items[start]))
        items[start:place] = [*items[start + 1 : place], items[start]]
        return
    if end - middle == 1:
        place = _search(start, middle, lambda index: _less(items[middle], items[index]))
        items[place : middle + 1] = [items[middle], *items[place:middle]]
        return
    half = (start + end) // 2
    total = half + middle
    low, high = (total - end, half) if middle > half else (start, middle)
    mirror = total - 1
    low = _search(low, high, lambda index: _less(items[mirror - index], items[index]))
    stop = total - low
    if low < middle < stop:
        items[low:stop] = items[middle:stop] + items[low:middle]
    if start < low < half:
        _merge_runs(items, start, low, half)
    if half < stop < end:
        _merge_runs(items, half, stop, end)


def _search(low: int, high: int, found: Callable[[int], bool]) -> int:
    """The first index for which ``found`` holds, taking it that none holds before one that does not."""
    while low < high:
        middle = (low + high) // 2
        if found(middle):
            high = middle
        else:
            low = middle + 1
    return low
