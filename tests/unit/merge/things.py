"""Objects of one small made-up kind that has every way to merge, for Hypothesis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from syncd.merge.schema import PatchSchema

if TYPE_CHECKING:
    from random import Random

DEFINITIONS = {
    "Thing": {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "value": {"type": "string"},
            "map": {"$ref": "#/definitions/Thing"},
            "texts": {"type": "object", "additionalProperties": {"type": "string"}},
            "union": {"$ref": "#/definitions/Thing", "x-kubernetes-patch-strategy": "retainKeys"},
            "list": {
                "type": "array",
                "items": {"$ref": "#/definitions/Thing"},
                "x-kubernetes-patch-strategy": "merge",
                "x-kubernetes-patch-merge-key": "name",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
            },
            "set": {
                "type": "array",
                "items": {"type": "integer"},
                "x-kubernetes-patch-strategy": "merge",
                "x-kubernetes-list-type": "set",
            },
            "atomic": {"type": "array", "items": {"type": "integer"}, "x-kubernetes-list-type": "atomic"},
        },
    }
}
SCHEMA = PatchSchema.from_openapi(DEFINITIONS, "Thing")
STRATEGIC = PatchSchema.from_openapi(DEFINITIONS, "Thing")
STRATEGIC.accepts_strategic = True

names = st.sampled_from("abcd")
scalars = st.sampled_from(["", "x", "y", 0, 1, 1.5, True, False])


def things(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    items = st.lists(inner.flatmap(lambda fields: names.map(lambda name: {**fields, "name": name})), max_size=4)
    return st.fixed_dictionaries(
        {},
        optional={
            "value": scalars,
            "texts": st.dictionaries(names, st.sampled_from(["1", "2"]), max_size=3),
            "map": inner,
            "union": inner,
            "list": items.map(lambda found: list({item["name"]: item for item in found}.values())),
            "set": st.lists(st.integers(0, 5), unique=True, max_size=4),
            "atomic": st.lists(st.integers(0, 2), max_size=3),
        },
    )


objects = st.recursive(st.fixed_dictionaries({}, optional={"value": scalars}), things, max_leaves=4)
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=6,
)


def roughly(value: Any, rng: Random) -> Any:
    """The value as somebody else may have left it: mostly the same, with more, less, or other things here and there."""
    if isinstance(value, dict):
        keys = [key for key in value if rng.random() > 0.03]
        result = {key: roughly(value[key], rng) for key in keys}
        return result if rng.random() > 0.2 else {**result, rng.choice("abcd"): 1}
    if isinstance(value, list):
        items = [roughly(item, rng) for item in value]
        if items and rng.random() < 0.2:
            items.insert(rng.randrange(len(items) + 1), _other(rng.choice(items)))
        if rng.random() < 0.1:
            rng.shuffle(items)
        return items
    if rng.random() < 0.03:
        return rng.choice([True, 1, 1.0, "1", "1000m", "1.0", None])
    return value


def _other(item: Any) -> Any:
    """Another item of the same type, for a server lets no others into a list."""
    if isinstance(item, dict):
        return {**item, "name": "another"}
    return item * 2 if isinstance(item, str | int) else item
