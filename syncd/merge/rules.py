"""How a list merges: which rule holds for it, and where the rule comes from.

The first of these that says anything decides: the user's rule for the path; ``x-kubernetes-list-type``; the patch
strategy and merge key; the rule of the same field in a PodSpec, where a map looks like one; a conventional key that
every item has and none shares (document 004, for custom resources only); and at last atomic, the list is replaced.

For kinds that take strategic merge patches the patch strategy goes before the list type, because that is what kubectl
follows: where both merge they only differ in the key, and there the list type's is the complete one.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final, NamedTuple

from syncd.merge.jsonvalue import token
from syncd.merge.schema import ANYTHING, Field, PatchSchema, pod_spec

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from syncd.model import JSONObject, JSONValue

ATOMIC: Final = "atomic"
SET: Final = "set"
MAP: Final = "map"

CONVENTIONAL_KEYS: Final = ("containerPort", "port", "mountPath", "name", "uid", "ip", "path")
"""The merge keys that Metacontroller tries, in its order."""

Key = tuple["Hashable", ...]


class ListRule(NamedTuple):
    """How one list merges."""

    type: str
    """``atomic``, ``set`` or ``map``."""
    keys: tuple[str, ...] = ()
    """For a map: the fields that identify an item, together."""

    def key_of(self, item: JSONValue, items: PatchSchema = ANYTHING) -> Key | None:
        """What identifies an item; None when it has no complete key. Defaults stand in for fields that are absent."""
        if self.type == SET:
            return None if type(item) in (dict, list) else token(item)
        if type(item) is not dict:
            return None
        parts = []
        for name in self.keys:
            value = item.get(name)
            if value is None:
                field = items.field(name)
                value = field.default if field else None
                # A part of a key that nobody sets and nothing defaults is fine, as long as another part is there.
                if value is None and len(self.keys) == 1:
                    return None
            if type(value) in (dict, list):
                return None
            parts.append(token(value))
        return tuple(parts)


REPLACED: Final = ListRule(ATOMIC)


class UserRule(NamedTuple):
    """A user's rule for the lists at one path.

    ``path`` is written like ``spec.routes.match``: field names only, lists are passed through.
    """

    path: tuple[str, ...]
    rule: ListRule


class Mode(Enum):
    """Whose lists these are, where the schema says more than one thing or nothing."""

    STRATEGIC = "a kind that takes strategic merge patches: the patch strategy decides, as for kubectl"
    CONVENTIONAL = "a custom resource: the list type decides, then convention"
    DYNAMIC = "an object of which nothing is known: convention alone, as in document 004"
    DECLARED = "server-side apply: the list type decides, and what declares nothing is atomic"


class Guide:
    """A place in a document: its schema, and the rules that hold at and below it.

    Attributes:
        schema: What is known of the place.
        mode: Whose lists these are.
        retain_keys: Whether a map here loses every field that is not desired, whoever set it.
    """

    __slots__ = ("_pod", "_user", "mode", "retain_keys", "schema")

    def __init__(
        self,
        schema: PatchSchema | None,
        user: Sequence[UserRule] = (),
        mode: Mode | None = None,
        *,
        pod: PatchSchema | None = None,
        retain_keys: bool = False,
    ) -> None:
        self.schema = schema or ANYTHING
        self.mode = mode or (Mode.STRATEGIC if self.schema.accepts_strategic else Mode.CONVENTIONAL)
        self.retain_keys = retain_keys
        self._user = user
        self._pod = pod

    def field(self, name: str) -> Field:
        """How a field merges; what nothing is known of merges as anything."""
        field = self.schema.field(name)
        if self._pod and (field is None or not (field.list_type or field.strategy)):
            field = self._pod.field(name) or field
        return field or Field(ANYTHING)

    def into(self, name: str, value: JSONValue) -> Guide:
        """The place of a field whose value is a map, or of the items of a list."""
        field = self.field(name)
        is_list = type(value) is list
        pod = None
        if self.mode is Mode.CONVENTIONAL:
            below = self._pod.field(name) if self._pod else None
            if below:
                pod = below.schema.items if is_list else below.schema
            elif _looks_like_pod_spec(value):
                pod = pod_spec()
        return Guide(
            field.schema.items if is_list else field.schema,
            [UserRule(rule.path[1:], rule.rule) for rule in self._user if rule.path[:1] == (name,)]
            if self._user
            else (),
            self.mode,
            pod=pod,
            retain_keys=field.retain_keys,
        )

    def list_rule(self, name: str, *lists: Sequence[JSONValue]) -> ListRule:
        """The rule for the list in a field, seen all the instances of it that are to be merged."""
        for user in self._user:
            if user.path == (name,):
                return user.rule
        rule = declared(self.field(name), strategic=self.mode is Mode.STRATEGIC)
        if rule is not None:
            return rule
        return conventional(lists) if self.mode in (Mode.CONVENTIONAL, Mode.DYNAMIC) else REPLACED


def declared(field: Field, *, strategic: bool) -> ListRule | None:
    """The rule that the schema declares; None when it says nothing."""
    by_type = None
    if field.list_type:
        keys = field.list_map_keys if field.list_type == MAP else ()
        by_type = ListRule(field.list_type, keys) if keys or field.list_type != MAP else None
    by_strategy = None
    if field.strategy == "merge":
        by_strategy = ListRule(MAP, (field.merge_key,)) if field.merge_key else ListRule(SET)
    if not strategic:
        return by_type or by_strategy
    if by_strategy is None:
        return REPLACED
    return by_type if by_type and by_type.type == by_strategy.type else by_strategy


def conventional(lists: Iterable[Sequence[JSONValue]]) -> ListRule:
    """The rule that the items suggest: by the first conventional key that all have, and that is unique in each list."""
    present = [items for items in lists if items]
    if not present or any(type(item) is not dict for items in present for item in items):
        return REPLACED
    for key in CONVENTIONAL_KEYS:
        rule = ListRule(MAP, (key,))
        keys = [[rule.key_of(item) for item in items] for items in present]
        if all(None not in part and len(set(part)) == len(part) for part in keys):
            return rule
    return REPLACED


def places_of(items: Sequence[JSONValue], rule: ListRule, schema: PatchSchema) -> dict[Key | None, int] | None:
    """Where the item with each key stands; None when an item has no key, or two have the same."""
    places: dict[Key | None, int] = {rule.key_of(item, schema): index for index, item in enumerate(items)}
    return places if len(places) == len(items) and None not in places else None


def repeats_keys(document: JSONObject, schema: PatchSchema) -> bool:
    """Whether a list that strategic merge patch merges by key has two items with the same key, anywhere in a document.

    Such lists lose items in a strategic merge patch: a Service's port on TCP and UDP, a variable that is set twice.
    """
    for name, value in document.items():
        kind = type(value)
        if kind is not dict and kind is not list:
            continue
        field = schema.field(name)
        if field is None:
            continue
        if kind is dict:
            if repeats_keys(value, field.schema):
                return True
        elif field.strategy == "merge" and field.merge_key:
            items = [item for item in value if type(item) is dict]
            # An item without the key is no repetition: it is refused, by strategic merge patch as by kubectl.
            keys = [token(item[field.merge_key]) for item in items if item.get(field.merge_key) is not None]
            if len(set(keys)) != len(keys) or any(repeats_keys(item, field.schema.items) for item in items):
                return True
    return False


def _looks_like_pod_spec(value: JSONValue) -> bool:
    containers = value.get("containers") if type(value) is dict else None
    return bool(
        type(containers) is list
        and containers
        and all(type(item) is dict and "name" in item and "image" in item for item in containers)
    )
