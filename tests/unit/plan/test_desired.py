from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncd.inventory import names
from syncd.inventory.keylist import decode, list_hash, text_hash
from syncd.model import GroupKind, InvalidInputError, Manifest, ObjectKey, Origin
from syncd.plan.desired import digest, live_digest, resolve
from syncd.spec import Target

SERVED = {("v1", "ConfigMap"): True, ("v1", "Namespace"): False, ("apps/v1", "Deployment"): True}


def namespaced(api_version: str, kind: GroupKind) -> bool | None:
    return SERVED.get((api_version, kind.kind))


def manifest(
    kind: str, name: str, *, api_version: str = "v1", namespace: str = "", line: int = 1, **rest: Any
) -> Manifest:
    metadata = {"name": name, **rest.pop("metadata", {})}
    if namespace:
        metadata["namespace"] = namespace
    group = api_version.rpartition("/")[0]
    body = {"apiVersion": api_version, "kind": kind, "metadata": metadata, **rest}
    return Manifest(ObjectKey(namespace, group, kind, name), api_version, body, Origin("repo", "a.yaml", 1, line))


def resolved(*manifests: Manifest, target: str = "shop") -> Any:
    return resolve(manifests, namespaced=namespaced, target=Target(namespace=target))


def test_a_namespaced_object_without_a_namespace_goes_to_the_target() -> None:
    (item,) = resolved(manifest("ConfigMap", "a")).objects
    assert item.key == ObjectKey("shop", "", "ConfigMap", "a")
    assert item.manifest.body["metadata"]["namespace"] == "shop"


def test_without_a_target_it_goes_to_default() -> None:
    (item,) = resolved(manifest("ConfigMap", "a"), target="").objects
    assert item.key.namespace == "default"


def test_a_namespace_that_is_written_stays() -> None:
    (item,) = resolved(manifest("ConfigMap", "a", namespace="other")).objects
    assert item.key.namespace == "other"


def test_a_cluster_scoped_object_loses_a_namespace_that_means_nothing() -> None:
    (item,) = resolved(manifest("Namespace", "shop", namespace="shop")).objects
    assert item.key == ObjectKey("", "", "Namespace", "shop")
    assert "namespace" not in item.manifest.body["metadata"]


def test_a_namespace_that_was_filled_in_has_to_be_allowed_too_and_so_has_an_unknown_kind() -> None:
    target = Target(allowed_namespaces=("shop",))
    for other in (manifest("ConfigMap", "a"), manifest("Tree", "a", api_version="x.io/v1", namespace="else")):
        with pytest.raises(InvalidInputError, match=r"a is refused: the namespace is not in spec\.target"):
            resolve([other], namespaced=namespaced, target=target)


def test_an_unknown_kind_is_skipped_with_its_place_and_stops_nobody_else() -> None:
    found = resolved(manifest("Cart", "one", api_version="shop.example/v1", line=4), manifest("ConfigMap", "a"))
    assert [item.key.name for item in found.objects] == ["a"]
    (skip,) = found.unknown
    assert skip.blocking
    assert "line 4" in skip.message
    assert "Cart" in skip.message


def test_a_version_that_is_not_served_is_an_unknown_kind() -> None:
    assert resolved(manifest("Deployment", "web", api_version="apps/v1beta1")).unknown


@pytest.mark.parametrize(("scope", "namespace"), [("Namespaced", "shop"), ("Cluster", "")])
def test_a_definition_in_the_same_revision_tells_the_scope_of_its_kind(scope: str, namespace: str) -> None:
    SERVED["apiextensions.k8s.io/v1", "CustomResourceDefinition"] = False
    crd = manifest(
        "CustomResourceDefinition",
        "carts.shop.example",
        api_version="apiextensions.k8s.io/v1",
        spec={"group": "shop.example", "names": {"kind": "Cart"}, "scope": scope, "versions": [{"name": "v1"}]},
    )
    found = resolved(manifest("Cart", "one", api_version="shop.example/v1"), crd)
    assert not found.unknown
    assert found.objects[0].key.namespace == namespace


