from __future__ import annotations

import pytest

from syncd.model import ABSENT, FieldChange, JSONValue, Manifest, ObjectKey, Origin
from syncd.plan.mask import AFTER, BEFORE, mask_changes, mask_text

KEY = ObjectKey("shop", "", "ConfigMap", "settings")
HIDDEN = frozenset({"hunter2", "postgres://me:hunter2@db", "42"})
MANIFEST = Manifest(KEY, "v1", {}, Origin(), HIDDEN)


@pytest.mark.parametrize(
    ("change", "shown"),
    [
        (FieldChange("data.a", "1", "2"), FieldChange("data.a", "1", "2")),
        (FieldChange("data.a", "edited", "hunter2"), FieldChange("data.a", BEFORE, AFTER)),
        (FieldChange("data.a", "the old password", "postgres://me:hunter2@db"), FieldChange("data.a", BEFORE, AFTER)),
        (FieldChange("data.a", "x hunter2 x", "no more"), FieldChange("data.a", BEFORE, AFTER)),
        (FieldChange("data.a", "x hunter2 x", ABSENT), FieldChange("data.a", BEFORE, ABSENT)),
        (FieldChange("spec.port", 1, 42), FieldChange("spec.port", BEFORE, AFTER)),
        (FieldChange("spec.port", 1, 420), FieldChange("spec.port", 1, 420)),
        (FieldChange("spec.args", ["old"], ["-p", "hunter2"]), FieldChange("spec.args", BEFORE, AFTER)),
        (
            FieldChange("spec.env", ABSENT, [{"name": "A", "value": "hunter2"}, {"name": "B", "value": None}]),
            FieldChange("spec.env", ABSENT, [{"name": "A", "value": AFTER}, {"name": "B", "value": None}]),
        ),
        (FieldChange("spec", ABSENT, {"x-hunter2": True}), FieldChange("spec", ABSENT, {"x-***": True})),
        (FieldChange("args[-p=hunter2]", ABSENT, 1), FieldChange("args[-p=***]", ABSENT, 1)),
    ],
)
def test_what_came_out_of_a_secret_is_hidden_on_both_sides_of_a_change(change: FieldChange, shown: FieldChange) -> None:
    assert mask_changes(MANIFEST, [change]) == (shown,)


@pytest.mark.parametrize(
    ("path", "before", "after", "shown"),
    [
        ("data.password", "b2xk", "bmV3", (BEFORE, AFTER)),
        ("data", ABSENT, {"password": "bmV3"}, (ABSENT, {"password": AFTER})),
        ("type", "Opaque", "x", ("Opaque", "x")),
    ],
)
def test_the_values_of_a_secret_are_hidden(
    path: str, before: JSONValue, after: JSONValue, shown: tuple[JSONValue, JSONValue]
) -> None:
    secret = Manifest(KEY._replace(kind="Secret"), "v1", {}, Origin())
    assert mask_changes(secret, [FieldChange(path, before, after)]) == (FieldChange(path, *shown),)


def test_messages_keep_everything_but_secrets() -> None:
    text = 'data.a: Invalid value: "postgres://me:hunter2@db", data.b: "hunter2", data.c: 42'
    assert mask_text(text, HIDDEN) == 'data.a: Invalid value: "***", data.b: "***", data.c: 42'
    assert mask_text('a: Invalid value: "x\\"y\\nz"', ['x"y\nz']) == 'a: Invalid value: "***"'
    assert mask_text("a: hunte… is bad, and so is hunter…", HIDDEN) == "a: ***… is bad, and so is ***…"
    assert mask_text("the hunt… is on, hunters…", HIDDEN) == "the ***… is on, hunters…"
