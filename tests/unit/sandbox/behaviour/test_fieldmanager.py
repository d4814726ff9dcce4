from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncd.sandbox import fieldmanager, openapi, typed
from syncd.sandbox.defaulting import apply_defaults
from syncd.sandbox.errors import StatusError
from syncd.sandbox.kinds import ManagedBy, ServedKind, built_in

DEPLOYMENT = built_in("apps", "Deployment")
SERVICE = built_in("", "Service")
LATER = "2026-01-01T00:00:01Z"
NOW = "2026-01-01T00:00:00Z"


def type_of(kind: ServedKind) -> typed.Type:
    return fieldmanager.type_of(kind, openapi.built_in_schema(kind))


def deployment(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}


def containers(*items: dict[str, Any]) -> dict[str, Any]:
    return {"template": {"spec": {"containers": list(items)}}}


def update(live: dict[str, Any] | None, new: dict[str, Any], manager: str, time: str = NOW) -> dict[str, Any]:
    request = ManagedBy(manager, "Update", "apps/v1", time)
    return fieldmanager.update(DEPLOYMENT, live, apply_defaults(DEPLOYMENT, new), request, type_of(DEPLOYMENT))


def apply(
    live: dict[str, Any] | None,
    applied: dict[str, Any],
    manager: str = "kubectl",
    *,
    force: bool = False,
    time: str = NOW,
) -> dict[str, Any]:
    request = ManagedBy(manager, "Apply", "apps/v1", time)
    new = fieldmanager.apply(DEPLOYMENT, live, applied, request, type_of(DEPLOYMENT), force=force)
    return apply_defaults(DEPLOYMENT, new)


def owned(obj: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    return {(e["manager"], e["operation"]): e["fieldsV1"] for e in obj["metadata"].get("managedFields", ())}


def test_a_create_owns_what_it_wrote_and_what_was_defaulted() -> None:
    created = update(None, deployment(replicas=2, **containers({"name": "a", "image": "i:1"})), "me")

    fields = owned(created)["me", "Update"]["f:spec"]
    assert fields["f:strategy"]["f:rollingUpdate"] == {".": {}, "f:maxSurge": {}, "f:maxUnavailable": {}}
    item = fields["f:template"]["f:spec"]["f:containers"]['k:{"name":"a"}']
    assert item.keys() >= {".", "f:name", "f:image", "f:resources"}


def test_an_update_takes_over_what_it_changes_and_nothing_else() -> None:
    created = update(None, deployment(replicas=2, minReadySeconds=5), "first")

    changed = update(created, deployment(replicas=3, minReadySeconds=5), "second")

    assert owned(changed)["second", "Update"] == {"f:spec": {"f:replicas": {}}}
    assert "f:replicas" not in owned(changed)["first", "Update"]["f:spec"]
    assert "f:minReadySeconds" in owned(changed)["first", "Update"]["f:spec"]


def test_an_update_that_changes_nothing_keeps_every_entry() -> None:
    created = update(None, deployment(replicas=2), "first")

    assert update(created, created, "second", LATER) == created


def test_an_apply_owns_exactly_what_it_says() -> None:
    applied = apply(None, deployment(replicas=2, **containers({"name": "a", "image": "i:1"})))

    assert owned(applied)["kubectl", "Apply"] == {
        "f:spec": {
            "f:replicas": {},
            "f:template": {
                "f:spec": {"f:containers": {'k:{"name":"a"}': {".": {}, "f:image": {}, "f:name": {}}}},
            },
        }
    }


def test_a_conflict_names_manager_and_field() -> None:
    live = update(None, deployment(replicas=2), "kubectl-client-side-apply")

    with pytest.raises(fieldmanager.ConflictsError) as raised:
        apply(live, deployment(replicas=3))

    (cause,) = raised.value.causes
    assert cause == (
        ".spec.replicas",
        "FieldManagerConflict",
        'conflict with "kubectl-client-side-apply" using apps/v1',
    )


def test_applying_the_same_value_shares_the_field() -> None:
    live = update(None, deployment(replicas=2), "first")

    shared = apply(live, deployment(replicas=2))

    assert all("f:replicas" in fields["f:spec"] for fields in owned(shared).values())


def test_force_takes_the_field_over() -> None:
    live = update(None, deployment(replicas=2), "first")

    forced = apply(live, deployment(replicas=3), force=True)

    assert forced["spec"]["replicas"] == 3
    assert "f:replicas" not in owned(forced)["first", "Update"]["f:spec"]


def test_what_is_applied_no_longer_goes_unless_somebody_else_has_it() -> None:
    a, b = {"name": "a", "image": "i:1"}, {"name": "b", "image": "i:1"}
    first = apply(None, deployment(minReadySeconds=5, paused=True, **containers(a, b)))
    both = apply(first, deployment(paused=True), "other")

    less = apply(both, deployment(**containers(a)))

    assert [item["name"] for item in less["spec"]["template"]["spec"]["containers"]] == ["a"]
    assert "minReadySeconds" not in less["spec"]
    assert less["spec"]["paused"] is True


def test_a_repeated_apply_changes_nothing_not_even_a_time() -> None:
    config = deployment(replicas=2, **containers({"name": "a", "image": "i:1"}))
    first = apply(None, config)

    assert apply(first, config, time=LATER) == first


def test_items_of_a_map_list_merge_by_all_their_keys() -> None:
    request = ManagedBy("a", "Apply", "v1", NOW)
    ports = [{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}]
    body = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "dns"}}
    of = type_of(SERVICE)
    first = fieldmanager.apply(SERVICE, None, body | {"spec": {"ports": ports}}, request, of, force=False)

    named = body | {"spec": {"ports": [{"port": 53, "name": "tcp"}]}}
    second = fieldmanager.apply(SERVICE, first, named, request._replace(manager="b"), of, force=False)

    assert second["spec"]["ports"] == [{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP", "name": "tcp"}]


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"replicas": "two"}, ".spec.replicas: expected numeric (int or float), got string"),
        (
            containers({"name": "a"}, {"name": "a"}),
            '.spec.template.spec.containers: duplicate entries for key [name="a"]',
        ),
    ],
)
def test_a_configuration_of_the_wrong_type_is_refused(spec: dict[str, Any], problem: str) -> None:
    with pytest.raises(StatusError) as raised:
        fieldmanager.check(DEPLOYMENT, deployment(**spec), type_of(DEPLOYMENT))

    assert str(raised.value) == f"failed to create typed patch object (/web; apps/v1, Kind=Deployment): {problem}"


