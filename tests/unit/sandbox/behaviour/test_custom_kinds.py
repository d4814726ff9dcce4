from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from syncd.sandbox.crd import CustomKinds

if TYPE_CHECKING:
    from pathlib import Path

    from syncd.sandbox.kinds import ServedKind

SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["spec"],
    "properties": {
        "spec": {
            "type": "object",
            "required": ["size"],
            "properties": {
                "size": {"type": "integer", "minimum": 1, "maximum": 5, "format": "int32"},
                "mode": {"type": "string", "enum": ["fast", "slow"], "default": "fast"},
                "name": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 5},
                "port": {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
                "since": {"type": "string", "format": "date-time"},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                "hint": {"type": "string", "nullable": True, "default": "none"},
                "parts": {
                    "type": "array",
                    "maxItems": 2,
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                    "items": {
                        "type": "object",
                        "properties": {"name": {"type": "string"}, "weight": {"type": "integer", "default": 7}},
                    },
                },
            },
        },
        "status": {"type": "object", "properties": {"ready": {"type": "boolean"}}},
    },
}


def definition(*, established: bool = True, **version: Any) -> dict[str, Any]:
    v1 = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": SCHEMA}} | version
    v1beta1 = {"name": "v1beta1", "served": True, "storage": False, "schema": {"openAPIV3Schema": SCHEMA}}
    return {
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"kind": "Widget", "plural": "widgets", "singular": "widget", "shortNames": ["wd"]},
            "versions": [v1, v1beta1],
        },
        "status": {"conditions": [{"type": "Established", "status": str(established)}]},
    }


@pytest.fixture
def kinds() -> CustomKinds:
    return CustomKinds()


@pytest.fixture
def widget(kinds: CustomKinds) -> ServedKind:
    return kinds.register(definition())[0]


def obj(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": {"size": 1} | spec}


def test_a_definition_serves_every_served_version_once_established(kinds: CustomKinds) -> None:
    assert kinds.register(definition(established=False)) == ()

    v1, v1beta1 = kinds.register(definition(subresources={"status": {}}))

    assert (v1.api_version, v1.plural, v1.short_names, v1.subresources) == (
        "example.com/v1",
        "widgets",
        ("wd",),
        ("status",),
    )
    assert v1beta1.stored_api_version == "example.com/v1"
    assert v1beta1.stored_in == v1.stored_in


def test_a_version_that_is_no_longer_served_vanishes(kinds: CustomKinds) -> None:
    kinds.register(definition())

    (left,) = kinds.register(definition(served=False))

    assert left.version == "v1beta1"
    assert left.stored_api_version == "example.com/v1"


def test_unknown_fields_are_pruned_except_where_they_are_preserved(kinds: CustomKinds, widget: ServedKind) -> None:
    given = obj(typo=1, free={"any": {"thing": 1}}, parts=[{"name": "a", "extra": 1}], labels={"a": "b"})
    given["more"] = 1
    before = copy.deepcopy(given)

    pruned, unknown = kinds.prune(widget, given)

    assert unknown == ["more", "spec.parts[0].extra", "spec.typo"]
    assert pruned["spec"] == {"size": 1, "free": {"any": {"thing": 1}}, "parts": [{"name": "a"}], "labels": {"a": "b"}}
    assert given == before


def test_defaults_fill_absent_fields_and_nulls_that_may_not_be(kinds: CustomKinds, widget: ServedKind) -> None:
    given = obj(mode=None, hint=None, parts=[{"name": "a"}])

    assert kinds.default(widget, given)["spec"] == {
        "size": 1,
        "mode": "fast",
        "hint": None,
        "parts": [{"name": "a", "weight": 7}],
    }


@pytest.mark.parametrize(
    ("spec", "field", "message"),
    [
        (
            {"size": "big"},
            "spec.size",
            'Invalid value: "string": spec.size in body must be of type integer: "string"',
        ),
        ({"size": 9}, "spec.size", "Invalid value: 9: spec.size in body should be less than or equal to 5"),
        ({"size": None}, "spec.size", 'Invalid value: "null": spec.size in body must be of type integer: "null"'),
        ({"mode": "x"}, "spec.mode", 'Unsupported value: "x": supported values: "fast", "slow"'),
        ({"name": "A"}, "spec.name", "Invalid value: \"A\": spec.name in body should match '^[a-z]+$'"),
        ({"name": "abcdef"}, "spec.name", "Too long: may not be more than 5 bytes"),
        (
            {"port": True},
            "spec.port",
            'Invalid value: "boolean": spec.port in body must be of type integer,string: "boolean"',
        ),
        (
            {"since": "today"},
            "spec.since",
            'Invalid value: "today": spec.since in body must be of type date-time: "today"',
        ),
        ({"parts": [{"name": "a"}, {"name": "a"}]}, "spec.parts[1]", 'Duplicate value: {"name":"a"}'),
        ({"parts": [{"name": n} for n in "abc"]}, "spec.parts", "Too many: 3: must have at most 2 items"),
    ],
)
def test_a_violation_is_worded_as_by_the_real_server(
    kinds: CustomKinds, widget: ServedKind, spec: dict[str, Any], field: str, message: str
) -> None:
    (cause,) = kinds.validate(widget, obj(**spec), None)

    assert (cause.field, cause.message) == (field, message)


def test_missing_fields_are_required(kinds: CustomKinds, widget: ServedKind) -> None:
    causes = kinds.validate(widget, {"metadata": {"name": "a"}, "spec": {}}, None)

    assert [(cause.field, cause.reason, cause.message) for cause in causes] == [
        ("spec.size", "FieldValueRequired", "Required value")
    ]


def test_what_an_update_leaves_alone_is_not_judged_again(kinds: CustomKinds, widget: ServedKind) -> None:
    old = obj(mode="gone", parts=[{"name": "a", "weight": "heavy"}])
    new = obj(mode="gone", size=2, parts=[{"name": "b"}, {"name": "a", "weight": "heavy"}])

    assert kinds.validate(widget, new, old) == []
    assert [cause.field for cause in kinds.validate(widget, obj(mode="other"), old)] == ["spec.mode"]


@pytest.mark.corpus
def test_real_resources_fit_their_real_definitions(shared: Path) -> None:
    folder = shared / "corpus/kube-prometheus/manifests"
    kinds = CustomKinds()
    served: dict[tuple[str, str], ServedKind] = {}
    for path in sorted(folder.glob("setup/*CustomResourceDefinition.yaml")):
        crd = yaml.load(path.read_text().replace("- =\n", '- "="\n'), yaml.CSafeLoader)
        crd["status"] = {"conditions": [{"type": "Established", "status": "True"}]}
        served |= {(kind.api_version, kind.kind): kind for kind in kinds.register(crd)}
    assert len(served) == 10
    seen = 0
    for path in sorted(folder.glob("*.yaml")):
        manifest = yaml.load(path.read_text(), yaml.CSafeLoader)
        kind = served.get((manifest["apiVersion"], manifest["kind"]))
        if kind is None:
            continue
        seen += 1
        pruned, unknown = kinds.prune(kind, manifest)
        assert unknown == []
        assert kinds.validate(kind, kinds.default(kind, pruned), None) == []
    assert seen > 20
