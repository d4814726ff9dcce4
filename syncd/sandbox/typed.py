"""Values with a schema: which fields they have, how two differ, merged, and with fields taken out.

This is what server-side apply is made of; the rules are those of sigs.k8s.io/structured-merge-diff (package ``typed``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from syncd.model import ABSENT, Absent
from syncd.sandbox import fieldset

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from syncd.model import JSONObject, JSONValue
    from syncd.sandbox.fieldset import FieldSet
    from syncd.sandbox.schema import Schema

_Value = "JSONValue | Absent"


class Type:
    """What the rules need to know of a schema; remembers the types below it.

    Without a schema (below ``x-kubernetes-preserve-unknown-fields``, say) maps are granular and lists atomic.
    """

    __slots__ = ("_fields", "_items", "_schema", "atomic", "keys", "of_set")

    def __init__(self, schema: Schema | None) -> None:
        self._schema = schema
        self._fields: dict[str, Type] = {}
        self._items: Type | None = None
        self.keys: tuple[tuple[str, JSONValue | Absent], ...] = ()
        self.of_set = False
        if schema is None:
            self.atomic = False
            return
        self.atomic = schema.map_type == "atomic" or _is_raw(schema)
        self.of_set = schema.list_type == "set"
        if schema.list_type == "map" and schema.items is not None:
            items = schema.items
            self.keys = tuple((key, _default(items, key)) for key in schema.list_map_keys)

    @property
    def granular_list(self) -> bool:
        """Whether the items of a list here have identities of their own."""
        return self.of_set or bool(self.keys)

    def field(self, name: str) -> Type:
        """The type of a field or map value."""
        found = self._fields.get(name)
        if found is None:
            found = self._fields[name] = Type(self._schema.field(name) if self._schema is not None else None)
        return found

    def is_named(self, name: str) -> bool:
        """Whether this is a field of a struct, and not a key of a map."""
        return self._schema is not None and name in self._schema.node.get("properties", {})

    @property
    def items(self) -> Type:
        """The type of a list's items."""
        if self._items is None:
            self._items = Type(self._schema.items if self._schema is not None else None)
        return self._items

    def with_field(self, name: str, of: Type) -> Type:
        """Say by another schema what a field is."""
        self._fields[name] = of
        return self

    def element(self, item: JSONValue) -> str:
        """The path element of an item of a granular list."""
        if self.of_set:
            return fieldset.item_by_value(item)
        keys: JSONObject = {}
        for key, default in self.keys:
            value = item.get(key, default) if isinstance(item, dict) else ABSENT
            if value is not ABSENT:
                keys[key] = value
        return fieldset.item_by_keys(keys)

    def missing_key(self, item: JSONValue) -> str:
        """The first key that an item of a list of type map lacks; "" when it has all."""
        keys = (key for key, default in self.keys if default is ABSENT and isinstance(item, dict) and key not in item)
        return next(keys, "")

    @property
    def json_type(self) -> str:
        """``object``, ``array``, ``string``, ... or "" when anything goes."""
        return "" if self._schema is None or self._schema.int_or_string else self._schema.type


def _is_raw(schema: Schema) -> bool:
    """Whether it is a RawExtension of a built-in kind: an object of any other type, owned whole."""
    node = schema.node
    bare = not node.get("properties") and "additionalProperties" not in node
    return bare and bool(schema.definitions) and schema.type == "object"


def _default(items: Schema, key: str) -> JSONValue | Absent:
    found = items.field(key)
    if found is None:
        return ABSENT
    required = key in items.node.get("required", ()) and bool(items.definitions)
    zero = "" if required and found.type == "string" else ABSENT  # Go's types are empty strings where nothing is said
    return found.field_node.get("default", zero)


def _is_leaf(of: Type, value: JSONValue | Absent) -> bool:
    if isinstance(value, dict):
        return of.atomic
    return not (isinstance(value, list) and of.granular_list)