def test_more_than_ten_updaters_become_ancient() -> None:
    live = update(None, deployment(replicas=1), "manager-0")
    for number in range(1, 13):
        labels = {f"l{n}": "x" for n in range(number + 1)}
        changed = deployment(replicas=1) | {"metadata": {"name": "web", "labels": labels}}
        live = update(live, changed, f"manager-{number}", f"2026-01-01T00:00:{number:02}Z")

    names = {manager for manager, _ in owned(live)}
    assert len(names) == 10
    assert "ancient-changes" in names


SPECS = st.fixed_dictionaries(
    {},
    optional={
        "replicas": st.integers(0, 3),
        "paused": st.just(True),
        "minReadySeconds": st.integers(1, 3),
        "template": st.lists(st.sampled_from("abc"), unique=True, min_size=1, max_size=3).map(
            lambda names: {"spec": {"containers": [{"name": name, "image": f"{name}:1"} for name in names]}}
        ),
    },
)


@given(st.lists(st.tuples(st.sampled_from(["one", "two"]), SPECS), min_size=1, max_size=5))
def test_whatever_was_applied_before_the_last_apply_holds(steps: list[tuple[str, dict[str, Any]]]) -> None:
    live: dict[str, Any] | None = None
    for manager, spec in steps:
        live = apply(live, deployment(**spec), manager, force=True)
    assert live is not None
    manager, spec = steps[-1]

    assert apply(live, deployment(**spec), manager, time=LATER) == live, "a repeated apply is no change"
    assert typed.merge(type_of(DEPLOYMENT), live["spec"], live["spec"]) == live["spec"]
    for field in ("replicas", "paused", "minReadySeconds"):
        if spec.get(field):
            assert live["spec"][field] == spec[field]
