from __future__ import annotations

import pytest

from syncd.model import Manifest, ObjectKey, Origin
from syncd.plan.permitted import NotPermittedError, check
from syncd.spec import Target


def manifest(text: str, line: int = 1) -> Manifest:
    return Manifest(ObjectKey.parse(text), "v1", {}, Origin("repo", "a.yaml", 1, line))


def allows(text: str, **target: tuple[str, ...]) -> bool:
    try:
        check([manifest(text)], Target.model_validate(target))
    except NotPermittedError:
        return False
    return True


@pytest.mark.parametrize(
    ("key", "allowed"),
    [
        ("shop::ConfigMap:a", True),
        ("team-a:apps:Deployment:a", True),
        ("kube-system::ConfigMap:a", False),
        ("shopping::ConfigMap:a", False),
        ("::Namespace:shop", True),
        ("::Namespace:kube-system", False),
        (":rbac.authorization.k8s.io:ClusterRole:shop", False),
    ],
)
def test_only_allowed_namespaces_and_nothing_outside_of_them(key: str, *, allowed: bool) -> None:
    assert allows(key) is True
    assert allows(key, allowedNamespaces=("shop", "team-?")) is allowed


@pytest.mark.parametrize(
    ("patterns", "key", "allowed"),
    [
        (("ConfigMap",), "a::ConfigMap:x", True),
        (("ConfigMap",), "a:example.com:ConfigMap:x", True),
        (("core/ConfigMap",), "a:example.com:ConfigMap:x", False),
        (("core/*",), "a::Secret:x", True),
        (("apps/Deployment",), "a:apps:Deployment:x", True),
        (("apps/Deployment",), "a:apps:DaemonSet:x", False),
        (("*.k8s.io/*Role",), ":rbac.authorization.k8s.io:ClusterRole:x", True),
        (("*",), ":apiextensions.k8s.io:CustomResourceDefinition:x", True),
    ],
)
def test_only_allowed_kinds(patterns: tuple[str, ...], key: str, *, allowed: bool) -> None:
    assert allows(key, allowedKinds=patterns) is allowed


def test_a_kind_that_is_allowed_may_be_outside_of_namespaces() -> None:
    both = {"allowedNamespaces": ("shop",), "allowedKinds": ("ClusterRole", "Namespace")}
    assert allows(":rbac.authorization.k8s.io:ClusterRole:x", **both)
    assert not allows("::Namespace:other", **both)
    assert not allows("shop::ConfigMap:x", **both)


def test_the_first_is_named_with_its_place_and_the_others_are_counted() -> None:
    found = [manifest("shop::ConfigMap:a"), manifest("b::ConfigMap:b", 7), manifest("c::ConfigMap:c", 9)]
    with pytest.raises(NotPermittedError) as caught:
        check(found, Target.model_validate({"allowedNamespaces": ["shop"]}))
    assert str(caught.value) == (
        "repo a.yaml, document 1, line 7: ConfigMap b/b is refused: the namespace is not in "
        "spec.target.allowedNamespaces (shop) (and 1 more manifests that are not allowed)"
    )


@pytest.mark.parametrize(
    "target",
    [
        {"namespace": "a", "allowedNamespaces": ["b"]}, {"allowedNamespaces": ["a/b"]}, {"allowedKinds": ["a/b/C"]},
        {"allowedKinds": [""]},
    ],
)  # fmt: skip
def test_a_target_that_contradicts_itself_is_refused(target: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="allowed"):
        Target.model_validate(target)
