from __future__ import annotations

from typing import Any

import pytest

from syncd.model import Action, ActionType, Manifest, ObjectKey, Origin
from syncd.plan.order import DEPENDS_ON, build_graph, parse_depends_on


def action(kind: str, name: str, *, namespace: str = "shop", group: str = "", **body: Any) -> Action:
    key = ObjectKey(namespace, group, kind, name)
    document = {"kind": kind, "metadata": {"name": name}, **body}
    return Action(ActionType.CREATE, key, "New", manifest=Manifest(key, f"{group}/v1", document, Origin()))


def pod_spec(**spec: Any) -> dict[str, Any]:
    return {"template": {"spec": {"containers": [{"name": "web"}], **spec}}}


def depends(kind: str, name: str, on: str) -> Action:
    return action(kind, name, metadata={"name": name, "annotations": {DEPENDS_ON: on}})


NAMESPACE = action("Namespace", "shop", namespace="")
CONFIG = action("ConfigMap", "settings")
SECRET = action("Secret", "token")
ACCOUNT = action("ServiceAccount", "web")
POLICY = action("NetworkPolicy", "deny", group="networking.k8s.io")
BINDING = action(
    "RoleBinding",
    "web",
    group="rbac.authorization.k8s.io",
    roleRef={"kind": "Role", "name": "web"},
    subjects=[{"kind": "ServiceAccount", "name": "web"}],
)
CRD = action(
    "CustomResourceDefinition",
    "carts.shop.example",
    namespace="",
    group="apiextensions.k8s.io",
    spec={"group": "shop.example", "names": {"kind": "Cart"}},
)
CART = action("Cart", "one", group="shop.example")
WEB = action(
    "Deployment",
    "web",
    group="apps",
    spec=pod_spec(
        serviceAccountName="web",
        volumes=[{"name": "v", "configMap": {"name": "settings"}}, {"name": "w", "secret": {"secretName": "token"}}],
    ),
)


def graph_of(*actions: Action) -> Any:
    return build_graph(actions, {item.key for item in actions})


def test_members_need_their_namespace() -> None:
    graph = graph_of(NAMESPACE, CONFIG)
    assert graph.hard[CONFIG.key] == {NAMESPACE.key}
    assert graph.hard[NAMESPACE.key] == frozenset()


def test_custom_resources_need_their_definition() -> None:
    assert graph_of(CRD, CART).hard[CART.key] == {CRD.key}


def test_a_workload_comes_after_what_it_names_and_what_should_be_in_force() -> None:
    graph = graph_of(CONFIG, SECRET, ACCOUNT, BINDING, POLICY, WEB)
    assert graph.soft[WEB.key] == {CONFIG.key, SECRET.key, ACCOUNT.key, BINDING.key, POLICY.key}
    assert graph.hard[WEB.key] == frozenset()


def test_a_projected_volume_names_what_it_projects() -> None:
    sources = [{"configMap": {"name": "settings"}}, {"secret": {"name": "token"}}]
    web = action("Deployment", "web", group="apps", spec=pod_spec(volumes=[{"projected": {"sources": sources}}]))
    assert graph_of(CONFIG, SECRET, web).soft[web.key] == {CONFIG.key, SECRET.key}


def test_what_names_nothing_waits_for_nothing() -> None:
    graph = graph_of(CONFIG, SECRET)
    assert not graph.hard[CONFIG.key]
    assert not graph.soft[CONFIG.key]


def test_webhooks_come_last() -> None:
    hook = action("ValidatingWebhookConfiguration", "check", namespace="", group="admissionregistration.k8s.io")
    assert graph_of(CONFIG, WEB, hook).soft[hook.key] == {CONFIG.key, WEB.key}


def test_an_autoscaler_and_an_ingress_come_after_what_they_point_at() -> None:
    service = action("Service", "web")
    scaler = action(
        "HorizontalPodAutoscaler",
        "web",
        group="autoscaling",
        spec={"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}},
    )
    paths = [{"path": "/", "backend": {"service": {"name": "web"}}}]
    ingress = action("Ingress", "web", group="networking.k8s.io", spec={"rules": [{"http": {"paths": paths}}]})
    graph = graph_of(service, WEB, scaler, ingress)
    assert graph.soft[scaler.key] == {WEB.key}
    assert graph.soft[ingress.key] == {service.key}


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("apps/namespaces/shop/Deployment/web", ObjectKey("shop", "apps", "Deployment", "web")),
        ("/namespaces/shop/ConfigMap/settings", ObjectKey("shop", "", "ConfigMap", "settings")),
        ("/Namespace/shop", ObjectKey("", "", "Namespace", "shop")),
    ],
)
def test_depends_on_is_read_as_cli_utils_writes_it(text: str, key: ObjectKey) -> None:
    assert parse_depends_on(text) == {key}


def test_depends_on_takes_several() -> None:
    assert len(parse_depends_on("/Namespace/shop, /namespaces/shop/ConfigMap/settings")) == 2


@pytest.mark.parametrize("text", ["web", "apps/Deployment", "apps/namespaces//Deployment/web", "a/b/c/d"])
def test_a_depends_on_of_another_shape_is_refused(text: str) -> None:
    broken = depends("ConfigMap", "a", text)
    graph = graph_of(broken)
    assert DEPENDS_ON in graph.broken[broken.key]


def test_depends_on_is_a_hard_edge() -> None:
    late = depends("ConfigMap", "late", "/namespaces/shop/ConfigMap/settings")
    assert graph_of(CONFIG, late).hard[late.key] == {CONFIG.key}


def test_depends_on_something_that_needs_nothing_done_waits_for_nothing() -> None:
    late = depends("ConfigMap", "late", "/namespaces/shop/ConfigMap/settings")
    graph = build_graph([late], {late.key, CONFIG.key})
    assert not graph.hard[late.key]
    assert not graph.broken


def test_depends_on_a_stranger_is_an_error_that_names_it() -> None:
    late = depends("ConfigMap", "late", "/namespaces/shop/ConfigMap/settings")
    assert "ConfigMap shop/settings" in build_graph([late], {late.key}).broken[late.key]


def test_a_circle_is_an_error_that_names_it_and_spares_the_rest() -> None:
    one = depends("ConfigMap", "one", "/namespaces/shop/ConfigMap/two")
    two = depends("ConfigMap", "two", "/namespaces/shop/ConfigMap/one")
    graph = graph_of(one, two, CONFIG)
    assert graph.broken.keys() == {one.key, two.key}
    assert "ConfigMap shop/one -> ConfigMap shop/two -> ConfigMap shop/one" in graph.broken[two.key] or (
        "ConfigMap shop/two -> ConfigMap shop/one -> ConfigMap shop/two" in graph.broken[two.key]
    )


def test_a_wish_that_would_close_a_circle_gives_way_to_the_need() -> None:
    config = depends("ConfigMap", "settings", "apps/namespaces/shop/Deployment/web")
    graph = graph_of(config, WEB)
    assert graph.hard[config.key] == {WEB.key}
    assert not graph.soft[WEB.key]
    assert not graph.broken


def test_pruning_walks_backwards_and_needs_no_success() -> None:
    graph = graph_of(NAMESPACE, CRD, CART, CONFIG, WEB).reversed()
    assert graph.soft[NAMESPACE.key] == {CART.key, CONFIG.key, WEB.key}
    assert graph.soft[CRD.key] == {CART.key}
    assert graph.soft[CONFIG.key] == {WEB.key}
    assert not graph.hard
