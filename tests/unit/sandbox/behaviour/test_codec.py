from __future__ import annotations

import copy
from typing import Any

import pytest

from syncd.sandbox import codec, quantity
from syncd.sandbox.errors import StatusError
from syncd.sandbox.kinds import BUILT_IN, ServedKind, built_in

DEPLOYMENT = built_in("apps", "Deployment")


def deployment(**container: Any) -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "labels": {"app": "web"}},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "web", "image": "web:1"} | container]},
            },
        },
    }


def test_every_served_kind_that_stores_objects_has_a_struct() -> None:
    assert [kind for kind in BUILT_IN if codec.struct_of(kind) is None] == []


def test_unknown_fields_are_dropped_and_named_with_their_place() -> None:
    decoded = codec.decode(DEPLOYMENT, deployment(imagee="typo"))

    assert decoded.unknown == ("spec.template.spec.containers[0].imagee",)
    assert "imagee" not in decoded.object["spec"]["template"]["spec"]["containers"][0]


def test_empty_optional_fields_vanish_and_required_ones_appear() -> None:
    container = codec.decode(DEPLOYMENT, deployment(args=[], stdin=False, env=None)).object["spec"]["template"]["spec"][
        "containers"
    ][0]

    assert container == {"name": "web", "image": "web:1", "resources": {}}


def test_decoding_leaves_the_given_object_alone() -> None:
    given = deployment(args=[])
    before = copy.deepcopy(given)

    codec.decode(DEPLOYMENT, given)

    assert given == before


@pytest.mark.parametrize(
    ("container", "message"),
    [
        (
            {"image": 5},
            (
                "json: cannot unmarshal number into Go struct field "
                "Container.spec.template.spec.containers.image of type string"
            ),
        ),
        (
            {"args": "x"},
            (
                "json: cannot unmarshal string into Go struct field "
                "Container.spec.template.spec.containers.args of type []string"
            ),
        ),
        (
            {"env": [{"name": "A", "value": True}]},
            (
                "json: cannot unmarshal bool into Go struct field "
                "EnvVar.spec.template.spec.containers.env.value of type string"
            ),
        ),
        (
            {"resources": {"limits": {"cpu": "much"}}},
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
    ],
)
def test_a_wrong_type_is_refused_as_go_words_it(container: dict[str, Any], message: str) -> None:
    with pytest.raises(StatusError) as raised:
        codec.decode(DEPLOYMENT, deployment(**container))

    assert raised.value.code == 400
    assert str(raised.value) == f'Deployment in version "v1" cannot be handled as a Deployment: {message}'


def test_objects_of_custom_kinds_are_not_touched() -> None:
    kind = ServedKind("example.com", "v1", "Thing", "things", "thing", custom=True)

    assert codec.decode(kind, {"spec": {"any": None}}).object == {"spec": {"any": None}}


@pytest.mark.parametrize(
    ("written", "stored"),
    [
        ("0.5", "500m"),
        ("1000m", "1"),
        ("1024Mi", "1Gi"),
        ("1536Mi", "1536Mi"),
        ("0.5Gi", "512Mi"),
        ("1000Ki", "1000Ki"),
        ("512", "512"),
        ("1e3", "1e3"),
        ("1000000", "1M"),
        ("0.1Ki", "102400m"),
        ("0", "0"),
        ("100k", "100k"),
        ("-2", "-2"),
        (".5", "500m"),
        ("0.0000000001", "1n"),
    ],
)
def test_quantities_are_stored_in_canonical_form(written: str, stored: str) -> None:
    assert quantity.canonical(written) == stored
    assert quantity.canonical(stored) == stored
