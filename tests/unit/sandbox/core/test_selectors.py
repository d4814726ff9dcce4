from __future__ import annotations

from typing import Any

import pytest

from syncd.sandbox.errors import StatusError
from syncd.sandbox.kinds import ServedKind, built_in
from syncd.sandbox.selectors import field_selector, label_selector

CONFIG_MAP = built_in("", "ConfigMap")


def labelled(**labels: str) -> dict[str, Any]:
    return {"metadata": {"name": "a", "labels": {name.replace("_", "/"): value for name, value in labels.items()}}}


def chosen(selector: str, **labels: str) -> bool:
    test = label_selector(selector)
    return test is None or test(labelled(**labels))


@pytest.mark.parametrize(
    ("selector", "yes", "no"),
    [
        ("app=web", {"app": "web"}, {"app": "db"}),
        ("app==web", {"app": "web"}, {}),
        ("app!=web", {}, {"app": "web"}),
        ("app", {"app": ""}, {}),
        ("!app", {}, {"app": "web"}),
        ("app in (web, db)", {"app": "db"}, {"app": "x"}),
        ("app notin (web,db)", {}, {"app": "db"}),
        ("app in (web),tier=front", {"app": "web", "tier": "front"}, {"app": "web"}),
        ("size>3", {"size": "4"}, {"size": "3"}),
        ("size<3", {"size": "2"}, {"size": "large"}),
        ("example.com_part=x".replace("_", "/"), {"example.com_part": "x"}, {}),
        ("app=", {"app": ""}, {"app": "x"}),
    ],
)
def test_label_selectors(selector: str, yes: dict[str, str], no: dict[str, str]) -> None:
    assert chosen(selector, **yes)
    assert not chosen(selector, **no)


def test_an_empty_selector_chooses_everything() -> None:
    assert label_selector(" ") is None


@pytest.mark.parametrize("selector", ["a===b", "a in b", "a in (b", "=x", "a b"])
def test_a_label_selector_that_cannot_be_read_is_a_bad_request(selector: str) -> None:
    with pytest.raises(StatusError, match="unable to parse requirement") as error:
        label_selector(selector)
    assert error.value.code == 400


def test_a_bound_must_be_a_number() -> None:
    with pytest.raises(StatusError, match="must be an integer"):
        label_selector("a>x")


def pod(**status: str) -> dict[str, Any]:
    return {"metadata": {"name": "a", "namespace": "b"}, "spec": {"nodeName": "n1"}, "status": status}


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("metadata.name=a", True),
        ("metadata.name!=a", False),
        ("metadata.name=a,metadata.namespace=b", True),
        ("status.phase==Running", True),
        ("status.phase!=Running,spec.nodeName=n1", False),
        ("spec.hostNetwork=false", True),
        ("status.podIP=", True),
    ],
)
def test_field_selectors(selector: str, expected: bool) -> None:  # noqa: FBT001  # a column of the table
    test = field_selector(built_in("", "Pod"), selector)
    assert test is not None
    assert test(pod(phase="Running")) is expected


def test_a_field_that_a_kind_cannot_be_selected_by_is_named() -> None:
    with pytest.raises(StatusError, match=r'"data\.x" is not a known field selector'):
        field_selector(CONFIG_MAP, "data.x=1")
    with pytest.raises(StatusError, match=r"field label not supported: spec\.foo"):
        field_selector(built_in("", "Pod"), "spec.foo=1")


def test_a_custom_kind_can_be_selected_by_the_fields_that_it_declares() -> None:
    kind = ServedKind("example.com", "v1", "Widget", "widgets", "widget", custom=True)
    test = field_selector(kind, "spec.color=blue", ("spec.color",))
    assert test is not None
    assert test({"metadata": {"name": "a"}, "spec": {"color": "blue"}})


def test_values_may_be_escaped() -> None:
    test = field_selector(CONFIG_MAP, r"metadata.name=a\,b\=c")
    assert test is not None
    assert test({"metadata": {"name": "a,b=c"}})
