"""Server-side apply: who owns what, conflicts, and what goes when its owner lets go of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.contract.client import path
from tests.contract.customs import defined

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.contract.client import Answer, Client
    from tests.contract.customs import Custom

MAP = {"apiVersion": "v1", "kind": "ConfigMap"}


@pytest.fixture
def settings(namespace: str) -> str:
    """Where a ConfigMap may come to be."""
    return path("configmaps", namespace, "settings")


@pytest.fixture
def web(namespace: str) -> str:
    """Where a Deployment may come to be."""
    return path("deployments", namespace, "web")


def apply(client: Client, where: str, body: dict[str, Any], manager: str = "one", **query: Any) -> Answer:
    """Apply with the name that the path says."""
    metadata = {**(body.get("metadata") or {}), "name": where.removesuffix("/status").rpartition("/")[2]}
    return client.apply(where, {**body, "metadata": metadata}, manager, **query)


def deployment(*containers: dict[str, Any], **spec: Any) -> dict[str, Any]:
    pod = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": list(containers)}}
    body = {"selector": {"matchLabels": {"app": "web"}}, "template": pod, **spec}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "spec": body}


def fields(body: dict[str, Any], manager: str, operation: str = "Apply", subresource: str = "") -> Any:
    """What a manager owns; None when it is none."""
    for entry in body["metadata"]["managedFields"]:
        if (entry["manager"], entry["operation"], entry.get("subresource", "")) == (manager, operation, subresource):
            return entry["fieldsV1"]
    return None


def containers(body: dict[str, Any]) -> Any:
    return body["spec"]["template"]["spec"]["containers"]


def test_apply_creates(client: Client, settings: str) -> None:
    answer = apply(client, settings, {**MAP, "data": {"a": "1"}})
    assert answer.status == 201
    assert answer.body["metadata"]["name"] == "settings"
    (entry,) = answer.body["metadata"]["managedFields"]
    assert entry.pop("time")
    assert entry == {
        "manager": "one",
        "operation": "Apply",
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:data": {"f:a": {}}},
    }


def test_an_apply_that_creates_needs_a_name(client: Client, settings: str) -> None:
    answer = client.apply(settings, MAP)
    assert (answer.status, answer.reason) == (400, "BadRequest")
    assert answer.message == (
        "the name of the object (settings based on URL) was undeterminable: name must be provided"
    )


def test_apply_again_keeps_the_version(client: Client, settings: str) -> None:
    first = apply(client, settings, {**MAP, "data": {"a": "1"}}).body
    again = apply(client, settings, {**MAP, "data": {"a": "1"}})
    assert again.status == 200
    assert again.body == first


def test_what_is_applied_no_more_goes(client: Client, settings: str) -> None:
    apply(client, settings, {**MAP, "metadata": {"labels": {"l": "1"}}, "data": {"a": "1", "b": "2"}})
    body = apply(client, settings, {**MAP, "data": {"a": "1"}}).body
    assert body["data"] == {"a": "1"}
    assert "labels" not in body["metadata"]


def test_what_others_wrote_stays(client: Client, settings: str) -> None:
    apply(client, settings, {**MAP, "data": {"a": "1"}})
    client.patch(settings, {"data": {"b": "2"}}, fieldManager="two")
    body = apply(client, settings, {**MAP, "data": {"c": "3"}}).body
    assert body["data"] == {"b": "2", "c": "3"}
    assert fields(body, "one") == {"f:data": {"f:c": {}}}
    assert fields(body, "two", "Update") == {"f:data": {"f:b": {}}}


def test_what_two_apply_goes_with_the_second(client: Client, settings: str) -> None:
    for manager in ("one", "two"):
        apply(client, settings, {**MAP, "data": {"a": "1", "b": "1"}}, manager)
    assert apply(client, settings, {**MAP, "data": {"b": "1"}}, "one").body["data"] == {"a": "1", "b": "1"}
    assert apply(client, settings, {**MAP, "data": {"b": "1"}}, "two").body["data"] == {"b": "1"}


def test_another_value_conflicts_and_changes_nothing(client: Client, settings: str) -> None:
    before = apply(client, settings, {**MAP, "data": {"a": "1", "b": "1"}}).body
    answer = apply(client, settings, {**MAP, "data": {"a": "2", "b": "2", "c": "2"}}, "two")
    assert (answer.status, answer.reason) == (409, "Conflict")
    assert answer.message == 'Apply failed with 2 conflicts: conflicts with "one":\n- .data.a\n- .data.b'
    assert answer.body["details"]["causes"] == [
        {"reason": "FieldManagerConflict", "message": 'conflict with "one"', "field": ".data.a"},
        {"reason": "FieldManagerConflict", "message": 'conflict with "one"', "field": ".data.b"},
    ]
    assert client.get(settings).body == before


def test_force_takes_the_fields_over(client: Client, settings: str) -> None:
    apply(client, settings, {**MAP, "data": {"a": "1", "b": "1"}})
    body = apply(client, settings, {**MAP, "data": {"a": "2"}}, "two", force="true").body
    assert body["data"] == {"a": "2", "b": "1"}
    assert fields(body, "one") == {"f:data": {"f:b": {}}}
    assert fields(body, "two") == {"f:data": {"f:a": {}}}


def test_an_update_takes_fields_without_asking(client: Client, settings: str) -> None:
    apply(client, settings, {**MAP, "data": {"a": "1", "b": "1"}})
    body = client.patch(settings, {"data": {"a": "2"}}, fieldManager="two").body
    assert fields(body, "one") == {"f:data": {"f:b": {}}}
    assert fields(body, "two", "Update") == {"f:data": {"f:a": {}}}
    answer = apply(client, settings, {**MAP, "data": {"a": "1"}})
    assert answer.status == 409
    assert 'conflict with "two" using v1' in answer.message


def test_a_manager_that_owns_nothing_is_no_manager(client: Client, settings: str) -> None:
    apply(client, settings, {**MAP, "data": {"a": "1"}})
    apply(client, settings, {**MAP, "data": {"a": "1"}}, "two")
    body = apply(client, settings, MAP, "one").body
    assert fields(body, "one") is None
    assert body["data"] == {"a": "1"}


def test_an_update_by_the_same_name_is_another_manager(client: Client, settings: str) -> None:
    apply(client, settings, {**MAP, "data": {"a": "1"}})
    body = client.patch(settings, {"data": {"b": "2"}}, fieldManager="one").body
    assert fields(body, "one") == {"f:data": {"f:a": {}}}
    assert fields(body, "one", "Update") == {"f:data": {"f:b": {}}}


def test_managed_fields_can_be_cleared(client: Client, settings: str) -> None:
    apply(client, settings, {**MAP, "data": {"a": "1"}})
    body = client.patch(settings, {"metadata": {"managedFields": [{}]}}).body
    assert "managedFields" not in body["metadata"]
    body = apply(client, settings, {**MAP, "data": {"b": "2"}}, "two").body
    assert body["data"] == {"a": "1", "b": "2"}
    assert fields(body, "before-first-apply", "Update") == {"f:data": {".": {}, "f:a": {}}}


def test_lists_with_keys_are_merged_item_by_item(client: Client, web: str) -> None:
    apply(client, web, deployment({"name": "web", "image": "web:1"}))
    side = {"apiVersion": "apps/v1", "kind": "Deployment"}
    side["spec"] = {"template": {"spec": {"containers": [{"name": "side", "image": "side:1"}]}}}  # type: ignore[assignment]  # a literal would hide the point
    body = apply(client, web, side, "two").body
    assert [item["name"] for item in containers(body)] == ["web", "side"]
    body = apply(client, web, {"apiVersion": "apps/v1", "kind": "Deployment"}, "two").body
    assert [item["name"] for item in containers(body)] == ["web"]


def test_keys_of_two_fields_keep_ports_on_tcp_and_udp_apart(client: Client, namespace: str) -> None:
    where = path("services", namespace, "dns")
    service = {"apiVersion": "v1", "kind": "Service"}
    tcp = {"name": "tcp", "port": 53, "protocol": "TCP"}
    udp = {"name": "udp", "port": 53, "protocol": "UDP"}
    apply(client, where, {**service, "spec": {"ports": [tcp, udp]}})
    body = apply(client, where, {**service, "spec": {"ports": [udp]}}).body
    assert [item["name"] for item in body["spec"]["ports"]] == ["udp"]
    owned = fields(body, "one")["f:spec"]["f:ports"]
    assert list(owned) == ['k:{"port":53,"protocol":"UDP"}']


def test_a_default_is_part_of_the_key(client: Client, web: str) -> None:
    web_container = {"name": "web", "image": "web:1", "ports": [{"containerPort": 80}]}
    first = apply(client, web, deployment(web_container)).body
    owned = fields(first, "one")["f:spec"]["f:template"]["f:spec"]["f:containers"]['k:{"name":"web"}']["f:ports"]
    assert list(owned) == ['k:{"containerPort":80,"protocol":"TCP"}']
    again = apply(client, web, deployment(web_container)).body
    assert again["spec"] == first["spec"]
    assert again["metadata"]["generation"] == 1


def test_sets_are_merged_value_by_value(client: Client, settings: str) -> None:
    apply(client, settings, {**MAP, "metadata": {"finalizers": ["example.com/a"]}})
    body = apply(client, settings, {**MAP, "metadata": {"finalizers": ["example.com/b"]}}, "two").body
    assert body["metadata"]["finalizers"] == ["example.com/a", "example.com/b"]
    assert fields(body, "two") == {"f:metadata": {"f:finalizers": {'v:"example.com/b"': {}}}}
    assert apply(client, settings, MAP, "one").body["metadata"]["finalizers"] == ["example.com/b"]
    assert "finalizers" not in apply(client, settings, MAP, "two").body["metadata"]


def test_plain_lists_are_owned_whole(client: Client, web: str) -> None:
    apply(client, web, deployment({"name": "web", "image": "web:1", "args": ["a"]}))
    answer = apply(client, web, deployment({"name": "web", "image": "web:1", "args": ["a", "b"]}), "two")
    assert answer.status == 409
    assert answer.message == (
        'Apply failed with 1 conflict: conflict with "one": .spec.template.spec.containers[name="web"].args'
    )


def test_selectors_are_owned_whole(client: Client, web: str) -> None:
    body = apply(client, web, deployment({"name": "web", "image": "web:1"})).body
    assert fields(body, "one")["f:spec"]["f:selector"] == {}


def test_a_scaler_owns_the_replicas(client: Client, web: str) -> None:
    apply(client, web, deployment({"name": "web", "image": "web:1"}, replicas=1))
    client.patch(f"{web}/scale", {"spec": {"replicas": 2}}, fieldManager="scaler")
    body = client.get(web).body
    assert fields(body, "scaler", "Update", "scale") == {"f:spec": {"f:replicas": {}}}
    assert apply(client, web, deployment({"name": "web", "image": "web:1"}, replicas=1)).status == 409
    body = apply(client, web, deployment({"name": "web", "image": "web:1"})).body
    assert body["spec"]["replicas"] == 2


def test_status_has_managers_of_its_own(client: Client, namespace: str) -> None:
    where = path("persistentvolumes", "", f"volume-{namespace}")
    spec = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}}
    volume = {"apiVersion": "v1", "kind": "PersistentVolume"}
    apply(client, where, {**volume, "spec": spec})
    body = apply(client, f"{where}/status", {**volume, "status": {"message": "hello"}}, "two").body
    assert body["status"]["message"] == "hello"
    assert fields(body, "two", "Apply", "status") == {"f:status": {"f:message": {}}}
    client.delete(where)


def test_an_apply_with_another_version_of_the_object_conflicts(client: Client, settings: str) -> None:
    apply(client, settings, {**MAP, "data": {"a": "1"}})
    answer = apply(client, settings, {**MAP, "metadata": {"resourceVersion": "1"}, "data": {"a": "2"}})
    assert (answer.status, answer.reason) == (409, "Conflict")
    assert answer.message.endswith("please apply your changes to the latest version and try again")


def test_an_apply_for_another_identity_is_refused(client: Client, settings: str) -> None:
    apply(client, settings, {**MAP, "data": {"a": "1"}})
    answer = apply(client, settings, {**MAP, "metadata": {"uid": "7d1c3c1c-0000-4000-8000-000000000000"}})
    assert (answer.status, answer.reason) == (422, "Invalid")
    assert answer.body["details"]["causes"][0]["field"] == "metadata.uid"


def test_null_is_nothing_to_apply(client: Client, settings: str) -> None:
    body = apply(client, settings, {**MAP, "metadata": {"labels": None}, "data": {"a": "1"}}).body
    assert body["data"] == {"a": "1"}
    assert "labels" not in body["metadata"]


def test_an_update_is_written_down_as_what_it_changed(client: Client, namespace: str) -> None:
    where = path("configmaps", namespace)
    made = client.made(where, {"metadata": {"name": "settings", "labels": {"l": "1"}}, "data": {"a": "1"}})
    assert fields(made, "contract", "Update") == {
        "f:data": {".": {}, "f:a": {}},
        "f:metadata": {"f:labels": {".": {}, "f:l": {}}},
    }
    body = client.patch(f"{where}/settings", {"data": {"a": "2", "b": "3"}}, fieldManager="other").body
    assert fields(body, "contract", "Update")["f:data"] == {}
    assert fields(body, "other", "Update") == {"f:data": {"f:a": {}, "f:b": {}}}


class TestCustomResources:
    @pytest.fixture
    def own(self, client: Client) -> Iterator[Custom]:
        with defined(client) as found:
            yield found

    def test_lists_follow_the_schema(self, client: Client, own: Custom, namespace: str) -> None:
        where = own.path(namespace, "one")
        first = own.manifest(ports=[{"port": 1}], tags=["a"], plain=[1], atom={"a": "1"})
        body = apply(client, where, first).body
        assert body["spec"]["ports"] == [{"port": 1, "protocol": "TCP"}]
        assert fields(body, "one")["f:spec"] == {
            "f:size": {},
            "f:plain": {},
            "f:atom": {},
            "f:tags": {'v:"a"': {}},
            "f:ports": {'k:{"port":1,"protocol":"TCP"}': {".": {}, "f:port": {}}},
        }
        second = {"apiVersion": own.api_version, "kind": "Widget"}
        more = {**second, "spec": {"ports": [{"port": 1, "protocol": "UDP"}], "tags": ["b"]}}
        body = apply(client, where, more, "two").body
        assert [item["protocol"] for item in body["spec"]["ports"]] == ["TCP", "UDP"]
        assert body["spec"]["tags"] == ["a", "b"]
        answer = apply(client, where, {**second, "spec": {"plain": [1, 2], "atom": {"b": "2"}}}, "two")
        assert answer.status == 409
        assert [cause["field"] for cause in answer.body["details"]["causes"]] == [".spec.atom", ".spec.plain"]
        body = apply(client, where, second, "two").body
        assert (body["spec"]["tags"], len(body["spec"]["ports"])) == (["a"], 1)

    def test_a_required_field_may_not_go(self, client: Client, own: Custom, namespace: str) -> None:
        where = own.path(namespace, "one")
        apply(client, where, own.manifest())
        answer = apply(client, where, {"apiVersion": own.api_version, "kind": "Widget", "spec": {}})
        assert (answer.status, answer.reason) == (422, "Invalid")