def test_what_only_the_server_writes_is_left_out() -> None:
    leftover = manifest(
        "ConfigMap", "a", metadata={"uid": "u", "resourceVersion": "1", "creationTimestamp": None}, status={"x": 1}
    )
    (item,) = resolved(leftover).objects
    assert item.manifest.body == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "a", "namespace": "shop"},
    }


def apply_config(name: str = "list", *, line: int = 1, text: str | None = None, stated: str = "") -> Manifest:
    labels = {names.APPLY_CFG_LABEL: "true", "app": "shop"} | ({names.APPLY_HASH_LABEL: stated} if stated else {})
    annotations = {} if text is None else {names.OBJECTS_ANNOTATION: text}
    return manifest("ConfigMap", name, line=line, metadata={"labels": labels, "annotations": annotations})


TEXT = "shop::ConfigMap:b\nshop::ConfigMap:a\n"
"""A list whose lines some tool did not sort."""
A = ObjectKey("shop", "", "ConfigMap", "a")


def test_an_apply_config_object_is_found_and_only_its_contents_are_applied() -> None:
    found = resolved(manifest("ConfigMap", "a"), apply_config(text=TEXT))
    assert found.home == ObjectKey("shop", "", "ConfigMap", "list")
    assert not found.homeless
    assert found.declared == {A, A._replace(name="b")}
    (item,) = [item for item in found.objects if item.key == found.home]
    metadata = item.manifest.body["metadata"]
    assert metadata["labels"] == {names.APPLY_CFG_LABEL: "true", "app": "shop"}
    assert metadata["annotations"] == {}


def test_two_apply_config_objects_are_an_error_that_names_both() -> None:
    with pytest.raises(InvalidInputError, match=r"line 2: .*two is an apply-config object, and so is .*one .*line 1"):
        resolved(apply_config("one", line=1), apply_config("two", line=2))


@pytest.mark.parametrize("stated", [text_hash(TEXT), list_hash(decode(TEXT))], ids=["of the text", "of the list"])
def test_the_hash_of_an_apply_config_object_may_be_of_its_text_or_of_its_list(stated: str) -> None:
    assert resolved(apply_config(text=TEXT, stated=stated)).home


@pytest.mark.parametrize(("text", "stated"), [(TEXT, "1234"), (None, text_hash(TEXT)), ("no key\n", "")])
def test_an_apply_config_object_that_does_not_hold_is_an_error(text: str | None, stated: str) -> None:
    with pytest.raises(InvalidInputError, match="list"):
        resolved(apply_config(text=text, stated=stated))


def test_an_apply_config_object_has_room_for_its_list() -> None:
    with pytest.raises(InvalidInputError, match="64 KiB"):
        resolved(replace(apply_config(), body={**apply_config().body, "data": {"a": "x" * (64 << 10)}}))


def test_one_of_an_unknown_kind_does_not_mean_that_there_is_none() -> None:
    labels = {names.APPLY_CFG_LABEL: "true"}
    found = resolved(manifest("Cart", "one", api_version="shop.example/v1", metadata={"labels": labels}))
    assert found.home is None
    assert not found.homeless
    assert found.unknown


def test_the_place_of_the_inventory_is_no_place_for_anything_else() -> None:
    with pytest.raises(InvalidInputError, match="syncd keeps the inventory"):
        resolve([manifest("ConfigMap", "a")], namespaced=namespaced, target=Target(namespace="shop"), reserved=A)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=3), JSON, max_size=4))
def test_a_digest_does_not_depend_on_the_order_of_keys(document: dict[str, Any]) -> None:
    assert digest(document) == digest(dict(reversed(document.items())))


def test_a_live_digest_sees_the_spec_and_not_the_status() -> None:
    live: dict[str, Any] = {"metadata": {"name": "a", "resourceVersion": "1"}, "spec": {"n": 1}, "status": {"ready": 0}}
    ready = {**live, "metadata": {"name": "a", "resourceVersion": "2"}, "status": {"ready": 1}}
    edited = {**live, "spec": {"n": 2}}
    labelled = {**live, "metadata": {"name": "a", "labels": {"x": "y"}}}
    assert live_digest(live) == live_digest(ready)
    assert live_digest(live) != live_digest(edited)
    assert live_digest(live) != live_digest(labelled)