def _children(of: Type, value: JSONValue | Absent) -> Iterator[tuple[str, Type, JSONValue]]:
    """Path element, type and value of what a granular map or list holds."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield fieldset.field(name), of.field(name), item
    elif isinstance(value, list):
        items = of.items
        for item in value:
            yield of.element(item), items, item


# --- the fields of one value ---------------------------------------------------------------------------------------


def fields_of(of: Type, value: JSONValue) -> FieldSet:
    """The set of fields that somebody who writes exactly this value names."""
    if _is_leaf(of, value):
        return {fieldset.MEMBER: None}
    out: FieldSet = {}
    for element, child_type, child in _children(of, value):
        below = fields_of(child_type, child)
        empty = child is None or child == {}
        named = element[0] == "f" and (of.is_named(element[2:]))
        if empty or not named:
            below = below | {fieldset.MEMBER: None}
        if below:
            out[element] = fieldset.union(out[element], below) if element in out else below
    return out


def with_named(of: Type, fields: FieldSet) -> FieldSet:
    """The set with the struct fields on the way to its members; keys of maps and items of lists only if they are in."""
    out: FieldSet = {}
    for element, child in fields.items():
        if element == fieldset.MEMBER:
            out[element] = None
            continue
        name = element[2:]
        is_field = element[0] == "f"
        below = with_named(of.field(name) if is_field else of.items, child)
        out[element] = below | {fieldset.MEMBER: None} if is_field and of.is_named(name) else below
    return out


# --- two values ----------------------------------------------------------------------------------------------------


class Comparison(NamedTuple):
    """How a value differs from an older one; each a set that is filled while they are compared."""

    added: FieldSet
    modified: FieldSet
    removed: FieldSet


def compare(of: Type, old: JSONValue, new: JSONValue) -> Comparison:
    """The fields in which two values differ."""
    found = Comparison({}, {}, {})
    _compare(of, old, new, (), found)
    return found


def _compare(of: Type, old: JSONValue | Absent, new: JSONValue | Absent, path: tuple[str, ...], to: Comparison) -> None:
    if old is new:
        return
    if _compared_whole(of, old, new):
        if old is ABSENT:
            fieldset.insert(to.added, path)
        elif new is ABSENT:
            fieldset.insert(to.removed, path)
        elif not _equal(old, new):
            fieldset.insert(to.modified, path)
        return
    for element, child_type, before, after in _pairs(of, old, new):
        _compare(child_type, before, after, (*path, element), to)
    if old is ABSENT:
        fieldset.insert(to.added, path)
    elif new is ABSENT:
        fieldset.insert(to.removed, path)


def _compared_whole(of: Type, old: JSONValue | Absent, new: JSONValue | Absent) -> bool:
    held = [value for value in (old, new) if value is not ABSENT and value]
    if not held or any(_is_leaf(of, value) for value in held):
        return True
    return len(held) == 2 and type(held[0]) is not type(held[1])


def _equal(left: JSONValue, right: JSONValue) -> bool:
    return bool(left == right) and isinstance(left, bool) == isinstance(right, bool)


def _pairs(
    of: Type, old: JSONValue | Absent, new: JSONValue | Absent
) -> Iterator[tuple[str, Type, JSONValue | Absent, JSONValue | Absent]]:
    """The children of two values by path element; of items that stand twice, the last one counts."""
    before = {element: (kind, value) for element, kind, value in _children(of, old)}
    after = {element: (kind, value) for element, kind, value in _children(of, new)}
    for element in before.keys() | after.keys():
        kind = (before.get(element) or after[element])[0]
        yield element, kind, before.get(element, (kind, ABSENT))[1], after.get(element, (kind, ABSENT))[1]


def merge(of: Type, old: JSONValue | Absent, new: JSONValue | Absent) -> JSONValue | Absent:
    """The old value with what the new one says; neither is changed."""
    if new is ABSENT or old is ABSENT or _compared_whole(of, old, new):
        return old if new is ABSENT else new
    if isinstance(old, dict) and isinstance(new, dict):
        merged = {name: merge(of.field(name), value, new.get(name, ABSENT)) for name, value in old.items()}
        return merged | {name: value for name, value in new.items() if name not in old}
    if isinstance(old, list) and isinstance(new, list):
        return _merge_lists(of, old, new)
    return new if new is not None or not old else old


def _merge_lists(of: Type, old: Sequence[JSONValue], new: Sequence[JSONValue]) -> list[JSONValue]:
    """Items in the new order; old items that the new list lacks stay where they are between the others."""
    before = [(of.element(item), item) for item in old]
    known = dict(before)
    wanted = {of.element(item): item for item in new}
    order = list(wanted)
    shared = [element for element in order if element in known]
    out: list[JSONValue] = []
    done: set[str] = set()
    left = right = 0
    while left < len(before) or right < len(order):
        if left < len(before):
            element, item = before[left]
            if element not in wanted:
                out.append(item)
                left += 1
                continue
            if element in done or (right < len(order) and shared and element != shared[0] and element != order[right]):
                left += 1
                continue
        if right < len(order):
            element = order[right]
            out.append(merge(of.items, known.get(element, ABSENT), wanted[element]))
            done.add(element)
            right += 1
            if shared and shared[0] == element:
                del shared[0]
    return out


def remove(of: Type, value: JSONValue, fields: FieldSet) -> JSONValue:
    """The value without these fields; a map or list that loses its last one becomes null, as in the original.

    (So its own path still stands there, and whoever owns it keeps it.)
    """
    if not isinstance(value, dict | list):
        return value
    if not value or _is_leaf(of, value):
        return None
    if isinstance(value, dict):
        kept = {}
        for name, item in value.items():
            below = fields.get(fieldset.field(name), {})
            if fieldset.MEMBER not in below:
                kept[name] = remove(of.field(name), item, below) if below else item
        return kept or None
    left = []
    for item in value:
        below = fields.get(of.element(item), {})
        if fieldset.MEMBER not in below:
            left.append(remove(of.items, item, below) if below else item)
    return left or None


# --- is it of this type at all? ------------------------------------------------------------------------------------


def problem(of: Type, value: JSONValue, path: str = "") -> str:
    """The first thing in a configuration that does not fit its type, as structured-merge-diff words it; or ""."""
    if value is None:
        return ""
    wrong = _wrong_type(of, value)
    if wrong:
        return f"{path}: {wrong}"
    if isinstance(value, dict):
        found = (problem(of.field(name), item, f"{path}.{name}") for name, item in value.items())
        return next(filter(None, found), "")
    if not isinstance(value, list):
        return ""
    inner = (problem(of.items, item, f"{path}[{index}]") for index, item in enumerate(value))
    return _wrong_items(of, value, path) or next(filter(None, inner), "")


def _wrong_items(of: Type, value: list[JSONValue], path: str) -> str:
    """What is wrong with the identities of a granular list's items."""
    seen: set[str] = set()
    for index, item in enumerate(value if of.granular_list else ()):
        missing = of.missing_key(item)
        if missing:
            words = "associative list with keys has an element that omits key field"
            return f'{path}: element {index}: {words} "{missing}" (and doesn\'t have default value)'
        element = of.element(item)
        if element in seen:
            return f"{path}: duplicate entries for key {fieldset.text((element,))}"
        seen.add(element)
    return ""


def _wrong_type(of: Type, value: JSONValue) -> str:
    """What is wrong with the JSON type of a value; names are those of Go's types."""
    expected, found = of.json_type, _go_type(value)
    if expected == "string" and found != "string":
        return f"expected string, got {value}"
    if expected == "boolean" and found != "bool":
        return f"expected boolean, got {value}"
    if expected in ("integer", "number") and found not in ("int", "float"):
        return f"expected numeric (int or float), got {found}"
    if expected == "object" and found != "map":
        return f"expected map, got &{{{value}}}"
    if expected == "array" and found != "list":
        return f"expected list, got &{{{value}}}"
    return ""


def _go_type(value: JSONValue) -> str:
    for kind, name in ((bool, "bool"), (int, "int"), (float, "float"), (str, "string"), (dict, "map")):
        if isinstance(value, kind):
            return name
    return "list"
